"""The pipeline that every notebook walks: load, split, locate, ask, fold, table, link.

One citation is ``{"id", "claim", "quote" or None, "section"}``. Two gates, in this order:

1. **locate**: is the quote in the source? Plain string work, no model (see ``quotes.py``).
2. **ask**: one Choice question over the section that was found. Its relation folds into a verdict.

Two rules hold everywhere. Confidence and flags decide who looks, never what the verdict is. And what could
not be checked is said to be unchecked: a failed call, a malformed answer or a missing key is never a verdict.
"""

import difflib
import math
import os
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from cooksafe import make_playground_link
from tqdm.auto import tqdm
from typesafe_sdk import Choice
from wcwidth import wcswidth

import batch
import quotes
import statutes
from answers import Ask, Unchecked, answer_problem
from plain import InputError, padded, printable, read_json, read_text
from quotes import Located, normalize  # noqa: F401  normalize is part of this module's face

HERE = Path(__file__).parent

TYPESAFE_ENDPOINT = "https://api.typesafe.ai"
TYPESAFE_MODEL = "jev-1.12"  # pinned: `jev-latest` moves, and a threshold does not move with it
AUTO_ACCEPT = 0.8
SECTION_LIMIT = 20_000  # characters of a section that one question reads: under 32k tokens in Chinese as in English
QUESTIONS = {
    "relation": Choice(
        instructions="How does the section relate to the claim?",
        criteria={
            "supports": "The section states the claim or directly implies that it is true",
            "contradicts": "The section states the opposite of the claim or implies it is false",
            "says_nothing": "The section does not address what the claim asserts, either way",
        },
    )
}
# The same question in Chinese, as Xiangxin's article asks it of a compatible model on its own server.
QUESTIONS_ZH = {
    "relation": Choice(
        instructions="`section` 中的法律条文与 `claim` 是什么关系？",
        criteria={
            "supports": "条文明确规定了该结论，或直接意味着该结论成立",
            "contradicts": "条文的规定与该结论相反，或直接意味着该结论不成立",
            "says_nothing": "条文没有涉及该结论所断言的内容，既不支持也不否定",
        },
    )
}
RELATION_TO_VERDICT = {"supports": "verified", "contradicts": "contradicted", "says_nothing": "unsupported"}
DOLLARS_PER_MILLION_INPUT_TOKENS = 0.042  # TypeSafe's published price; output tokens are free


# --- 1. Load and split ----------------------------------------------------------------------------------------------


class Sections(dict):
    """Label -> text of a document's numbered sections, in the document's order, with what a search needs.

    ``outside`` holds what lies beyond the numbered sections (Abstract, A.1, ...), ``order`` all the labels in the
    document's order (default: the numbered ones, then the others), and ``chapters`` the sections that make up a
    larger division (第二章 -> [第十三条, ...]); ``unread`` names what holds no text (a PDF's
    pictures), and ``name`` is its file's, where it has one. Read-only, because the search index is built once.
    """

    def __init__(self, mapping=(), outside=(), order=None, chapters=(), unread=(), name=None):
        super().__init__(mapping)
        self.outside = dict(outside)
        self.order = list(order) if order is not None else [*self, *self.outside]
        self.chapters = {label: list(members) for label, members in dict(chapters).items()}
        self.unread = list(unread)
        self.name: str | None = name

    @cached_property
    def index(self) -> quotes.Index:
        return quotes.Index({label: self.text(label) for label in self.order}, self.chapters)

    def text(self, label: str) -> str:
        """The text under a label, numbered or not."""
        return self[label] if label in self else self.outside[label]

    def __reduce__(self):
        return Sections, (dict(self), self.outside, self.order, self.chapters, self.unread, self.name)

    def _read_only(self, *args, **kwargs):
        raise TypeError("Sections are read-only, as their search index is built once: make new ones, Sections({...})")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _read_only


PAGE_BREAK = re.compile(r"^.*\[Page \d+\]\n\f?\n?(?:RFC \d+ .*\n)?", re.MULTILINE)


def load_source(path: str | Path = HERE / "rfc7519.txt") -> str:
    """The text of a document, without the page footers and headers that interrupt an RFC's paragraphs."""
    return re.sub(r"\n{3,}", "\n\n", PAGE_BREAK.sub("", read_text(path)))


NUMBERED_HEADING = re.compile(r"^(\d+(?:\.\d+)*)\.[ \t]+(\S.*)", re.MULTILINE)
OTHER_HEADING = re.compile(r"^(?:(Appendix [A-Z]|[A-Z](?:\.\d+)+)\.[ \t]+\S.*|(?<=\n\n)(\S.*)(?=\n\n))$", re.MULTILINE)


def split_sections(source: str) -> Sections:
    """The numbered sections of an RFC; Abstract, appendices and the like are ``outside``. RFC 7519 has 45."""
    headings = list(NUMBERED_HEADING.finditer(source))
    if not headings:
        return Sections()
    numbered = [(m.start(), m[1]) for m in headings]
    first, last = numbered[0][0], numbered[-1][0]
    # Between the first and the last numbered heading a line at the margin may be anything, a table or a figure.
    other = [(m.start(), m[1] or m[2]) for m in OTHER_HEADING.finditer(source) if not first <= m.start() <= last]
    heads = [(0, "Front page"), *sorted(numbered + other)]
    ends = [start for start, _ in heads[1:]] + [len(source)]
    parts: dict[str, list[str]] = {}
    for (start, label), end in zip(heads, ends, strict=True):
        text = source[start:end].strip()
        if text:
            parts.setdefault(label, []).append(text)
    texts = {label: "\n\n".join(pieces) for label, pieces in parts.items()}
    labels = {label for _, label in numbered}
    return Sections(
        {label: text for label, text in texts.items() if label in labels},
        outside={label: text for label, text in texts.items() if label not in labels},
        order=list(texts),
        chapters=by_title({m[1]: m[2] for m in headings}),
    )


def by_title(titles: Mapping[str, str]) -> dict[str, list[str]]:
    """Title -> [label], for the titles that one label alone has: "Introduction" names section 1 as well as "1" does."""
    counts = Counter(titles.values())
    return {title: [label] for label, title in titles.items() if counts[title] == 1}


def split_articles(source: str) -> Sections:
    """The articles of a Chinese statute (see ``statutes.split``). The Personal Information Protection Law has 74."""
    return Sections(*statutes.split(source))


def load_citations(path: str | Path = HERE / "citations.json") -> list[dict]:
    """The citations of a JSON file, as they stand there; what is wrong with one of them is said when it is checked.

    Raises InputError for a file that is no JSON list, or in which an id comes twice.
    """
    citations = read_json(path)
    if not isinstance(citations, list):
        raise InputError(f"{path}: a {type(citations).__name__} where a list of citations should be: [{{...}}, ...]")
    check_ids(citations, path)
    return citations


def check_ids(citations: Sequence, path: str | Path) -> None:
    """Raises InputError where two citations of a file have the same id."""
    first: dict[str, int] = {}
    for place, name in enumerate(citation_ids(citations), 1):
        if first.setdefault(name, place) != place:
            where = f"citations {first[name]} and {place} have the same id, {printable(name)!r}"
            raise InputError(f"{path}: {where}: give each its own")


FIELDS = ("claim", "quote", "section")
# What others call a quote. Passed over, an invented one would come out verified, its section alone having been read.
_QUOTE_FIELDS = (
    "quotation quotations quotes quoted quoted_text quote_text cited_text source_quote source_text excerpt passage "
    "snippet evidence verbatim text 引文 引用 原文 摘录"
)
QUOTE_FIELDS = set(_QUOTE_FIELDS.split())
PLACEHOLDERS = {"n/a", "na", "nan", "null", "none", "nil", "无", "tbd"}


def citation_problem(citation) -> str | None:
    """What keeps a citation from being checked, in a sentence; None where nothing does."""
    if not isinstance(citation, Mapping):
        return f"the citation is of the type {type(citation).__name__}, not an object with claim, quote and section"
    if citation.get("unmapped"):  # formats.read_citations could not map it
        return f"not mapped: {printable(str(citation['unmapped']), 200)}"
    for field in citation:
        if field in FIELDS or field == "id":
            continue
        meant = difflib.get_close_matches(str(field).strip().lower(), FIELDS, n=1, cutoff=0.75)
        if str(field).strip().lower().replace(" ", "_") in QUOTE_FIELDS:
            meant = ["quote"]
        told = isinstance(citation[field], str) and citation[field].strip()
        if meant and (meant[0] not in citation or (told and citation[meant[0]] is None)):
            return f'the field "{printable(str(field), 40)}" is unknown: write "{meant[0]}"'
    for field in ("claim", "quote"):
        if field not in citation:
            return f'the field "{field}" is missing' + (": write null where nothing is quoted" * (field == "quote"))
    claim, quote, section = (citation.get(field) for field in FIELDS)
    if not isinstance(claim, str) or not claim.strip():
        return 'the field "claim" is not a text with something in it'
    if quote is not None and not isinstance(quote, str):
        return f'the field "quote" is of the type {type(quote).__name__}: write the quoted text, or null'
    if quote is not None and not any(c.isalnum() for c in quote):
        return 'the field "quote" is blank: write null where nothing is quoted'
    if quote is not None and quote.strip().casefold() in PLACEHOLDERS:
        return f'the field "quote" is {printable(quote.strip())!r}: write null where nothing is quoted'
    if section is not None and not section_labels(section):
        return 'the field "section" is not a label, nor a list of labels'
    if quote is None and section is None:
        return 'neither "quote" nor "section" is given: there is nothing to check the claim against'
    if not is_encodable("\n".join([claim, quote or "", *section_labels(section)])):
        return f"the text {HALF_A_PAIR}"
    return None


HALF_A_PAIR = "holds half a surrogate pair, which is no character: mend its encoding"


def is_encodable(text: str) -> bool:
    """Whether a text consists of characters, and not of halves of surrogate pairs, which JSON and PDF can bring."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def citation_ids(citations: Iterable) -> list[str]:
    """The ids of citations; one that has none goes by its place: #3."""
    ids = (citation.get("id") if isinstance(citation, Mapping) else None for citation in citations)
    return [f"#{place}" if name is None else str(name) for place, name in enumerate(ids, 1)]


def section_labels(section) -> list[str]:
    """The labels that a citation's section names: a text, a number (4.1) or a list of them. Empty if it is neither."""
    labels = section if isinstance(section, list | tuple) else [section]
    if all(isinstance(label, str | int | float) and not isinstance(label, bool) for label in labels):
        return [label for label in (str(label).strip() for label in labels) if label]
    return []


# --- 2. Locate ------------------------------------------------------------------------------------------------------


def as_sections(sections: Mapping) -> Mapping:
    """A plain dict of label -> text as Sections; Sections, and several documents (name -> Sections), as they are."""
    return sections if isinstance(sections, Sections) or are_documents(sections) else Sections(sections)


def are_documents(sections: Mapping) -> bool:
    """Whether these are several documents, name -> sections, as documents.load_documents gives them."""
    return bool(sections) and all(isinstance(value, Mapping) for value in sections.values())


def find_quote(sections: Mapping[str, str], quote: str) -> str | None:
    """The label of the first section that holds the quote, or None."""
    return quotes.locate(as_sections(sections).index, quote, None).section


def locate(sections: Mapping[str, str], citation: Mapping, near: float | None = None) -> Located:
    """Where a citation's quote stands, or, where it quotes nothing, the section that it names.

    ``near`` (0 to 1, off by default) is the similarity from which a quote that is not there word for word is shown
    to a person as ``near``. ``sections`` may be several documents: see ``locate_among``. Raises ValueError
    for a malformed citation, and Unchecked for one that names a document which is not among them.
    """
    problem = citation_problem(citation)
    if problem:
        raise ValueError(problem)
    if are_documents(sections):
        return locate_among(sections, citation, near)
    name = getattr(sections, "name", None)
    if name and citation.get("source") is not None:  # it may name another document than the one that is loaded
        located = locate_among({name: sections}, citation, near)
        return replace(located, section=located.section and located.section.removeprefix(f"{name}: "))
    return quotes.locate(as_sections(sections).index, citation["quote"], section_labels(citation.get("section")), near)


def locate_among(documents: Mapping[str, Mapping[str, str]], citation: Mapping, near: float | None = None) -> Located:
    """Where a citation's quote stands among several documents; the section's label is "name: label".

    The citation's field ``source`` may name its document: by name, by file name with or without its ending, or by
    its place from 0. A quote that stands in another one is ``moved``; one that several hold, none of them named, is
    ``repeated``. Raises Unchecked where the document that it names is not among them and no other holds the quote.
    """
    source = citation.get("source")
    citation = {**citation, "source": None}
    names = document_names(documents, source)
    order = list(documents) if source is None else names
    found = [(key, locate(documents[key], citation, near)) for key in order]
    held = [(key, located) for key, located in found if located.status != "missing"]
    if not held and citation.get("quote") is not None and source is not None:
        elsewhere = {**citation, "section": None}
        others = [(key, locate(documents[key], elsewhere, near)) for key in documents if key not in names]
        held = [(key, with_flags(located, "moved")) for key, located in others if located.status != "missing"]
    if not held:
        if not found:
            known = ", ".join(documents)
            raise Unchecked(f"the document {printable(str(source), 60)!r} is not among those loaded: {known}")
        # No such section in any of them says so; a section that one of them has does not.
        return min((located for _, located in found), key=lambda located: len(located.flags))
    exact = [(key, located) for key, located in held if "moved" not in located.flags] or held
    key, located = exact[0]
    if len(exact) > 1:
        located = with_flags(located, "repeated")
    return replace(located, section=f"{key}: {located.section}")


def with_flags(located: Located, *flags: str) -> Located:
    return replace(located, flags=tuple(dict.fromkeys((*located.flags, *flags))))


def document_names(documents: Mapping[str, Mapping[str, str]], source) -> list[str]:
    """The names of the documents that a citation's ``source`` may mean: more than one where it does not tell."""
    if isinstance(source, int) and not isinstance(source, bool):
        return list(documents)[source : source + 1] if source >= 0 else []
    if not isinstance(source, str):
        return []
    if source in documents:
        return [source]
    wanted = path_parts(source)
    for ending in (lambda name: path_parts(name), lambda name: path_parts(str(Path(name).with_suffix("")))):
        parts = {name: ending(name) for name in documents if Path(name).name}
        size = {name: min(len(wanted), len(own)) for name, own in parts.items()}
        matches = [name for name, own in parts.items() if wanted and own[-size[name] :] == wanted[-size[name] :]]
        if matches:
            return matches
    return []


def path_parts(path: str) -> list[str]:
    return [part for part in re.split(r"[/\\]", path.strip().casefold()) if part not in ("", ".")]


def narrow(located: Located, limit: int = SECTION_LIMIT) -> Located:
    """What the model is to read: the section, or if that is longer than ``limit`` (characters) the whole paragraphs
    round the quote that fit, flagged ``narrowed``; start and end point into what is kept.

    Raises Unchecked for a long section of which nothing is quoted, and for a quote whose paragraph alone is too long.
    """
    text = located.text
    if not text or len(text) <= limit:
        return located
    where = f"section {printable(str(located.section), 40)!r} has {len(text):,} characters, over the limit of {limit:,}"
    if located.start is None:
        raise Unchecked(f"{where}: quote the passage that matters, or cite a smaller section")
    for gap in (r"\n[^\S\n]*\n", r"\n"):  # paragraphs, or lines where there are none or they are too long
        cuts = [0, *(found.end() for found in re.finditer(gap, text)), len(text)]
        first = bisect_right(cuts, located.start) - 1
        last = bisect_left(cuts, located.end)
        if cuts[last] - cuts[first] <= limit:
            break
    else:
        raise Unchecked(f"{where}, and so has the paragraph of the quote: cite a smaller section")
    grown = True
    while grown:
        grown = False
        if last + 1 < len(cuts) and cuts[last + 1] - cuts[first] <= limit:
            last, grown = last + 1, True
        if first > 0 and cuts[last] - cuts[first - 1] <= limit:
            first, grown = first - 1, True
    kept = text[cuts[first] : cuts[last]]
    start, end = located.start - cuts[first], located.end - cuts[first]
    return with_flags(replace(located, text=kept, start=start, end=end), "narrowed")


# --- 3. Ask ---------------------------------------------------------------------------------------------------------


def make_ask(
    questions: Mapping[str, Choice | Mapping] = QUESTIONS,
    model: str | None = None,
    endpoint: str | None = None,
    api_key: str | None = None,
    cache: str | Path | None = HERE / "json_cache.json",
    key_variable: str = "TYPESAFE_API_KEY",
) -> Ask:
    """The function ``ask(claim, section) -> answer`` for one Choice question, one model, one server and one cache.

    An answer is ``{"choice", "probabilities", "confidence", "input_tokens", "output_tokens", "seconds", "model",
    "replay"}``: probabilities and confidence from 0 to 1, ``replay`` whether it came from the cache. ``ask`` raises
    Unchecked where there is no answer that may be believed.

    What is not given is read from the environment when this is called: ``TYPESAFE_MODEL``, ``TYPESAFE_ENDPOINT`` and
    the key in ``key_variable``; the published values are the defaults. With an empty key nothing leaves the machine:
    only the cache answers. Raises InputError for a cache file that cannot be read.
    """
    model = model or os.environ.get("TYPESAFE_MODEL") or TYPESAFE_MODEL
    endpoint = endpoint or os.environ.get("TYPESAFE_ENDPOINT") or TYPESAFE_ENDPOINT
    endpoint = endpoint.rstrip("/").removesuffix("/v1/systemone")  # some servers print their whole address
    key = (os.environ.get(key_variable, "") if api_key is None else api_key).strip()
    published = questions == QUESTIONS and (model, endpoint) == (TYPESAFE_MODEL, TYPESAFE_ENDPOINT)
    return Ask(questions, model, endpoint, key, cache, published, key_variable)


def xiangxin() -> dict:
    """The arguments of make_ask for the Chinese notebook, from the variables of Xiangxin's own SDK.

    ``XIANGXIN_API_KEY``, ``XIANGXIN_BASE_URL``, ``XIANGXIN_DEFAULT_MODEL``; a key of TypeSafe's is never sent there.
    """
    return {
        "questions": QUESTIONS_ZH,
        "model": os.environ.get("XIANGXIN_DEFAULT_MODEL") or "xiangxin-latest",
        "endpoint": os.environ.get("XIANGXIN_BASE_URL") or "https://api.xiangxinai.cn",
        "key_variable": "XIANGXIN_API_KEY",
        "cache": HERE / "data" / "json_cache.json",
    }


# --- 4. Fold --------------------------------------------------------------------------------------------------------


def verdict(
    status: str | None,
    answer: Mapping | None,
    flags: Sequence[str] = (),
    relation_to_verdict: Mapping[str, str] = RELATION_TO_VERDICT,
    auto_accept: float | Mapping[str, float] = AUTO_ACCEPT,
) -> dict:
    """``{"verdict", "confidence", "auto"}``: the verdict is None where there was nothing to check it by.

    A missing quote is fabricated; any other verdict is the answer's relation, folded. It stands on its own (``auto``)
    from a confidence of ``auto_accept`` on (0 to 1; a dict gives each verdict its own, and one that it does not name
    never stands), and never where a flag asks for a person.
    """
    if status == "missing" and "no-such-section" not in flags:
        return {"verdict": "fabricated", "confidence": None, "auto": not flags}
    if status in (None, "missing") or answer is None:
        return {"verdict": None, "confidence": None, "auto": False}
    label, confidence = relation_to_verdict.get(answer["choice"]), answer["confidence"]
    line = auto_accept.get(label, math.inf) if isinstance(auto_accept, Mapping) else auto_accept
    return {
        "verdict": label,
        "confidence": confidence,
        "auto": label is not None and line <= confidence <= 1 and not flags,
    }


def check_citation(
    sections: Mapping[str, str],
    citation: Mapping,
    ask: Callable[[str, str], dict],
    rules: Callable[[str, str], Iterable[str]] | None = None,
    near: float | None = None,
    relation_to_verdict: Mapping[str, str] = RELATION_TO_VERDICT,
    auto_accept: float | Mapping[str, float] = AUTO_ACCEPT,
    limit: int = SECTION_LIMIT,
) -> dict:
    """One citation through both gates: its row.

    The row holds the citation (``id``, ``claim``, ``quote``, and ``cited``, the section that it names), what locating
    found (``status``, ``match``, ``section``, ``start``, ``end``), the ``flags``, the ``answer``, the ``verdict`` with
    ``confidence`` and ``auto``, and in ``error`` why it could not be checked. ``rules(claim, text)`` may add flags;
    ``near`` is that of ``locate``; a section of more than ``limit`` characters is narrowed to the paragraphs round the
    quote (flag ``narrowed``), or unchecked where nothing is quoted; the others are those of ``verdict``.
    """
    row, text = first_gate(as_sections(sections), citation, rules, near, limit)
    answer = None
    if text is not None:
        try:
            answer = ask(citation["claim"], text)
        except Unchecked as reason:
            answer = reason
        except Exception as fault:  # an ask of the reader's own: its fault is this row's, not the others'
            answer = Unchecked(f"ask failed: {type(fault).__name__}: {fault}")
    return second_gate(row, answer, relation_to_verdict, auto_accept)


def first_gate(
    sections: Sections,
    citation: Mapping,
    rules: Callable[[str, str], Iterable[str]] | None,
    near: float | None,
    limit: int,
) -> tuple[dict, str | None]:
    """The row of a citation as far as it needs no model, and the text to ask about, if there is any."""
    known = citation if isinstance(citation, Mapping) else {}
    row = {
        "id": citation_ids([citation])[0],
        "claim": known.get("claim"), "quote": known.get("quote"), "cited": known.get("section"),
        "section": None, "status": None, "match": None, "start": None, "end": None, "flags": [],
        "answer": None, "verdict": None, "confidence": None, "auto": False, "error": citation_problem(citation),
    }  # fmt: skip
    if row["error"]:
        return row, None
    try:
        located = locate(sections, citation, near)
    except Unchecked as reason:
        return {**row, "error": printable(str(reason), 400)}, None
    pages = unread(sections)
    if located.status == "missing" and citation["quote"] is not None and pages:
        where = ", ".join(pages[:5]) + ("" if len(pages) < 6 else ", ...")
        return {**row, "error": f"the quote may stand where the document holds no text (a scan?): {where}"}, None
    row |= {name: getattr(located, name) for name in ("section", "status", "match", "start", "end")}
    if located.text and len(located.text) > limit:
        try:
            located = narrow(located, limit)
        except Unchecked as reason:
            return {**row, "flags": list(located.flags), "error": str(reason)}, None
    row["flags"] = list(located.flags)
    if located.text and rules:
        row["flags"] = list(dict.fromkeys([*row["flags"], *rules(citation["claim"], located.text)]))
    if located.text and not is_encodable(located.text):
        return {**row, "error": f"the text of its section {HALF_A_PAIR}"}, None
    if located.status == "section-only" and not located.text.strip():
        return {**row, "error": f"section {printable(str(row['section']), 40)!r} is empty"}, None
    if "no-such-section" in row["flags"] and not located.text:
        row["error"] = f"the source has no section {printable(str(row['cited']), 40)!r}: {what_there_is(sections)}"
    return row, located.text or None


def what_there_is(sections: Mapping) -> str:
    """What a citation may name instead, in a few words."""
    labels = list(sections)
    return f"it has {printable(', '.join(labels[:8]), 100)}" + (f" and {len(labels) - 8} more" if labels[8:] else "")


def unread(sections: Mapping) -> list[str]:
    """The parts of a document, or of several, that hold no text that could be searched."""
    if are_documents(sections):
        return [f"{name}: {part}" for name, one in sections.items() for part in unread(one)]
    return list(getattr(sections, "unread", ()))


def locate_citations(sections: Mapping[str, str], citations: Sequence[Mapping]) -> list[dict]:
    """The first gate alone, no model: ``{"id", "cited", "status", "match", "section", "start", "end", "flags",
    "characters", "error"}`` for each citation, ``characters`` being the length of the text that a model would read."""
    sections = as_sections(sections)
    rows = []
    for name, citation in zip(citation_ids(citations), citations, strict=True):
        row, text = first_gate(sections, citation, None, None, SECTION_LIMIT)
        kept = {key: row[key] for key in ("cited", "status", "match", "section", "start", "end", "flags")}
        rows.append({"id": name, **kept, "characters": text and len(text), "error": row["error"]})
    return rows


def second_gate(
    row: Mapping,
    answer: Mapping | Unchecked | None,
    relation_to_verdict: Mapping[str, str],
    auto_accept: float | Mapping[str, float],
) -> dict:
    """The row with the answer to its question folded in, or with the reason why there is none."""
    asked = row["error"] is None and row["status"] != "missing"
    if asked and not isinstance(answer, Unchecked):  # an ask of the reader's own may give anything
        problem = answer_problem(answer, option_names(answer))
        answer = Unchecked(f"ask gave an answer that cannot be believed: {problem}") if problem else answer
    if isinstance(answer, Unchecked):
        return {**row, "error": printable(str(answer), 400)}
    flags, error = row["flags"], row["error"]
    if answer and defines_confidence_otherwise(answer):
        flags = [*flags, "confidence-definition"]
    folded = verdict(row["status"], answer, flags, relation_to_verdict, auto_accept)
    if answer and folded["verdict"] is None:
        error = f"no verdict for the relation {printable(answer['choice'], 40)!r}: name one in relation_to_verdict"
    return {**row, "flags": flags, "answer": answer, **folded, "error": error}


def option_names(answer) -> list:
    """The options that an answer itself names: in its probabilities, else its choice."""
    if not isinstance(answer, Mapping):
        return []
    choice, probabilities = answer.get("choice"), answer.get("probabilities")
    if isinstance(probabilities, Mapping):
        return list(probabilities)
    return [choice] if isinstance(choice, str) else []


def defines_confidence_otherwise(answer: Mapping) -> bool:
    """Whether a confidence differs by over 0.02 from TypeSafe's (p_max - 1/K) / (1 - 1/K) for K options.

    The published figures are rounded to two places, so that they may differ by 0.01 from what one recomputes.
    """
    probabilities = answer.get("probabilities")
    if not probabilities or len(probabilities) < 2:
        return False
    chance = 1 / len(probabilities)
    return abs((max(probabilities.values()) - chance) / (1 - chance) - answer["confidence"]) > 0.02


def check_citations(
    sections: Mapping[str, str],
    citations: Sequence[Mapping],
    ask: Callable[[str, str], dict],
    workers: int = 8,
    rules: Callable[[str, str], Iterable[str]] | None = None,
    near: float | None = None,
    relation_to_verdict: Mapping[str, str] = RELATION_TO_VERDICT,
    auto_accept: float | Mapping[str, float] = AUTO_ACCEPT,
    limit: int = SECTION_LIMIT,
    progress: bool = False,
    **limits,
) -> list[dict]:
    """The rows of many citations, in their order: all through the first gate, then each distinct question asked once.

    ``workers`` requests are under way at a time. ``progress`` shows a bar. ``limits`` are those of ``batch.ask_all``:
    ``requests_per_minute``, ``tokens_per_minute``, ``max_requests``, ``claims_per_request``, ``executor``. The other
    arguments are those of ``check_citation``. A citation without an id goes by its place: #3.
    """
    sections = as_sections(sections)
    rows: list[dict] = []
    asking: dict[tuple[str, str], list[int]] = {}  # (claim, text) -> the places of the rows that it answers
    for name, citation in zip(citation_ids(citations), citations, strict=True):
        row, text = first_gate(sections, citation, rules, near, limit)
        if text is None:
            row = second_gate(row, None, relation_to_verdict, auto_accept)
        else:
            asking.setdefault((citation["claim"], text), []).append(len(rows))
        rows.append({**row, "id": name})
    settled = Counter(row["verdict"] or "unchecked" for row in rows if row["status"] in (None, "missing"))
    with tqdm(total=len(rows), initial=settled.total(), disable=not progress, unit="citation") as bar:
        for question, answer in batch.ask_all(ask, asking, workers=workers, **limits):
            for place in asking[question]:
                rows[place] = second_gate(rows[place], answer, relation_to_verdict, auto_accept)
                settled[rows[place]["verdict"] or "unchecked"] += 1
            bar.update(len(asking[question]))
            bar.set_postfix(settled, refresh=False)
    return rows


def plan(
    sections: Mapping[str, str],
    citations: Sequence[Mapping],
    ask: Ask,
    claims_per_request: int = 1,
    near: float | None = None,
    limit: int = SECTION_LIMIT,
) -> dict[str, float]:
    """What check_citations would send, before any of it is: nothing is asked here.

    ``{"citations", "unreadable", "fabricated", "questions", "answered", "requests", "input_tokens", "dollars"}``:
    distinct questions, those among them that the cache answers, and for the others the requests, with estimated tokens
    and their price.
    """
    sections = as_sections(sections)
    gated = [first_gate(sections, citation, None, near, limit) for citation in citations]
    questions = dict.fromkeys((row["claim"], text) for row, text in gated if text is not None)
    to_ask = [question for question in questions if not ask.knows(*question, together=claims_per_request > 1)]
    requests = batch.requests_for(to_ask, claims_per_request)
    tokens = sum(request.tokens for request in requests)
    return {
        "citations": len(citations),
        "unreadable": sum(row["error"] is not None for row, _ in gated),
        "fabricated": sum(row["status"] == "missing" and not row["error"] for row, _ in gated),
        "questions": len(questions),
        "answered": len(questions) - len(to_ask),
        "requests": len(requests),
        "input_tokens": round(tokens),
        "dollars": tokens * DOLLARS_PER_MILLION_INPUT_TOKENS / 1e6,
    }


# --- 5. Print -------------------------------------------------------------------------------------------------------


ID_COLUMNS = 40


def id_width(ids: Iterable[str]) -> int:
    """The width of the first column: that of the longest id and two spaces, 18 at the least."""
    return max([18, *(wcswidth(printable(name, ID_COLUMNS)) + 2 for name in ids)])


def print_located(results: Sequence[Mapping]) -> None:
    """What the first gate found, a line a citation, of the rows of ``locate_citations``."""
    width = id_width(row["id"] for row in results)
    for row in results:
        if row["error"]:
            found = f"unchecked: {row['error']}"
        elif row["characters"] is None:
            found = "not in the source"
        else:
            found = f"section of {row['characters']:,} chars"
            if row["section"] != row["cited"]:
                found += f" in {printable(str(row['section']), ID_COLUMNS)}"
        flags = f"  ({printable(', '.join(row['flags']), 120)})" if row["flags"] else ""
        print(f"{padded(printable(row['id'], ID_COLUMNS), width)}{row['status'] or '-':<14}{found}{flags}")


def print_table(results: Sequence[Mapping], expected: Mapping[str, str] | Sequence[str] | None = None) -> None:
    """The results, a line a citation, in the published columns; under them why rows are unchecked, if any are.

    With ``expected`` (id -> verdict, or one verdict a row) the right answer stands beside each verdict. A column of
    flags is there only where a row has one.
    """
    if expected is not None and not isinstance(expected, Mapping):
        expected = dict(zip((row["id"] for row in results), expected, strict=True))
    width = id_width(row["id"] for row in results)
    flagged = any(row["flags"] for row in results)

    def line(name, status, relation, confidence, label, action, right, flags) -> str:
        cells = f"{padded(name, width)}{status:<14}{padded(relation, 16)}{confidence:>4}  "
        if expected is None:
            cells += f"{padded(label, 14)}{action:>6}"
        else:
            cells += f"{padded(label, 13)}{action:<7}{padded(right, 12)}"
        return (f"{cells}  {flags}" if flagged else cells).rstrip()

    print(line("citation", "quote", "relation", "conf", "verdict", "action", "expected", "flags"))
    for row in results:
        answer = row["answer"]
        print(
            line(
                printable(row["id"], ID_COLUMNS),
                row["status"] or "-",
                printable(answer["choice"], 15) if answer else "-",
                "-" if row["confidence"] is None else f"{row['confidence']:.2f}",
                printable(row["verdict"] or "unchecked", 12),
                "auto" if row["auto"] else "review",
                "" if expected is None else printable(str(expected.get(row["id"], "-")), 12),
                printable(", ".join(row["flags"]), 120),
            )
        )
    reasons: dict[str, list[str]] = {}
    for row in results:
        if row["error"]:
            reasons.setdefault(row["error"], []).append(printable(row["id"], ID_COLUMNS))
    for reason, ids in reasons.items():
        named = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        print(f"\nunchecked: {named}: {reason}")


def answers_note(results: Sequence[Mapping]) -> str:
    """Where the answers come from, in a line: how many are replays, how many were asked now, of which model."""
    answers = [row["answer"] for row in results if row["answer"]]
    replayed = sum(bool(answer.get("replay")) for answer in answers)
    models = ", ".join(sorted({printable(str(answer.get("model")), 40) for answer in answers})) or "none"
    note = f"{replayed} answers replayed from the cache, {len(answers) - replayed} asked live; model: {models}"
    if replayed == len(answers):
        return note
    paid = usage([row for row in results if row["answer"] and not row["answer"].get("replay")])
    return f"{note}\n{paid['input_tokens']:,} input tokens, ${paid['dollars']:.6f} at TypeSafe's price"


def usage(results: Sequence[Mapping]) -> dict:
    """What the answers took: requests, input and output tokens, dollars at TypeSafe's price, and a list of seconds."""
    answers = [row["answer"] for row in results if row["answer"]]
    tokens = sum(answer.get("input_tokens") or 0 for answer in answers)
    return {
        "requests": len(answers),
        "input_tokens": tokens,
        "output_tokens": sum(answer.get("output_tokens") or 0 for answer in answers),
        "dollars": tokens * DOLLARS_PER_MILLION_INPUT_TOKENS / 1e6,
        "seconds": [answer["seconds"] for answer in answers if answer.get("seconds") is not None],
    }


# --- 6. Link --------------------------------------------------------------------------------------------------------


def playground_link(
    claim: str, section: str, questions: Mapping[str, Choice | Mapping] = QUESTIONS, model: str = TYPESAFE_MODEL
) -> str:
    """The address that opens this question in TypeSafe's playground.

    It contains the claim and the whole section, for anybody who has it to read: make none for a confidential document.
    Nothing is sent until it is opened.
    """
    return make_playground_link({"claim": claim, "section": section}, questions, models=[model])
