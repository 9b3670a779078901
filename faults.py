# ruff: noqa: E501 (one fault a line)
"""Faults found on 2026-11-30 in 6d3cd63: each printed with PASS (mended, or never there) or FAIL.

    python faults.py [DIRECTORY OF THE PROJECT]     e.g. a checkout of 6d3cd63, where all but the last lines fail

A: honest, reported fabricated. B: found or verified without a flag, unchecked. C: a wrong section is read.
"""

import contextlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent).resolve()))

import documents  # noqa: E402
import formats  # noqa: E402
import helpers  # noqa: E402

ROOT = Path(helpers.__file__).parent
TMP = Path(tempfile.mkdtemp())
RFC = documents.load_document(ROOT / "rfc7519.txt")
LAW = documents.load_document(ROOT / "data" / "pipl.txt")
YES = lambda claim, text: {"choice": "supports", "confidence": 0.95, "probabilities": None, "model": "m"}  # noqa: E731


def rows(sections, *citations, ask=YES):
    if isinstance(sections, str):
        sections = {"1": sections}
    return helpers.check_citations(sections, list(citations), ask)


def row(sections, quote, section="1", **more):
    return rows(sections, {"claim": "c", "quote": quote, "section": section, **more})[0]


def file(name, content):
    path = TMP / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def honest(sections, quote, section="1"):
    """Not called fabricated."""
    got = row(sections, quote, section)
    return got["verdict"] != "fabricated", f"{got['status']} {got['verdict']} auto={got['auto']} {got['flags']}"


def dishonest(sections, quote, section="1"):
    """Not verified without a person."""
    got = row(sections, quote, section)
    return not (
        got["verdict"] == "verified" and got["auto"]
    ), f"{got['status']} {got['verdict']} auto={got['auto']} {got['flags']}"


def reads(sections, cited, wanted, **more):
    """Reads that section, or has a person look; ``wanted`` None: there is none such."""
    got = row(sections, None, cited, **more)
    right = got["section"] == wanted if wanted else not got["auto"]
    return right, f"section {got['section']} {got['verdict']} auto={got['auto']} {got['flags']}"


def csv_row(text):
    got = rows({"1": "the text is here now, yes"}, *formats.read_citations(file("c.csv", text)))[0]
    return not got["auto"], f"{got['status']} {got['verdict']} auto={got['auto']} error={got['error']}"


def empty(text):
    try:
        return False, f"{formats.read_citations(file('e.json', text))}: exit code 0"
    except helpers.InputError as error:
        return True, str(error)


def scan():
    import io

    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import DictionaryObject, NameObject

    writer = PdfWriter()
    for page in PdfReader(ROOT / "tests/data/documents/bzip2-manual.pdf").pages[4:6]:
        writer.add_page(page)
    writer.add_blank_page(600, 800)[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/XObject"): DictionaryObject()}
    )
    data = io.BytesIO()
    writer.write(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sections = documents.load_document(file("scan.pdf", data.getvalue()))
    return honest(sections, "This sentence stands on the third page, which is a scan", "Page 3")


def odd_answer(answer):
    def ask(claim, text):
        return answer if claim == "a" else YES(claim, text)

    got = rows("s", *({"claim": c, "quote": None, "section": "1"} for c in "ab"), ask=ask)
    return not got[0]["auto"] and got[1]["auto"], [(r["verdict"], r["auto"], r["error"]) for r in got]


def evidence_model():
    from evidence import Evidence, check_answer

    ask = lambda c, t: {"choice": "supports", "confidence": 0.95}  # noqa: E731
    line = check_answer("Take 20 days. [E1]", [Evidence("E1", "Take 20 days.", "p-v1")], ask)[0]
    return line.passed, line.states["semantic_relation"]


def sources(source):
    names = ("x/guide.md", "y/guide.md")
    loaded = documents.load_documents([file(n, f"# Pay\n\nThe fee is {i}0 euros.\n") for i, n in enumerate(names, 1)])
    got = row(loaded, None, "Pay", source=source)
    wanted = "y/guide.md: Pay" if "/" in source else None
    right = got["section"].endswith(wanted) if wanted else not got["auto"]
    return right, f"{got['section'][-20:]} auto={got['auto']} {got['flags']}"


def tenth():
    citation = formats.read_citations(file("t.json", '[{"claim": "c", "quote": null, "section": 4.10}]'))[0]
    got = rows({"4.1": "First.", "4.10": "Tenth."}, citation)[0]
    return got["section"] == "4.10" or not got["auto"], got["section"]


def html(name, text):
    return documents.load_document(file(name, text))


PAGE = documents.load_document(ROOT / "tests/data/documents/bzip2-manual.html")
PDF = documents.load_document(ROOT / "tests/data/documents/bzip2-manual.pdf")
TLS = "   The list:\n\n   -  One thing is done.\n\n   -  Other things were made, including it.\n"
BULLETS = "The steps are:\n\n   o  Verify the token is\n      valid.\n\n   o  Reject it otherwise.\n"
NUMBERS = "The steps are:\n\n   1.   Verify it is valid.\n\n   2.   Reject it otherwise.\n"
TABLE = "| Name | Age |\n|------|-----|\n| Alice Smith | 24 years |"
FEES = "# Guide\n\n## 1. Scope\n\nAll.\n\n## Terms\n\n### 1. Fees\n\nFive.\n"

FAULTS = [
    (
        "A1 RFC bullets left out",
        lambda: honest(BULLETS, "The steps are: Verify the token is valid. Reject it otherwise."),
    ),
    (
        "A1 RFC bullets as dashes",
        lambda: honest(BULLETS, "The steps are:\n- Verify the token is valid.\n- Reject it otherwise."),
    ),
    (
        "A1 PDF bullets left out",
        lambda: honest("• take one tablet\n• drink some water", "take one tablet drink some water"),
    ),
    (
        "A2 word for word, flattened dash list, no section",
        lambda: honest({"0": "x", "1": TLS}, "One thing is done. - Other things were made", None),
    ),
    ("A3 list numbers left out", lambda: honest(NUMBERS, "Verify it is valid. Reject it otherwise.")),
    (
        "A3 （一） left out",
        lambda: honest(LAW, "取得个人的同意；为订立、履行个人作为一方当事人的合同所必需", "第十三条"),
    ),
    (
        "A3 HTML <ol>, numbers as the page shows",
        lambda: honest("Wash hands now.\n\nDry hands now.", "1. Wash hands now. 2. Dry hands now."),
    ),
    ("A4 table row without pipes", lambda: honest(TABLE, "Alice Smith 24 years")),
    (
        "A5 HTML entity in the quote",
        lambda: honest('The "aud" & "sub" claims are', "The &quot;aud&quot; &amp; &quot;sub&quot; claims are"),
    ),
    ("A5 &nbsp; in the source", lambda: honest("the house of&nbsp;cards is down", "the house of cards is down")),
    ("A6 Markdown escape in the quote", lambda: honest("Set the max_retries option", "Set the max\\_retries option")),
    ("A6 Markdown escape in the source", lambda: honest("Set the max\\_retries option", "Set the max_retries option")),
    ("A6 JSON escape twice", lambda: honest('The "aud" claim is there', 'The \\"aud\\" claim is there')),
    ("A7 PDF with a scanned page", scan),
    ("A8 quote 'N/A' in CSV", lambda: honest("the text is here", "N/A")),
    ("A8 quote 'null'", lambda: honest("the text is here", "null")),
    (
        "A9 HTML <sup> note in a word",
        lambda: honest(
            html("a.html", "<body><p>The study<sup>3</sup> shows an effect.</p></body>"),
            "The study shows an effect",
            None,
        ),
    ),
    (
        "A9 HTML 10<sup>5</sup>",
        lambda: honest(
            html("b.html", "<body><p>About 10<sup>5</sup> cells live.</p></body>"), "About 10⁵ cells live", None
        ),
    ),
    (
        "A9 Markdown footnote mark left out",
        lambda: honest("The study[^1] shows an effect.", "The study shows an effect"),
    ),
    (
        "A10 HTML text beyond <main>",
        lambda: honest(
            html("c.html", "<body><main><p>Text one.</p></main><section><p>The fee is 5 euros.</p></section></body>"),
            "The fee is 5 euros",
            None,
        ),
    ),
    (
        "A10 HTML page in a <form>",
        lambda: honest(
            html("d.html", "<body><h1>A</h1><form><p>The fee is 5 euros.</p></form></body>"), "The fee is 5 euros", None
        ),
    ),
    (
        "A10 HTML heading that is a button",
        lambda: honest(
            html("e.html", "<body><h2><button>Can I get a refund?</button></h2><p>Yes.</p></body>"),
            "Can I get a refund?",
            None,
        ),
    ),
    (
        "A11 autolink, reference link",
        lambda: honest("See <https://a.example/b> or [the guide][1] now", "See https://a.example/b or the guide now"),
    ),
    ("B1 CSV: the quote in a column Quotation", lambda: csv_row("claim,section,Quotation\nc,1,this was never said\n")),
    ("B1 CSV: the quote in a column evidence", lambda: csv_row("claim,section,evidence\nc,1,this was never said\n")),
    (
        "B1 quote null beside cited_text",
        lambda: (lambda r: (not r["auto"], (r["verdict"], r["auto"], r["error"])))(
            row("s", None, cited_text="never said")
        ),
    ),
    (
        "B2 CSV: a comma cuts the quote",
        lambda: csv_row("claim,section,quote\nc,1,the text is here now, and much more\n"),
    ),
    ("B3 no citations at all: []", lambda: empty("[]")),
    (
        "B3 an answer that cites nothing",
        lambda: empty(json.dumps({"content": [{"type": "text", "text": "No source."}]})),
    ),
    (
        "B4 number cut in its groups",
        lambda: dishonest("a fine of 2 500 000 euros must be paid", "500 000 euros must be paid"),
    ),
    (
        "B4 number cut at the end",
        lambda: dishonest("they shall be paid a fine of 2 500 000 euros", "they shall be paid a fine of 2"),
    ),
    ("B4 number words cut", lambda: dishonest("twenty-five days are to be given", "five days are to be given")),
    (
        "B5 in-⏎valid cut to valid",
        lambda: dishonest("it is in-\nvalid to end it early now", "valid to end it early now"),
    ),
    (
        "B6 accents: schön for schon",
        lambda: dishonest("das ist schon lange her gewesen", "das ist schön lange her gewesen"),
    ),
    ("B7 confidence True", lambda: odd_answer({"choice": "supports", "confidence": True})),
    (
        "B7 probabilities of no number",
        lambda: odd_answer({"choice": "supports", "confidence": 0.99, "probabilities": {"supports": "x"}}),
    ),
    ("B8 an ask that gives {} ends the run", lambda: odd_answer({})),
    ("B8 an ask whose answer names no model ends check_answer", evidence_model),
    ("C1 第廿五条", lambda: reads(LAW, "第廿五条", "第二十五条")),
    ("C1 Chapter II, Section 1", lambda: reads(LAW, "Chapter II, Section 1", None)),
    ("C2 PDF: Section 3 is not page 3", lambda: reads(PDF, "Section 3", None)),
    ("C2 PDF: pp. 3-4", lambda: reads(PDF, "pp. 3-4", "Page 3, Page 4")),
    ("C2 PDF: 第3-4页", lambda: reads(PDF, "第3-4页", "Page 3, Page 4")),
    (
        "C2 text: Article 2 is not paragraph 2",
        lambda: reads(documents.load_document(file("p.txt", "One.\n\nTwo.\n\nThree.\n")), "Article 2", None),
    ),
    (
        "C3 two headings of number 1",
        lambda: reads(documents.load_document(file("m.md", FEES)), "Section 1", "1. Scope, 1. Fees"),
    ),
    ("C4 RFC 7515 Section 4.1.3", lambda: reads(RFC, "RFC 7515 Section 4.1.3", None)),
    ("C4 《网络安全法》第十五条", lambda: reads(LAW, "《网络安全法》第十五条", None)),
    ("C5 source y/guide.md", lambda: sources("y/guide.md")),
    ("C5 source guide.md, of which there are two", lambda: sources("guide.md")),
    ("C6 JSON section 4.10", tenth),
    ("C7 quote in seven subsections of 4.1", lambda: dishonest(RFC, "Use of this claim is OPTIONAL.", "4.1")),
    (
        "C8 3.3 of a numbered HTML heading",
        lambda: (lambda r: ("moved" not in r["flags"], r["flags"]))(
            row(PAGE, "Prepares for compression. The bz_stream structure holds all data", "Section 3.3")
        ),
    ),
    ("C8 Article 15(2)", lambda: reads(LAW, "Article 15(2)", "第十五条")),
    # Open: not mended here
    ("open: one document, source names another", lambda: reads({"1": "s"}, "1", None, source="other.pdf")),
    (
        "open: [ONLY] left out as if it were a reference",
        lambda: dishonest("The tenant may [ONLY] keep a dog at home", "The tenant may keep a dog at home"),
    ),
    (
        "open: within [30] days",
        lambda: dishonest("to be paid within [30] days of the notice", "to be paid within days of the notice"),
    ),
    (
        "open: not ..., end (comma)",
        lambda: dishonest("The owner may not, under any circumstances, end the contract", "end the contract"),
    ),
    (
        "open: It is false that",
        lambda: dishonest("It is false that the owner is liable for it", "the owner is liable for it"),
    ),
    (
        "open: Only ...",
        lambda: dishonest("Only the owner is liable for the damage done", "the owner is liable for the damage done"),
    ),
    (
        "open: list under 'are prohibited:'",
        lambda: dishonest(
            "The following are prohibited:\n\n- sharing of the passwords\n- use", "sharing of the passwords"
        ),
    ),
    (
        "open: 3 1/2 cut to 1/2, 3×10 to 10",
        lambda: dishonest("3×10 members paid it on time", "10 members paid it on time"),
    ),
    (
        "open: $x$, trailing cut word with ...",
        lambda: honest("the value x is positive here", "the value $x$ is positive here"),
    ),
    (
        "open: a cut word before ...",
        lambda: honest("The tenant shall pay rent in full on time.", "The tenant shall pay rent in full on t..."),
    ),
    (
        "open: a list's semicolons put in",
        lambda: honest("* takes one tablet\n* drinks some water", "takes one tablet; drinks some water"),
    ),
    (
        "open: thousands 1 000 and 1000",
        lambda: honest("1 000 euros must be paid by him", "1000 euros must be paid by him"),
    ),
    (
        "open: 第15条 at the head of a quote",
        lambda: honest(LAW, "第15条 基于个人同意处理个人信息的，个人有权撤回其同意", "第十五条"),
    ),
    (
        "open: two <main>",
        lambda: honest(
            html("f.html", "<body><main><p>One.</p></main><main><p>Second tab text here.</p></main></body>"),
            "Second tab text here",
            None,
        ),
    ),
    (
        "open: an accordion's hidden panel",
        lambda: honest(
            html("g.html", "<body><h2>Q</h2><div hidden='until-found'><p>Yes, you get a refund.</p></div></body>"),
            "Yes, you get a refund",
            None,
        ),
    ),
]

if __name__ == "__main__":
    failed = 0
    for name, check in FAULTS:
        try:
            passed, got = check()
        except Exception as error:  # noqa: BLE001
            passed, got = False, f"{type(error).__name__}: {error}"
        failed += not passed
        with contextlib.suppress(BrokenPipeError):
            print(f"{'PASS' if passed else 'FAIL'}  {name:58} {str(got)[:110]}")
    print(f"{failed} of {len(FAULTS)} fail")
