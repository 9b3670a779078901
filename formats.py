"""Citations in the shapes that products write them, and results as files that other programs open."""

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from documents import decoded
from helpers import check_ids
from plain import InputError, Written, parsed_json, printable

if TYPE_CHECKING:
    import pandas

# --- Citations as products write them -------------------------------------------------------------------------------


def read_citations(path: str | Path) -> list:
    """The citations of a file: JSON, JSON Lines, CSV with a header, or a stored answer of a vendor's API.

    Known are answers of Anthropic's Messages API, OpenAI's Responses and Chat Completions, and Cohere's Chat (v1 and
    v2). What cannot be mapped, or read, stays in the list with the reason in ``unmapped``. Raises InputError for a file
    that holds no citations at all, and where two have the same id.
    """
    try:
        text = decoded(Path(path).read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if text.lstrip().startswith(("{", "[")):
        citations = []
        for item in json_items(text, path):
            adapter = vendor_adapter(item)
            citations += adapter(item) if adapter else [item]
    else:
        citations = csv_citations(text, str(path))
    if not citations:
        raise InputError(f"{path}: holds no citations: there is nothing to check")
    check_ids(citations, path)
    return citations


def json_items(text: str, path: str | Path) -> list:
    """The items of a JSON list, of JSON Lines, or the one answer of a vendor that the text is."""
    try:
        value = parsed_json(text, path)
    except InputError:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        try:
            json.loads(lines[0][1])
        except (ValueError, RecursionError):
            lines = []
        if len(lines) < 2:
            raise
        return [json_line(number, line) for number, line in lines]
    if isinstance(value, list):
        return value
    if vendor_adapter(value) or Path(path).suffix in (".jsonl", ".ndjson"):
        return [value]
    raise InputError(f"{path}: a {type(value).__name__} where a list of citations should be: [{{...}}, ...]")


def json_line(number: int, line: str):
    """What a line of JSON Lines holds; a line that is no JSON is a citation that says so."""
    try:
        return json.loads(line, parse_float=Written)
    except (ValueError, RecursionError) as error:
        return {"unmapped": f"line {number} is not JSON: {error}"}


def csv_citations(text: str, name: str) -> list[dict]:
    """The citations of a CSV with a header row, parted by commas, semicolons or tabs. Raises InputError.

    A quote, section or source that is empty, or null as JSON has it, is none.
    """
    delimiter = max(",;\t", key=text.split("\n", 1)[0].count)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        header = [(field or "").strip().lower() for field in reader.fieldnames or ()]
        if "claim" not in header:
            raise InputError(f"{name}: neither JSON nor a CSV with a header that names claim, quote and section")
        reader.fieldnames = header
        rows = []
        for row in reader:
            more = row.pop(None, None)  # a comma that is not in quotation marks: what stands before it is not all
            rows.append(row | {"unmapped": f"row {reader.line_num} has more cells than the header"} if more else row)
    except csv.Error as error:
        raise InputError(f"{name}: not CSV that can be read: {error}") from None
    optional = ("id", "quote", "section", "source")
    given = [
        {name: cell for name, cell in row.items() if name not in optional or cell not in ("", "null")} for row in rows
    ]
    return [{"quote": None, "section": None, **row} for row in given]


def vendor_adapter(item):
    """The function that maps a vendor's answer to citations, or None for a citation of our own."""
    if not isinstance(item, dict) or "claim" in item:
        return None
    if isinstance(item.get("content"), list):
        return anthropic_citations
    if isinstance(item.get("output"), list) or isinstance(item.get("choices"), list):
        return openai_citations
    if isinstance(item.get("message"), dict) or isinstance(item.get("citations"), list):
        return cohere_citations
    return None


def mapped(claim, quote=None, section=None, source=None, unmapped: str | None = None) -> dict:
    """One citation in our own words; ``unmapped`` says what of the vendor's could not be mapped."""
    citation = {"claim": claim, "quote": quote, "section": section}
    return citation | ({} if source is None else {"source": source}) | ({"unmapped": unmapped} if unmapped else {})


def entries(value) -> list[dict]:
    """The objects of a list that came from outside; nothing where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def anthropic_citations(answer: Mapping) -> list[dict]:
    """The citations of an answer of Anthropic's Messages API: the claim is the text block's, the quote cited_text.

    A page_location names pages from 1, its end not included; char_location and content_block_location name no
    section that we have, so that the quote is looked for everywhere.
    """
    citations = []
    for block in entries(answer.get("content")):
        for found in entries(block.get("citations")):
            kind, quote = found.get("type"), found.get("cited_text")
            source = next((found[key] for key in ("document_title", "source", "url") if found.get(key)), None)
            source = found.get("document_index") if source is None else source
            section = problem = None
            if kind == "page_location":
                pages = (found.get("start_page_number"), found.get("end_page_number"))
                if all(isinstance(page, int) for page in pages):
                    section = [f"Page {page}" for page in range(pages[0], min(pages[1], pages[0] + 100))]
                    section = section[0] if len(section) == 1 else section or None
            if not isinstance(quote, str) or not quote:
                problem = f"a citation of the kind {printable(str(kind), 40)!r} without cited_text"
            citations.append(mapped(str(block.get("text") or "").strip(), quote, section, source, problem))
    return citations


def openai_citations(answer: Mapping) -> list[dict]:
    """The citations of an answer of OpenAI's Responses or Chat Completions API: annotations of the answer's text.

    A url_citation or file_citation marks a place in the answer and names a page or a file, but quotes nothing: the
    claim is the sentence at that place, ``source`` the page or file, and what it cites there remains unsaid.
    """
    parts = [part for item in entries(answer.get("output")) for part in entries(item.get("content"))]
    for choice in entries(answer.get("choices")):
        message = choice.get("message")
        if isinstance(message, dict):
            parts.append({"text": message.get("content"), "annotations": message.get("annotations")})
    citations = []
    for part in parts:
        text = str(part.get("text") or "")
        for found in entries(part.get("annotations")):
            kind = str(found.get("type"))
            inner = found[kind] if isinstance(found.get(kind), dict) else found  # Chat Completions nest one deeper
            start, end = (inner.get(key, found.get(key)) for key in ("start_index", "end_index"))
            start = inner.get("index") if start is None else start
            claim = sentence_at(text, start, end)
            quote = inner.get("quote") or None
            source = inner.get("url") or inner.get("filename") or inner.get("file_id")
            problem = None
            if kind not in ("url_citation", "file_citation", "container_file_citation"):
                problem = f"an annotation of the kind {printable(kind, 40)!r} cites nothing"
            elif quote is None:
                problem = f"a {kind} names {printable(str(source), 80)}, but neither a passage nor a section of it"
            citations.append(mapped(claim, quote, None, source, problem))
    return citations


def cohere_citations(answer: Mapping) -> list[dict]:
    """The citations of an answer of Cohere's Chat API, one for each source that a citation names.

    The claim is the sentence of the answer that holds the cited span. The quote is the text of the document as the
    API was given it; where the answer does not carry it, there is no quote to look for.
    """
    message = answer["message"] if isinstance(answer.get("message"), dict) else answer
    content = message.get("content", message.get("text"))
    text = content if isinstance(content, str) else "".join(str(part.get("text") or "") for part in entries(content))
    documents = {str(document.get("id")): document for document in entries(answer.get("documents"))}
    citations = []
    for found in entries(message.get("citations")):
        claim = sentence_at(text, found.get("start"), found.get("end")) or str(found.get("text") or "")
        names = found.get("document_ids") if isinstance(found.get("document_ids"), list) else []
        sources = entries(found.get("sources")) + [{"type": "document", "id": name} for name in names]
        if not sources:
            citations.append(mapped(claim, unmapped="a citation that names no source"))
        for source in sources:
            document = source.get("document") or source.get("tool_output") or documents.get(str(source.get("id"))) or {}
            fields = document if isinstance(document, dict) else {}
            quote = next((fields[key] for key in ("text", "snippet", "content") if fields.get(key)), None)
            quote = quote if isinstance(quote, str) else None
            name = fields.get("title") or source.get("id")
            problem = None if quote else f"the source {printable(str(name), 80)} carries no text to look for"
            citations.append(mapped(claim, quote, None, name, problem))
    return citations


SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def sentence_at(text: str, start, end=None) -> str:
    """The sentence, or sentences, of a text that hold [start, end), or that end at ``start`` where that is a mark."""
    if not isinstance(start, int) or not 0 <= start <= len(text):
        return ""
    end = end if isinstance(end, int) and start < end <= len(text) else start
    bounds = [0, *(found.end() for found in SENTENCE_END.finditer(text)), len(text)]
    first = max((bound for bound in bounds if bound <= start), default=0)
    if first == start == end:  # a mark between two sentences belongs to the one before it
        first = max((bound for bound in bounds if bound < start), default=0)
    last = min((bound for bound in bounds if bound >= end and bound > first), default=len(text))
    return text[first:last].strip()


# --- Results --------------------------------------------------------------------------------------------------------

RESULT_COLUMNS = (
    "id", "source", "digest", "cited", "section", "status", "match", "flags", "relation", "verdict", "confidence",
    "action", "model", "time", "replay", "claim", "quote", "probabilities", "error",
)  # fmt: skip


def result_records(rows: Iterable[Mapping], paths: str | Path | Sequence[str | Path]) -> list[dict]:
    """The rows of check_citations as flat records in RESULT_COLUMNS; ``paths``: the document, or those loaded.

    ``digest`` is the SHA-256 of the document's file, so that a result can be told from one of an older version;
    ``time`` when the answer was given (UTC), None where that was not recorded. ``action`` is auto or review.
    """
    paths = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    shared = Counter(path.name for path in paths)
    names = [path.name if shared[path.name] == 1 else str(path) for path in paths]
    digests = {name: digest(path) for name, path in zip(names, paths, strict=True)}
    records = []
    for row in rows:
        answer = row.get("answer") or {}
        section = row.get("section")
        source = names[0] if len(names) == 1 else None
        for name in names if source is None and section else ():
            if str(section).startswith(f"{name}: "):
                source, section = name, str(section).removeprefix(f"{name}: ")
                break
        record = {column: row.get(column) for column in RESULT_COLUMNS} | {
            "source": source,
            "digest": digests.get(source),
            "section": section,
            "flags": list(row.get("flags") or ()),
            "action": "auto" if row.get("auto") else "review",
            "relation": answer.get("choice"),
            "probabilities": answer.get("probabilities"),
        }
        records.append(record | {key: answer.get(key) for key in ("model", "time", "replay")})
    return records


def digest(path: str | Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def results_table(rows: Iterable[Mapping], paths: str | Path | Sequence[str | Path]) -> "pandas.DataFrame":
    """The rows of check_citations as a pandas table in RESULT_COLUMNS, flags and probabilities as text."""
    import pandas

    pandas.set_option("display.html.use_mathjax", False)  # "$5 and then $10" is no formula
    return pandas.DataFrame([flat(record) for record in result_records(rows, paths)], columns=list(RESULT_COLUMNS))


def write_results(rows: Iterable[Mapping], path: str | Path, paths: str | Path | Sequence[str | Path]) -> None:
    """Write the rows of check_citations to ``path``: JSON Lines where it ends in .jsonl, CSV where it ends in .csv.

    The CSV opens safely in a spreadsheet: a cell that would start a formula is prefixed with an apostrophe.
    """
    records = result_records(rows, paths)
    if Path(path).suffix == ".jsonl":
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    elif Path(path).suffix == ".csv":
        # The byte-order mark tells a spreadsheet that this is UTF-8.
        with open(path, "w", encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
            writer = csv.DictWriter(file, RESULT_COLUMNS)
            writer.writeheader()
            writer.writerows(
                {key: spreadsheet_cell(value) for key, value in flat(record).items()} for record in records
            )
    else:
        raise ValueError(f"{path}: results are written as .jsonl or .csv: name a file that ends in one of them")


def flat(record: Mapping) -> dict:
    """A record for a table: flags joined with spaces, lists and objects as JSON."""
    return {
        key: " ".join(value) if key == "flags" else json.dumps(value, ensure_ascii=False)
        if isinstance(value, list | dict) else value
        for key, value in record.items()
    }  # fmt: skip


def spreadsheet_cell(value):
    """A text that a spreadsheet would run as a formula, with an apostrophe before it; anything else as it is."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")):
        return "'" + value
    return value
