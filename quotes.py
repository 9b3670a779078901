"""Interim: exact matching."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Located:
    status: str
    match: str | None
    section: str | None
    text: str | None
    start: int | None
    end: int | None
    flags: tuple = ()


def normalize(text: str) -> str:
    return " ".join(text.translate(str.maketrans("“”‘’", "\"\"''")).split())


class Index:
    def __init__(self, texts: Mapping[str, str], chapters=None):
        self.texts = dict(texts)
        self.folded = {label: normalize(text) for label, text in texts.items()}


def locate(index: Index, quote: str | None, cited: Sequence[str] | None, near=None) -> Located:
    if quote is None:
        for label in cited:
            if label in index.texts:
                return Located("section-only", None, label, index.texts[label], None, None)
        return Located("missing", None, None, None, None, None, ("no-such-section",))
    wanted = normalize(quote)
    for label in index.folded:
        if wanted in index.folded[label]:
            return Located("found", "verbatim", label, index.texts[label], None, None)
    return Located("missing", None, None, None, None, None)
