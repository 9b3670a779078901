"""documents: every kind of document, several at once, long sections, citations as products write them, results."""

import codecs
import csv
import gzip
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import documents
import formats
import helpers
from documents import load_document, load_documents
from formats import read_citations
from helpers import Unchecked, locate, locate_among, narrow
from plain import InputError
from quotes import Located

HERE = Path(__file__).parent
ROOT = HERE.parent
OTHERS = HERE / "data" / "documents"
SENTENCES = json.loads((OTHERS / "sentences.json").read_text(encoding="utf-8"))
DEBIAN_RFCS = Path("/usr/share/doc/RFC")  # where Debian's doc-rfc-std-proposed puts them, for a check by hand


GIVEN = {"choice": "supports", "confidence": 0.9, "probabilities": None}


def citation(quote=None, section=None, **more) -> dict:
    return {"id": "x", "claim": "A claim.", "quote": quote, "section": section, **more}


# --- Kinds of document ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bzip2-manual.html", "tabulate-readme.md", "bzip2-manual.pdf"])
def test_a_sentence_from_every_section_is_found_under_its_label(name):
    sections = load_document(OTHERS / name)
    assert list(sections) == list(SENTENCES[name])
    for label, sentence in SENTENCES[name].items():
        located = locate(sections, citation(sentence, label))
        assert (located.status, located.section) == ("found", label), sentence
        assert not {"moved", "spans", "no-such-section"} & set(located.flags), sentence


def contents_of(rfc: str) -> list[str]:
    """The labels that an RFC's table of contents lists, in order; an entry may run over two lines."""
    listed = re.search(r"^Table of Contents$(.*?)(?=^1\. )", rfc, re.DOTALL | re.MULTILINE)[1]
    labels = []
    for line in listed.split("\n"):
        numbered = re.match(r" +((?:Appendix )?(?:\d+|[A-Z])(?:\.\d+)*)\.? ", line)
        titled = re.match(r"   ([A-Z][A-Za-z' ]+?)(?: \.+\d+| \. .*|)$", line)
        if numbered or titled:
            labels.append((numbered or titled)[1].strip())
    return labels


# A sentence that runs over a page break of each, and the section that it stands in.
OVER_A_PAGE = {
    "rfc6749": (
        "Without these components, clients must be manually and specifically configured against a specific",
        "1.8",
    ),
    "rfc6750": (
        'In some cases, the "scope" value will be used when requesting a new access token with sufficient',
        "3",
    ),
    "rfc7515": ("represented as a JSON array of certificate value strings.", "4.1.6"),
    "rfc7519": ("normally producers should sign the message and then encrypt the result", "11.2"),
    "rfc8446": ("Servers MUST NOT send this message, and clients receiving it MUST", "4.5"),
    "rfc9114": ("The QUIC transport protocol incorporates stream multiplexing and per-stream flow control", "1.2"),
}


@pytest.mark.parametrize("name", list(OVER_A_PAGE))
def test_every_entry_of_an_rfcs_contents_is_a_section(name, tmp_path):
    path = ROOT / "rfc7519.txt" if name == "rfc7519" else OTHERS / f"{name}.txt"
    if not path.exists():
        packed = next(DEBIAN_RFCS.rglob(f"{name}.txt.gz"), None)
        if packed is None:
            pytest.skip("for a check by hand: apt install doc-rfc-std-proposed (non-free)")
        path = tmp_path / f"{name}.txt"
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    sections = load_document(path)
    entries = contents_of(path.read_text(encoding="utf-8-sig"))
    assert len(entries) > 20
    assert [label for label in sections.order if label in entries] == entries
    quote, section = OVER_A_PAGE[name]
    located = locate(sections, citation(quote, section))
    assert (located.status, located.section) == ("found", section)


def test_an_rfc_without_pages_has_the_same_sections(tmp_path):
    paged = (OTHERS / "rfc6750.txt").read_text(encoding="utf-8")
    flat = re.sub(r"\n+.*\[Page \d+\]\n\f\nRFC 6750 .*\n+", "\n\n", paged)
    assert "[Page" not in re.sub(r"\[Page 18\]", "", flat)
    path = tmp_path / "rfc.txt"
    path.write_text(flat, encoding="utf-8-sig")
    one, other = load_document(path), load_document(OTHERS / "rfc6750.txt")
    assert one.order == other.order
    assert {label: text.split() for label, text in one.items()} == {k: v.split() for k, v in other.items()}


def test_an_old_rfc_numbers_its_headings_without_a_full_stop(tmp_path):
    path = tmp_path / "rfc.txt"
    head = "Network Working Group\nRequest for Comments: 9\n\n   1 Introduction ... 1\n\n"
    path.write_text(f"{head}1 Introduction\n\n   Text.\n\n1.1 Purpose\n\n   See\n2 Scope\n\n   All.\n1 Of these\n")
    sections = load_document(path)
    assert list(sections) == ["1", "1.1", "2"] and sections["2"] == "2 Scope\n\n   All.\n1 Of these"
    path.write_text("Some text.\n")
    with pytest.raises(InputError, match="no section of the kind 'rfc'"):
        load_document(path, kind="rfc")


def test_the_published_documents_split_as_helpers_splits_them():
    rfc = load_document(ROOT / "rfc7519.txt")
    assert dict(rfc) == dict(helpers.split_sections(helpers.load_source())) and len(rfc) == 45
    law = load_document(ROOT / "data" / "pipl.txt")
    assert len(law) == 74 and law.chapters["第一章"][0] == "第一条"


MARKDOWN = """---
title: Manual
---
Before the first heading.

Install
=======

Run `make`.

```sh
# not a heading
```

    # nor is this
    Nor
    ===

> # nor a quoted one

- # nor a listed one

## Options

The *first* options.

# Use `it`

## Options ##

The second options.

## Options

The third options.
"""


def test_markdown(tmp_path):
    path = tmp_path / "manual"
    path.write_text(MARKDOWN, encoding="utf-8")
    sections = load_document(path)
    labels = ["Install", "Install > Options", "Use it", "Use it > Options", "Use it > Options (2)"]
    assert list(sections) == labels
    assert sections["Install"].endswith("- # nor a listed one") and "# not a heading" in sections["Install"]
    assert sections["Use it > Options (2)"] == "## Options\n\nThe third options."
    assert sections.outside["Beginning"].endswith("Before the first heading.")


HTML = """<!DOCTYPE html><html><head><title>T</title><style>p {color: red}</style></head><body>
<nav><h2>Menu</h2><a href="#">Home</a></nav><div role="navigation">More menu</div>
<h1 id=a>Rules<a class="headerlink" href="#a">¶</a></h1>
<p>The fee is
   <b>5</b>&nbsp;&euro;<!-- a comment --> for<br>all.<script>alert("p")</script></p>
<div><h2>1 Refunds</h2>Loose text.<table><tr><td>Day</td><td>Sum</td></tr></table>
<pre>
  kept
    as it is
</pre></div><p hidden>secret</p><p>Last.</p>
</body></html>"""


def test_html(tmp_path):
    path = tmp_path / "page"
    path.write_text(HTML, encoding="utf-8")
    sections = load_document(path)
    assert dict(sections) == {
        "Rules": "Rules\n\nThe fee is 5 € for\nall.",
        "1 Refunds": "1 Refunds\n\nLoose text.\n\nDay Sum\n\n  kept\n    as it is\n\nLast.",
    }
    assert locate(sections, citation("Loose text.", "1")).section == "1 Refunds"


def pdf(*pages: str, **more) -> bytes:
    """A PDF with a line of text for every line of each page, written by hand: see the PDF reference, 3.4."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for page in pages:
        lines = "".join(f"({line}) Tj T* " for line in page.split("\n"))
        text = f"BT /F1 12 Tf 14 TL 72 720 Td {lines}ET" if page else ""
        objects.append(f"<< /Length {len(text)} >>\nstream\n{text}\nendstream")
        picture = "/XObject << /I1 3 0 R >>" if not page and more.get("pictures") else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R"
            f" /Resources << /Font << /F1 3 0 R >> {picture} >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    data, offsets = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    return (
        f"{data}xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
        f"startxref\n{len(data)}\n%%EOF\n"
    ).encode("latin-1")


def test_pdf_running_lines_go_and_repeated_text_stays():
    totals = (31, 47, 58, 61, 90)
    pages = [f"Handbook\nRule {total} holds.\nTotal {total}\nPage {n} of 5" for n, total in enumerate(totals, 1)]
    sections = documents.split_pdf(pdf(*pages))
    assert dict(sections) == {f"Page {n}": f"Rule {t} holds.\nTotal {t}" for n, t in enumerate(totals, 1)}
    assert locate(sections, citation("Rule 47 holds.", "p. 2")).section == "Page 2"
    # what comes again on a few pages, and figures that do not count pages, are text
    book = [[f"text {n * n}", "middle", f"more {n * 7}"] for n in range(12)]
    for n in (3, 4, 6):
        book[n] = ["Possible return values:", "middle", "BZ_OK"]
    assert documents.without_running_lines(book) == ["\n".join(page) for page in book]


def test_a_pdf_without_text_is_said_to_have_none(tmp_path):
    path = tmp_path / "scan.pdf"
    path.write_bytes(pdf("", "", pictures=True))
    with pytest.raises(InputError, match=r"scan\.pdf: its 2 pages hold no text .*OCR"):
        load_document(path)
    path.write_bytes(pdf("Some text.", "", pictures=True))
    with pytest.warns(UserWarning, match="no text on page 2"):
        sections = load_document(path)
    assert list(sections) == ["Page 1"]
    asked = [{"claim": "c", "quote": quote, "section": None} for quote in ("Some text.", "It stands in the scan.")]
    rows = helpers.check_citations(sections, asked, lambda *_: {"choice": "supports", "confidence": 0.9})
    assert [(row["status"], row["verdict"]) for row in rows] == [("found", "verified"), (None, None)]
    assert "Page 2" in rows[1]["error"]
    path.write_bytes(b"%PDF-1.7\nnothing more")
    with pytest.raises(InputError, match="cannot be read as PDF"):
        load_document(path)


def test_html_forms_raised_numbers_and_headings_that_are_buttons():
    page = (
        "<body><form><h1><button>May I?</button></h1><p>About 10<sup>5</sup> cells.</p>"
        "<p>The study<sup>3</sup> shows it. <button>Copy</button></p></form></body>"
    )
    sections = documents.split_html(page)
    assert dict(sections) == {"May I?": "May I?\n\nAbout 10⁵ cells.\n\nThe study³ shows it."}
    for quote, status in {
        "About 10⁵ cells": "found",
        "About 105 cells": "missing",
        "The study shows it.": "found",
    }.items():
        assert locate(sections, citation(quote, None)).status == status


def test_html_beyond_the_main_part_is_found():
    page = (
        "<header><h1>Guide</h1></header><nav>Menu</nav><main><h2>One</h2><p>Text.</p></main><p>The fee is 5 euros.</p>"
    )
    sections = documents.split_html(f"<html><body>{page}</body></html>")
    assert dict(sections) == {"One": "One\n\nText."}
    assert sections.outside == {documents.BEYOND: "Guide\n\nThe fee is 5 euros."}


def test_plain_text(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("First\nparagraph.\n\n \n\nSecond.\n", encoding="utf-8")
    sections = load_document(path)
    assert dict(sections) == {"Paragraph 1": "First\nparagraph.", "Paragraph 2": "Second."}
    assert locate(sections, citation("Second.", "2")).section == "Paragraph 2"
    assert list(load_document(path, kind="markdown").outside) == ["Beginning"]
    with pytest.raises(ValueError, match="no kind of document"):
        load_document(path, kind="word")


LAW = "第一条　为了测试，制定本法。\n第二条　本法的解释权在于测试者。\n第三条　本法自公布之日起施行。\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
def test_encodings(tmp_path, encoding):
    path = tmp_path / "law.txt"
    path.write_bytes(LAW.replace("\n", "\r\n").encode(encoding))
    assert load_document(path)["第二条"] == "第二条　本法的解释权在于测试者。"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("Déjà vu: le café était fermé, hélas.".encode("latin-1"), "not UTF-8 at byte 1, nor GB18030"),
        ("個人資料之蒐集，應尊重當事人之權益。".encode("big5"), "nor GB18030: save it as UTF-8"),
        (codecs.BOM_UTF16_LE + "text".encode("utf-16-le"), "nor GB18030"),
        (b"text\0more", "binary data"),
        (b" \n\n ", "holds no text"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, data, message):
    path = tmp_path / "file.txt"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        load_document(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_document(tmp_path / "none.txt")


@pytest.mark.parametrize(
    "hostile",
    [
        "# a\n" * 20_000,
        "[" * 100_000,
        "> " * 5_000 + "a",
        "<div>" * 20_000 + "text",
        "<p>" * 20_000 + "text",
        "<h1>a<b>" * 5_000,
        "<html>text" + "<a " * 50_000,
        "<html>text" + "<!--" * 50_000 + ">",
        "\n" * 200_000 + "a",
        "---\n" * 20_000,
    ],
    ids=[
        "headings",
        "brackets",
        "quotations",
        "divs",
        "paragraphs",
        "nested",
        "open tags",
        "open comments",
        "blank",
        "rules",
    ],
)
def test_time_stays_linear_on_hostile_text(tmp_path, hostile):
    path = tmp_path / "hostile"
    path.write_text(hostile, encoding="utf-8")
    started = time.process_time()
    load_document(path)
    assert time.process_time() - started < 5


# --- Several documents, long sections -------------------------------------------------------------------------------


def test_a_quote_that_stands_in_another_document_is_moved(tmp_path):
    (tmp_path / "a.md").write_text("# Fees\n\nThe fee is five euros.\n\n# Shared\n\nEverybody signs the same sheet.\n")
    (tmp_path / "b.md").write_text("# Terms\n\nThe term is two years.\n\n# Shared\n\nEverybody signs the same sheet.\n")
    both = load_documents([tmp_path / "a.md", tmp_path / "b.md"])
    assert list(both) == ["a.md", "b.md"]

    def found(**fields):
        located = locate_among(both, citation(**fields))
        return located.status, located.section, set(located.flags)

    fee, sheet = "The fee is five euros.", "Everybody signs the same sheet."
    assert found(quote=fee, section="Fees", source="a.md") == ("found", "a.md: Fees", set())
    assert found(quote=fee, source="docs/A.md") == ("found", "a.md: Fees", set())
    assert found(quote=fee, source=0) == found(quote=fee, source="a") == ("found", "a.md: Fees", set())
    assert found(quote=fee, section="Terms", source="b.md") == ("found", "a.md: Fees", {"moved"})
    assert found(quote=fee, section="Fees") == ("found", "a.md: Fees", set())
    assert found(quote=sheet, section="Shared", source="b.md") == ("found", "b.md: Shared", set())
    assert found(quote=sheet) == ("found", "a.md: Shared", {"repeated"})
    assert found(section="Terms") == ("section-only", "b.md: Terms", set())
    assert found(quote="The fee is six euros.", source="a.md")[0] == "missing"
    # a document that is not there proves nothing
    assert found(quote=fee, source="c.md") == ("found", "a.md: Fees", {"moved"})
    with pytest.raises(Unchecked, match="'c.md' is not among those loaded: a.md, b.md"):
        found(quote="The fee is six euros.", source="c.md")
    with pytest.raises(Unchecked, match="not among those loaded"):
        found(section="Terms", source="c.md")


@settings(deadline=None)
@given(
    paragraphs=st.lists(st.text("abc ", min_size=1, max_size=30), min_size=1, max_size=12),
    gap=st.sampled_from(["\n\n", "\n"]),
    place=st.integers(0, 11),
    limit=st.integers(40, 200),
)
def test_a_long_section_is_narrowed_to_whole_paragraphs(paragraphs, gap, place, limit):
    place %= len(paragraphs)
    paragraphs[place] = "QUOTE"
    text = gap.join(paragraphs)
    start = text.index("QUOTE")
    located = narrow(Located("found", "verbatim", "1", text, start, start + 5, ()), limit)
    assert located.text[located.start : located.end] == "QUOTE"
    assert located.text in text
    if len(text) <= limit:
        assert located.text == text and located.flags == ()
    else:
        assert len(located.text) <= limit and located.flags == ("narrowed",)
        whole = re.split(r"(?<=\n)", text)  # it starts and ends where a line does
        assert located.text in {"".join(whole[i:j]) for i in range(len(whole)) for j in range(i, len(whole) + 1)}


def test_a_long_section_that_cannot_be_narrowed_is_unchecked():
    text = "word " * 100 + "\n\n" + "more " * 10
    with pytest.raises(Unchecked, match="'4.1' has 552 characters, over the limit of 100: quote the passage"):
        narrow(Located("section-only", None, "4.1", text, None, None, ()), 100)
    with pytest.raises(Unchecked, match="so has the paragraph of the quote"):
        narrow(Located("found", "verbatim", "4.1", text, 5, 9, ()), 100)
    published = [
        *helpers.split_sections(helpers.load_source()).values(),
        *load_document(ROOT / "data/pipl.txt").values(),
    ]
    assert max(map(len, published)) < helpers.SECTION_LIMIT  # nothing of the notebooks is narrowed


def test_rows_of_several_documents_and_of_long_sections(tmp_path):
    (tmp_path / "a.md").write_text("# Fees\n\nThe fee is five euros.\n\n" + "More words follow here.\n\n" * 20)
    (tmp_path / "b.md").write_text("# Terms\n\nThe term is two years, no more.\n")
    read = []

    def ask(claim, section):
        read.append(section)
        return {"choice": "supports", "probabilities": None, "confidence": 0.9, "model": "test"}

    citations = [
        citation("The fee is five euros.", "Fees", source="a.md") | {"id": "long"},
        citation(None, "Fees", source="a.md") | {"id": "only"},
        citation("The term is two years, no more.", "Terms", source="a.md") | {"id": "moved"},
        citation("Nobody wrote this sentence.", source="b.md") | {"id": "false"},
        citation("Nobody wrote this sentence.", source="c.md") | {"id": "absent"},
        citation() | {"id": "unmapped", "unmapped": "a url_citation names a page"},
    ]
    both = load_documents([tmp_path / "a.md", tmp_path / "b.md"])
    rows = {row["id"]: row for row in helpers.check_citations(both, citations, ask, limit=100)}
    assert (rows["long"]["verdict"], rows["long"]["flags"]) == ("verified", ["narrowed"])
    assert rows["long"]["section"] == "a.md: Fees" and not rows["long"]["auto"]
    assert rows["only"]["verdict"] is None and "over the limit of 100" in rows["only"]["error"]
    assert (rows["moved"]["section"], rows["moved"]["flags"]) == ("b.md: Terms", ["moved"])
    assert rows["false"]["verdict"] == "fabricated"
    assert rows["absent"]["verdict"] is None and "not among those loaded" in rows["absent"]["error"]
    assert rows["unmapped"]["error"] == "not mapped: a url_citation names a page"
    assert len(read) == 2 and max(map(len, read)) <= 100
    records = formats.result_records(rows.values(), [tmp_path / "a.md", tmp_path / "b.md"])
    assert [(r["source"], r["section"]) for r in records[:3]] == [("a.md", "Fees"), ("a.md", "Fees"), ("b.md", "Terms")]
    assert records[2]["digest"] == formats.digest(tmp_path / "b.md")


def test_a_bare_number_is_a_section_and_no_page():
    """A page is not what "2" means in the text, and a confident verdict over the wrong text is the worst."""
    pdf = load_document(OTHERS / "bzip2-manual.pdf")
    assert locate(pdf, citation(section="2")).flags == ("no-such-section",)
    assert locate(pdf, citation(section="p. 2")).section == locate(pdf, citation(section="Page 2")).section == "Page 2"


def test_a_heading_is_named_with_and_without_its_number(tmp_path):
    (tmp_path / "a.md").write_text("# Rules\n\n## 1. Access\n\nBy card.\n\n## 2. Tools\n\nBy hand.\n", encoding="utf-8")
    sections = load_document(tmp_path / "a.md")
    labels = ["1. Access", "Access", "1", "Section 1"]
    assert [locate(sections, citation(section=label)).section for label in labels] == ["1. Access"] * 4
    unknown = helpers.check_citation(sections, citation(section="Fees"), lambda *_: {})
    assert unknown["error"] == "the source has no section 'Fees': it has Rules, 1. Access, 2. Tools"


def test_one_document_and_a_citation_of_another(tmp_path):
    """A quote that is in what is loaded is for a person; one that is not is unchecked: its document was not read."""
    (tmp_path / "a.md").write_text("# Fees\n\nA night may cost up to 140 euros.\n", encoding="utf-8")
    one = load_document(tmp_path / "a.md")
    real, false = "A night may cost up to 140 euros.", "A night may cost up to 160 euros."

    def row(quote, source):
        return helpers.check_citation(one, citation(quote, "Fees", source=source), lambda *_: GIVEN)

    assert [row(real, source)["flags"] for source in ("a.md", "a", 0, "b.md")] == [[], [], [], ["moved"]]
    assert row(real, "b.md")["section"] == "Fees" and not row(real, "b.md")["auto"]
    assert row(false, "a.md")["verdict"] == "fabricated"
    assert row(false, "b.md")["verdict"] is None and "not among those loaded" in row(false, "b.md")["error"]


# --- Citations ------------------------------------------------------------------------------------------------------

NATIVE = [
    {"id": "a", "claim": "One, or two.", "quote": 'He said "one".', "section": "1", "source": "x.md"},
    {"id": "b", "claim": "=1+1", "quote": None, "section": "2"},
]


def test_native_citations_in_three_formats(tmp_path):
    path = tmp_path / "citations"
    path.write_text(json.dumps(NATIVE), encoding="utf-8-sig")
    assert read_citations(path) == NATIVE
    path.write_text("\n".join(map(json.dumps, NATIVE)) + "\n\n", encoding="utf-8")
    assert read_citations(path) == NATIVE
    path.write_text('[{"claim": "c", "quote": null, "section": 4.10}]', encoding="utf-8")
    tenth = helpers.Sections({"4.1": "The first.", "4.10": "The tenth."})
    assert helpers.locate(tenth, read_citations(path)[0]).section == "4.10"
    lines = tmp_path / "citations.jsonl"
    lines.write_text(json.dumps(NATIVE[0]) + '\n{"id": \n', encoding="utf-8")
    first, second = read_citations(lines)
    assert first == NATIVE[0] and second["unmapped"].startswith("line 2 is not JSON")
    lines.write_text(json.dumps(NATIVE[0]), encoding="utf-8")
    assert read_citations(lines) == NATIVE[:1]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["id", "Claim", "quote", "section", "source"])
        writer.writeheader()
        writer.writerows({("Claim" if k == "claim" else k): v for k, v in row.items()} for row in NATIVE)
    assert read_citations(path) == NATIVE
    path.write_text("claim;quote;section\nOne, two.;null;\n", encoding="utf-8")
    assert read_citations(path) == [{"claim": "One, two.", "quote": None, "section": None}]
    path.write_text("claim\tquote\nA claim.\t\n", encoding="utf-8")
    assert read_citations(path) == [{"claim": "A claim.", "quote": None, "section": None}]
    path.write_text("claim,section,quote\nA claim.,1,He said so, and more\n", encoding="utf-8")
    assert read_citations(path)[0]["unmapped"] == "row 2 has more cells than the header"
    path.write_text("claim,section,Quotation\nA claim.,1,never said\n", encoding="utf-8")
    assert 'write "quote"' in helpers.citation_problem(read_citations(path)[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"id": "a",]', "not JSON at line 1, column 13"),
        ('{"id": "a"}', "a dict where a list of citations should be"),
        ("name,value\na,b\n", "neither JSON nor a CSV with a header that names claim"),
        ('claim,quote\n"open', "not CSV that can be read"),
        ("[" * 100_000, "not JSON"),
        (json.dumps([NATIVE[0], NATIVE[0]]), "citations 1 and 2 have the same id, 'a'"),
        ("5", "neither JSON nor a CSV"),
        ("[]", "holds no citations"),
        ('{"content": [{"type": "text", "text": "No source at all."}]}', "holds no citations"),
        ("claim,quote\n", "holds no citations"),
    ],
)
def test_files_that_are_no_citations(tmp_path, text, message):
    path = tmp_path / "citations.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(message)):
        read_citations(path)


# Answers in the shape of each vendor's documentation, in our own words.
ANTHROPIC = {
    "type": "message",
    "role": "assistant",
    "content": [
        {"type": "text", "text": "The handbook says that "},
        {
            "type": "text",
            "text": "leave is requested in writing",
            "citations": [
                {
                    "type": "char_location",
                    "cited_text": "Leave is requested in writing.",
                    "document_index": 0,
                    "document_title": "Handbook",
                    "start_char_index": 120,
                    "end_char_index": 150,
                },
                {
                    "type": "page_location",
                    "cited_text": "Requests for leave are made on form L.",
                    "document_index": 1,
                    "document_title": None,
                    "start_page_number": 3,
                    "end_page_number": 5,
                },
            ],
        },
        {
            "type": "text",
            "text": " and is never refused.",
            "citations": [
                {
                    "type": "content_block_location",
                    "cited_text": "No request is refused without a reason.",
                    "document_index": 2,
                    "document_title": "Circular 7",
                    "start_block_index": 0,
                    "end_block_index": 1,
                },
                {"type": "moon_location", "crater": 3},
            ],
        },
    ],
}
OPENAI = {
    "object": "response",
    "output": [
        {"type": "file_search_call", "status": "completed", "queries": ["leave"], "results": None},
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {
                    "type": "output_text",
                    "text": "Leave is requested in writing. It is granted within a week (example.org). Ask early.",
                    "annotations": [
                        {"type": "file_citation", "index": 30, "file_id": "file-1", "filename": "handbook.pdf"},
                        {
                            "type": "url_citation",
                            "start_index": 59,
                            "end_index": 72,
                            "url": "https://example.org/leave",
                            "title": "Leave",
                        },
                        {"type": "file_path", "file_id": "file-2", "index": 84},
                    ],
                }
            ],
        },
    ],
}
OPENAI_CHAT = {
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": "Leave is granted within a week.",
                "annotations": [
                    {
                        "type": "url_citation",
                        "url_citation": {
                            "start_index": 0,
                            "end_index": 31,
                            "url": "https://example.org/a",
                            "title": "A",
                        },
                    }
                ],
            }
        }
    ]
}
COHERE = {
    "id": "1",
    "message": {
        "role": "assistant",
        "content": [{"type": "text", "text": "Leave is long. It takes two weeks in summer."}],
        "citations": [
            {
                "start": 24,
                "end": 33,
                "text": "two weeks",
                "sources": [
                    {
                        "type": "document",
                        "id": "doc:0",
                        "document": {"id": "doc:0", "title": "Leave", "snippet": "In summer, leave takes two weeks."},
                    },
                    {"type": "tool", "id": "search_0", "tool_output": {"hits": "7"}},
                ],
                "type": "TEXT_CONTENT",
            }
        ],
    },
}
COHERE_V1 = {
    "text": "Leave is long.",
    "citations": [{"start": 0, "end": 5, "text": "Leave", "document_ids": ["d1"]}],
    "documents": [{"id": "d1", "title": "Rules", "text": "Leave is rather long."}],
}


def test_citations_of_vendors(tmp_path):
    path = tmp_path / "answers.jsonl"
    answers = (ANTHROPIC, OPENAI, OPENAI_CHAT, COHERE, COHERE_V1)
    path.write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    got = read_citations(path)
    short = [(c["claim"], c["quote"], c["section"], c.get("source"), c.get("unmapped")) for c in got]
    writing, refused = "leave is requested in writing", "and is never refused."
    week, weeks = "It is granted within a week (example.org).", "It takes two weeks in summer."
    nowhere = "but neither a passage nor a section of it"
    assert short == [
        (writing, "Leave is requested in writing.", None, "Handbook", None),
        (writing, "Requests for leave are made on form L.", ["Page 3", "Page 4"], 1, None),
        (refused, "No request is refused without a reason.", None, "Circular 7", None),
        (refused, None, None, None, "a citation of the kind 'moon_location' without cited_text"),
        (
            "Leave is requested in writing.",
            None,
            None,
            "handbook.pdf",
            f"a file_citation names handbook.pdf, {nowhere}",
        ),
        (week, None, None, "https://example.org/leave", f"a url_citation names https://example.org/leave, {nowhere}"),
        ("Ask early.", None, None, "file-2", "an annotation of the kind 'file_path' cites nothing"),
        (
            "Leave is granted within a week.",
            None,
            None,
            "https://example.org/a",
            f"a url_citation names https://example.org/a, {nowhere}",
        ),
        (weeks, "In summer, leave takes two weeks.", None, "Leave", None),
        (weeks, None, None, "search_0", "the source search_0 carries no text to look for"),
        ("Leave is long.", "Leave is rather long.", None, "Rules", None),
    ]


FIELDS = [
    "annotations",
    "choices",
    "citations",
    "content",
    "document",
    "documents",
    "end",
    "index",
    "message",
    "output",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FIELDS, "sources", "start", "text", "type", "url_citation"]), inner)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_no_answer_of_a_vendor_breaks_the_adapters(answer):
    for adapter in (formats.anthropic_citations, formats.openai_citations, formats.cohere_citations):
        assert all({"claim", "quote", "section"} <= set(found) for found in adapter(answer))


# --- Results --------------------------------------------------------------------------------------------------------


def test_results(tmp_path):
    source = tmp_path / "manual.md"
    source.write_text("# Fees\n\nThe fee is five euros and not more.\n", encoding="utf-8")
    answer = {
        "choice": "supports",
        "probabilities": {"supports": 0.9, "contradicts": 0.05, "says_nothing": 0.05},
        "confidence": 0.85,
        "input_tokens": 9,
        "output_tokens": 1,
        "seconds": 0.1,
        "model": "jev-1.12",
        "time": "2026-11-30T00:00:00+00:00",
        "replay": False,
    }
    claims = ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "\tx", 'plain, "quoted"\nclaim']
    citations = [
        citation("The fee is five euros and not more.", "Fees") | {"id": str(n), "claim": c}
        for n, c in enumerate(claims)
    ]
    rows = helpers.check_citations(load_document(source), citations, lambda claim, section: dict(answer))
    formats.write_results(rows, tmp_path / "out.csv", source)
    with open(tmp_path / "out.csv", encoding="utf-8-sig", newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["claim"] for row in written] == ["'" + claim for claim in claims[:5]] + claims[5:]
    assert not any(value.startswith(("=", "+", "-", "@", "\t", "\r")) for row in written for value in row.values())
    formats.write_results(rows, tmp_path / "out.jsonl", source)
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [record["claim"] for record in records] == claims
    first = records[0]
    assert (first["source"], first["section"], first["match"], first["flags"]) == ("manual.md", "Fees", "verbatim", [])
    assert (first["verdict"], first["action"], first["model"]) == ("verified", "auto", "jev-1.12")
    assert (first["digest"], first["time"]) == (formats.digest(source), answer["time"]) and len(first["digest"]) == 64
    table = formats.results_table(rows, source)
    assert list(table.columns) == list(formats.RESULT_COLUMNS) and len(table) == len(claims)
    with pytest.raises(ValueError, match=r"out\.xls: results are written as \.jsonl or \.csv"):
        formats.write_results(rows, tmp_path / "out.xls", source)


def test_a_source_names_the_document_that_its_path_ends_in():
    def located(source, quote=None):
        documents = {name: helpers.Sections({"Pay": text}) for name, text in fees.items()}
        return helpers.locate(documents, {"claim": "c", "quote": quote, "section": "Pay", "source": source})

    fees = {"/a/x/guide.md": "The fee is 10 euros here.", "/a/y/guide.md": "The fee is 20 euros here."}
    assert located("y/guide.md").section == "/a/y/guide.md: Pay"
    assert located("./y/guide").section == "/a/y/guide.md: Pay"
    assert located("guide.md").flags == ("repeated",)
    assert (located("guide", "The fee is 20 euros").section, located("guide", "The fee is 20 euros").flags) == (
        "/a/y/guide.md: Pay",
        (),
    )
