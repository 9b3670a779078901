"""Plain text in and out: files read with errors that name the place, and text that is safe to print."""

import json
from pathlib import Path

from wcwidth import wcswidth


class Written(float):
    """A number of JSON that still knows how it was written: section 4.10 is not 4.1."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = str(text)
        return number

    def __str__(self):
        return self.text


class InputError(ValueError):
    """A file that cannot be read as what it should be. The message names the file, the place and the way out."""


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file, with or without byte-order mark. Raises InputError for another encoding."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start:,}: save it as UTF-8 and run again") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def read_json(path: str | Path):
    """What a JSON file holds. Raises InputError with the line and column at fault."""
    return parsed_json(read_text(path), path)


def parsed_json(text: str, path: str | Path):
    """What the JSON text of a file holds. Raises InputError with the line and column at fault."""
    try:
        return json.loads(text, parse_float=Written)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (RecursionError, ValueError) as error:  # brackets nested by the thousand, a number of 5,000 digits
        raise InputError(f"{path}: not JSON that can be read: {error}") from None


def printable(text: str, width: int | None = None) -> str:
    """The text on one line, with nothing that a terminal acts on, cut to a width in columns (Chinese takes two)."""
    start = text if width is None else text[: 2 * width + 1]  # more does not fit, unless it piles marks on a letter
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in start)
    if width is None or (len(start) == len(text) and wcswidth(shown) <= width):
        return shown
    while wcswidth(shown) >= width:
        shown = shown[:-1]
    return shown + "…"


def padded(text: str, width: int) -> str:
    """The text filled up to a width in terminal columns."""
    return text + " " * max(width - wcswidth(text), 0)
