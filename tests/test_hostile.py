"""Hostile and broken text: tables keep their shape, time stays linear, and only documented exceptions get out."""

import csv
import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_server import GOOD, RawServer, envelope
from raw_server import http as reply_of
from wcwidth import wcswidth

import answers
import documents
import formats
import helpers
import rules
from folding import fold
from plain import printable

HOSTILE = [
    "<script>alert(1)</script>",
    "[a](javascript:b) ![c](http://d/e)",
    "\x1b[2J\x1b]0;owned\x07red",
    "\u202egnp.exe \u2066 \u200b \ufeff",
    "two\nlines\r\nand\ttabs \x0b \x85 \u2028 \u2029",
    "第一条引用与它的一个很长很长很长很长很长很长很长的编号",
    "Z" + "\u0301" * 5000 + "algo",
    "👩‍👩‍👧‍👦" * 30,
    "❤\ufe0f" * 30,
    "\ud800 half a pair",
    "x" * 100_000,
    "=HYPERLINK(1) | a | b |",
    "\n=1+1",
    "\0",
]


def hostile_rows() -> list[dict]:
    """Rows whose every text is hostile: ids, claims, quotes, sections, options, verdicts, models, flags, errors."""
    rows = []
    for n, text in enumerate(HOSTILE):
        name = f"{text}{n}"
        sections = {text: f"The beginning. {text} The end.", "other": "Nothing to do with it."}
        citations = [
            {"id": f"{name}a", "claim": text + "c", "quote": "The beginning", "section": text},
            {"id": f"{name}b", "claim": "c", "quote": f"{text} missing it is", "section": text},
            {"id": f"{name}c", "claim": "c", "quote": None, "section": text + "?"},
            {"id": f"{name}d", "claim": "c", text: "an unknown field", "quotee": 1},
            {"id": f"{name}e", "claim": "c", "unmapped": text},
            {"id": f"{name}f", "claim": "c", "quote": None, "section": "other"},
        ]
        answer = {"choice": text, "confidence": 0.9, "probabilities": {text: 0.9, "b": 0.1}, "model": text}
        settings = {"rules": lambda claim, found, text=text: [text], "relation_to_verdict": {text: text}}
        rows += helpers.check_citations(sections, citations, lambda *_, answer=answer: answer, **settings)
    return rows


ROWS = hostile_rows()


def test_tables_keep_their_columns_whatever_is_in_them(capsys):
    asked = [row for row in ROWS if row["answer"]]
    helpers.print_table(asked, expected=[row["claim"] for row in asked])
    lines = capsys.readouterr().out.splitlines()
    assert len(asked) >= 20 and len(lines) == len(asked) + 1
    width = wcswidth(lines[0][: lines[0].index("quote")])
    for line in lines[1:]:
        cells = [line]
        for mark in ("found", "section-only"):
            cells = line.split(f" {mark} ") if f" {mark} " in line else cells
        assert wcswidth(cells[0]) + 1 == width
        assert wcswidth(cells[1][: cells[1].index(" 0.90 ")]) == wcswidth(cells[1][: cells[1].index("0.90")]) - 1
    ends = {wcswidth(line[: line.index(" 0.90 ")]) for line in lines[1:]}
    actions = {wcswidth(line[: line.index(" review ")]) for line in lines[1:]}
    assert len(ends) == len(actions) == 1


def test_nothing_that_is_printed_acts_on_a_terminal(capsys):
    helpers.print_table(ROWS)
    helpers.print_located([{**row, "characters": None} for row in ROWS])
    print(helpers.answers_note(ROWS))
    printed = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in printed)
    assert max(map(len, printed.splitlines())) < 1000


def test_results_come_back_from_csv_and_json_as_they_were(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("x")
    formats.write_results(ROWS, tmp_path / "rows.jsonl", source)
    formats.write_results(ROWS, tmp_path / "rows.csv", source)
    records = formats.result_records(ROWS, source)
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").split("\n")
    assert [json.loads(line)["claim"] for line in lines[:-1]] == [record["claim"] for record in records]
    csv.field_size_limit(1 << 20)
    with (tmp_path / "rows.csv").open(encoding="utf-8-sig", newline="") as file:
        written = list(csv.DictReader(file))
    assert len(written) == len(ROWS) and all(
        None not in row and len(row) == len(formats.RESULT_COLUMNS) for row in written
    )
    assert not any(value.startswith(tuple("=+-@\t\r\n＝＋－＠")) for row in written for value in row.values())
    assert [row["claim"].lstrip("'") for row in written] == [
        (record["claim"] or "").encode("utf-8", "backslashreplace").decode() for record in records
    ]


@given(st.text(max_size=200), st.integers(2, 50))
def test_printable_text_fits_its_width(text, width):
    shown = printable(text, width)
    assert shown.isprintable() and 0 <= wcswidth(shown) <= width
    assert shown == text or not text.isprintable() or wcswidth(text) > width or len(text) > 2 * width


def test_half_a_surrogate_pair_in_a_section_is_a_row_that_says_so(tmp_path):
    """PDF readers hand such text out; it can be neither sent nor looked up."""
    ask = helpers.make_ask(cache=tmp_path / "answers.json")
    good = {"claim": "c", "quote": None, "section": "2"}
    rows = helpers.check_citations({"1": "half \ud800 a pair", "2": "whole"}, [good | {"section": "1"}, good], ask)
    assert "surrogate" in rows[0]["error"] and "TYPESAFE_API_KEY" in rows[1]["error"]


def test_an_empty_section_is_said_to_be_so():
    (row,) = helpers.check_citations({"1": " "}, [{"claim": "c", "quote": None, "section": "1"}], lambda *_: GOOD)
    assert (row["verdict"], row["error"]) == (None, "section '1' is empty")


# --- Time -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["a", " ", "\n", "一", "<", "1. a\n", "# ", "[["])
def test_ten_megabytes_of_one_character_take_seconds(tmp_path, unit):
    document = tmp_path / "document.txt"
    size = (10_000_000 if len(unit) == 1 else 300_000) // len(unit.encode())
    text = unit * size
    document.write_text(f"{text}\n\nRefunds are paid within 14 days.\n", encoding="utf-8")
    started = time.perf_counter()
    sections = documents.load_document(document)
    citation = {"claim": "c", "quote": "Refunds are paid within 14 days", "section": None}
    assert helpers.locate(sections, citation).status == "found"
    long = {**citation, "quote": text[:1_000_000] + " or so"}
    assert helpers.locate(sections, long).status == "missing" or not unit.isalnum()
    assert len(helpers.split_sections(text)) <= 1 and not helpers.split_articles(text)
    assert time.perf_counter() - started < 30


def test_one_heading_over_and_over_takes_a_second():
    started = time.perf_counter()
    assert list(helpers.split_sections("1. a\n" * 600_000)) == ["1"]
    assert time.perf_counter() - started < 10


# --- Fuzzing --------------------------------------------------------------------------------------------------------

MARKS = "“”\"'’-­–…[].,;:!? \n\t\u3000\u200b（）《》、。，*_`#ﬁéÅ１９第一二十条款§"
TEXT = st.text(st.characters() | st.sampled_from(MARKS + "abc Section 4.1 not no 不 的"), max_size=80)


def folded(text: str) -> str:
    """What is left of a text for a match that sees through its look, without marks at its edges."""
    return re.sub(r"^\W+|\W+$", "", fold(text).text).casefold()


@settings(max_examples=300)
@given(st.dictionaries(TEXT, TEXT, min_size=1, max_size=4), st.data())
def test_offsets_are_always_valid_and_point_at_the_quote(texts, data):
    text = data.draw(st.sampled_from([*texts.values()]))
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    quote = data.draw(
        st.sampled_from([text[start:end], text[start:end].upper(), f"{text[:start]} … {text[end:]}"]) | TEXT
    )
    citation = {"claim": "c", "quote": quote, "section": data.draw(st.none() | st.sampled_from([*texts]) | TEXT)}
    near = data.draw(st.none() | st.just(0.7))
    try:
        located = helpers.locate(texts, citation, near)
    except ValueError as error:
        assert str(error) == helpers.citation_problem(citation)
        return
    assert located.status in ("found", "missing", "near")
    if located.status == "missing":
        assert located.start is located.end is None
        return
    assert 0 <= located.start < located.end <= len(located.text)
    found = located.text[located.start : located.end]
    if located.match == "verbatim":
        assert helpers.normalize(found) == helpers.normalize(quote)
    elif located.match == "folded":
        assert folded(found) == folded(quote)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.sampled_from(helpers.FIELDS), inner, max_size=4)
    ),
    max_leaves=8,
)
CITATION = st.fixed_dictionaries(
    {}, optional={field: JSON | TEXT for field in (*helpers.FIELDS, "id", "source", "unmapped")}
)


@settings(max_examples=300)
@given(st.lists(CITATION | JSON, max_size=4), st.dictionaries(TEXT, TEXT, min_size=1, max_size=3))
def test_any_citations_are_rows_or_an_input_error(tmp_path_factory, citations, texts):
    path = tmp_path_factory.getbasetemp() / "fuzzed.json"
    path.write_text(json.dumps(citations))
    try:
        read = formats.read_citations(path)
    except helpers.InputError:
        return
    answer = {"choice": "supports", "confidence": 0.9}
    for sections in (texts, {"a.txt": helpers.Sections(texts), "b.txt": helpers.Sections({"1": "x y"})}):
        rows = helpers.check_citations(sections, read, lambda *_: answer, rules=rules.flags)
        assert len(rows) == len(read)
        for citation, row in zip(read, rows, strict=True):
            assert row["verdict"] in (None, "fabricated", "verified")
            assert (row["verdict"] is None) == (row["error"] is not None)
            assert row["verdict"] is None or helpers.citation_problem(citation) is None
        helpers.print_table(rows)
        helpers.print_located(helpers.locate_citations(sections, read))
    helpers.plan(texts, read, helpers.make_ask(cache=None))


@settings(max_examples=200)
@given(TEXT | st.binary(max_size=200), st.sampled_from([None, *documents.KINDS]))
def test_any_bytes_are_a_document_or_an_input_error(tmp_path_factory, content, kind):
    path = tmp_path_factory.getbasetemp() / "fuzzed.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    try:
        sections = documents.load_document(path, kind)
    except helpers.InputError as error:
        assert str(path) in str(error) and "\n" not in str(error)
    else:
        assert "".join(sections.text(label) for label in sections.order).strip()


NUMBER = st.floats() | st.sampled_from([0.9, 0.07, 0.03, 0.85]) | JSON
ANSWER = st.fixed_dictionaries(
    {"type": st.sampled_from(["choice", "choice", "noul"]) | JSON},
    optional={
        "choice": st.sampled_from([*helpers.RELATION_TO_VERDICT, "Supports"]) | JSON,
        "confidence": NUMBER,
        "probabilities": st.fixed_dictionaries(dict.fromkeys(helpers.RELATION_TO_VERDICT, NUMBER)) | JSON,
    },
)
ENVELOPE = st.fixed_dictionaries(
    {"answers": st.fixed_dictionaries({"relation": st.just(GOOD) | ANSWER}) | JSON},
    optional={
        "model": st.just("jev-1.12") | JSON,
        "usage": st.fixed_dictionaries({"input_tokens": JSON, "output_tokens": JSON}) | JSON,
    },
)


@pytest.fixture(scope="module")
def fuzzed():
    """A server that sends what ``reply`` holds, and an ask of it."""
    with RawServer(lambda n: fuzzed.reply) as server:
        yield helpers.make_ask(endpoint=server.url, api_key="key-of-the-test", model="jev-1.12", cache=None)


@settings(max_examples=150)
@given(ENVELOPE | JSON | st.just(envelope()), st.sampled_from([200, 200, 201, 400, 404, 422]))
def test_any_answer_of_a_server_is_a_row(fuzzed, reply, status):
    globals()["fuzzed"].reply = reply_of(json.dumps(reply), status)
    (row,) = helpers.check_citations({"1": "s"}, [{"claim": "c", "quote": None, "section": "1"}], fuzzed)
    if row["verdict"]:
        given_back = reply["answers"]["relation"]
        assert answers.answer_problem(given_back, list(helpers.RELATION_TO_VERDICT)) is None
        assert reply["model"].startswith("jev-1.12") and status < 300
        helpers.usage([row])
    else:
        assert row["error"] and not row["auto"] and row["answer"] is None
