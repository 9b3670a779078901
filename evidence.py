"""Every line of an answer bound to the passage that carries it.

The answer is written one claim per line, each ending in the IDs of its evidence: ``七天内提交 [E1]``. Three layers
check it, each at a higher price than the one before:

1. **format and existence**: does the line name evidence, and is there such evidence?
2. **lexical alignment**: does the evidence use the claim's words? What is far below is bound to the wrong passage.
3. **meaning**: does it say so? The same question as elsewhere, through ``helpers.make_ask``. Words cannot tell: a claim
   that shares every word with its evidence may say the opposite.

Beside them stand the flags of ``rules.py``, the source's version and a person's decision. A line has six states, each
with its own reason, and no score that adds them up. What the generator says of its own checking is not read.

    >>> e1 = Evidence("E1", "退款申请应在订单完成后七天内提交。", "policy-v3")
    >>> validate_answer("退款申请应在订单完成后七天内提交 [E1]\\n无需提交材料", [e1])
    ([(1, ['E1'], 1.0)], ['L2: missing_citation'])
"""

import json
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import rules
from helpers import AUTO_ACCEPT, check_citations

VALIDATOR_VERSION = "1"  # goes into every stored line: raise it when the same line may be judged otherwise
THRESHOLD = 0.2
RELATIONS = {"supports": "supported", "contradicts": "contradicted", "says_nothing": "insufficient"}
RECHECK = "to be re-checked"
STATES = (
    "citation_format",
    "evidence_exists",
    "lexical_alignment",
    "semantic_relation",
    "source_version",
    "human_review",
)
HIDDEN_RUN = 6  # characters of protected text in a row that nobody without the right may see

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:#/-]{0,63}")
# Brackets and commas as models write them; one for one, so that places in the line stay the same.
AS_MARK = str.maketrans("【】［］，、", "[][],,")


@dataclass(frozen=True)
class Evidence:
    """A passage that a line may cite.

    ``source`` names a version of a document (``policy-v3``), ``document`` the document (default: the source without its
    ``-v3``), ``position`` the passage's place in it, ``updated_at`` a date as text, ``readers`` the people and groups
    who may read it (None: everybody). Raises ValueError for an ID that no mark can hold.
    """

    evidence_id: str
    text: str
    source: str
    document: str | None = None
    position: int | str | None = None
    updated_at: str | None = None
    readers: frozenset[str] | None = None

    def __post_init__(self):
        if not (isinstance(self.evidence_id, str) and ID.fullmatch(self.evidence_id)):
            raise ValueError(
                f"evidence_id {self.evidence_id!r} cannot be cited: use up to 64 letters, digits and _ . : # / -"
            )
        if not (isinstance(self.text, str) and isinstance(self.source, str) and self.source):
            raise ValueError(f"evidence {self.evidence_id}: text and source must be texts, and the source not empty")
        if isinstance(self.readers, str):
            raise ValueError(f"evidence {self.evidence_id}: readers is a text: give a list of names")
        if self.document is None:
            object.__setattr__(self, "document", re.sub(r"-v\d[\w.]*$", "", self.source))
        if self.readers is not None:
            object.__setattr__(self, "readers", frozenset(self.readers))


@dataclass(frozen=True)
class State:
    """One of a line's six states: what was found, and why."""

    value: str
    reason: str = ""


@dataclass(frozen=True)
class Line:
    """A checked line of an answer.

    ``number`` is its place in the answer's text, from 1; ``problem`` what the first two layers found, as
    ``validate_answer`` prints it; ``alignment`` the share of its terms that the evidence has, 0 to 1; ``flags`` each
    flag with the claim's words that raise it; ``answer`` the model's. ``states`` holds a State for each of STATES.
    """

    number: int
    claim: str
    evidence_ids: tuple[str, ...]
    problem: str | None
    alignment: float | None
    flags: Mapping[str, Sequence[str]]
    answer: Mapping | None
    states: Mapping[str, State]

    @property
    def passed(self) -> bool:
        """Whether it may be shown: nothing asked for a person, or a person let it pass."""
        return self.states["human_review"].value in ("not needed", "approved")


@dataclass(frozen=True)
class Record:
    """One citation of a line, as it is stored with the answer. ``source_id`` is the document."""

    answer_id: str
    line: int
    claim_text: str
    evidence_id: str
    source_id: str
    source_version: str
    generated_at: str
    validator_version: str
    review_status: str


# --- JSON Lines -----------------------------------------------------------------------------------------------------


def to_jsonl(items: Iterable[Evidence | Record]) -> str:
    """Evidence or stored lines as JSON Lines, one a line."""
    return "".join(json.dumps(asdict(item), ensure_ascii=False, default=sorted) + "\n" for item in items)


def from_jsonl(text: str, kind: type = Evidence) -> list:
    """What ``to_jsonl`` wrote. Raises ValueError that names the line at fault."""
    items = []
    # Not splitlines: JSON leaves the Unicode line separators inside a string as they are.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            items.append(kind(**json.loads(line)))
        except (TypeError, ValueError, RecursionError) as error:
            known = ", ".join(field.name for field in fields(kind))
            raise ValueError(f"line {number} is no {kind.__name__} ({error}): give an object of {known}") from None
    return items


# --- Layers 1 and 2 -------------------------------------------------------------------------------------------------


def by_id(evidence: Mapping[str, Evidence] | Iterable[Evidence]) -> Mapping[str, Evidence]:
    """Evidence by its ID. Raises ValueError where an ID comes twice: only one version of a passage can be in force."""
    if isinstance(evidence, Mapping):
        return evidence
    known: dict[str, Evidence] = {}
    for item in evidence:
        if item.evidence_id in known:
            raise ValueError(f"evidence {item.evidence_id} comes twice: give only the version that is in force")
        known[item.evidence_id] = item
    return known


def read_mark(line: str, known: Container[str] = ()) -> tuple[str, list[str], str | None]:
    """(claim, evidence IDs, problem) of a line: the problem is None, "missing_citation" or "malformed_citation".

    Full-width brackets and commas, spaces in the brackets, a full stop after them and several marks in a row
    (``[E1][E2]``) are read as ``[E1,E2]``. A mark inside the line (known evidence, or an ID with a digit in it, so not
    ``[sic]``) is malformed: one line, one claim.
    """
    marked = line.translate(AS_MARK)
    end = len(marked.rstrip().rstrip("。.．｡!！?？;；").rstrip())
    marks: list[list[str]] = []
    while end and marked[end - 1] == "]":
        start = marked.rfind("[", 0, end)
        marks.append(names_in(marked[start + 1 : end - 1]))
        if start < 0 or not all(ID.fullmatch(name) for name in marks[-1]):
            return line[: max(start, 0)].strip(), [], "malformed_citation"
        end = start
        while end and marked[end - 1].isspace():
            end -= 1
    claim = line[:end].strip() if marks else line.strip()
    unclosed = marked.rfind("[", 0, end) > marked.rfind("]", 0, end)
    inner = (name for inside in re.findall(r"\[([^\[\]]*)\]", marked[:end]) for name in names_in(inside))
    if unclosed or any(name in known or (ID.fullmatch(name) and re.search(r"\d", name)) for name in inner):
        return claim, [], "malformed_citation"
    ids = list(dict.fromkeys(name for names in reversed(marks) for name in names))
    return claim, ids, None if ids else "missing_citation"


def names_in(inside: str) -> list[str]:
    """The names between the brackets of a mark, full-width letters and digits as ASCII."""
    return [name.strip() for name in unicodedata.normalize("NFKC", inside).split(",")]


def alignment(claim: str, text: str) -> float:
    """The share of the claim's terms that the text has, 0 to 1, rounded to two places (see ``rules.terms``)."""
    wanted = rules.terms(claim)
    return round(len(wanted & rules.terms(text)) / len(wanted), 2) if wanted else 0.0


def cited_text(ids: Iterable[str], evidence: Mapping[str, Evidence]) -> str:
    """The text that carries a line: that of its evidence, joined."""
    return "\n".join(evidence[name].text for name in ids)


def read_line(number: int, text: str, evidence: Mapping[str, Evidence], threshold: float = THRESHOLD) -> Line:
    """A line after the first two layers; the states of what comes later say that it was not checked."""
    claim, ids, problem = read_mark(text, evidence)
    states = {name: State("not checked", "an earlier layer failed") for name in STATES}
    share = None
    if problem is None and not rules.terms(claim):
        problem = "empty_claim"
    if problem:
        states["citation_format"] = State(problem.removesuffix("_citation").removesuffix("_claim"), MENDS[problem])
    else:
        states["citation_format"] = State("ok", f"ends in {len(ids)} evidence ID{'s' * (len(ids) > 1)}")
        unknown = [name for name in ids if name not in evidence]
        if unknown:
            problem = f"unknown_evidence={unknown}"
            states["evidence_exists"] = State("unknown", f"no evidence {', '.join(unknown)}")
        else:
            states["evidence_exists"] = State("ok", ", ".join(f"{name} of {evidence[name].source}" for name in ids))
            share = alignment(claim, cited_text(ids, evidence))
            reason = f"{share:.2f} of the claim's terms are in the evidence, at least {threshold} must be"
            states["lexical_alignment"] = State("ok" if share >= threshold else "weak", reason)
            if share < threshold:
                problem = f"weak_alignment={share:.2f}"
    return Line(number, claim, tuple(ids), problem, share, {}, None, states)


def validate_answer(
    answer: str, evidence: Mapping[str, Evidence] | Iterable[Evidence], threshold: float = THRESHOLD
) -> tuple[list[tuple[int, list[str], float]], list[str]]:
    """The first two layers: ([(line, evidence IDs, alignment), ...], ["L2: weak_alignment=0.18", ...]).

    A line's number is its place in the text, from 1; blank lines are passed over. Checked are the lines whose evidence
    exists, the weak ones too.
    """
    evidence = by_id(evidence)
    lines = [read_line(number, text, evidence, threshold) for number, text in numbered(answer)]
    checked = [(line.number, list(line.evidence_ids), line.alignment) for line in lines if line.alignment is not None]
    return checked, [f"L{line.number}: {line.problem}" for line in lines if line.problem]


def numbered(answer: str) -> list[tuple[int, str]]:
    """(number, text) of the lines that are not blank."""
    return [(number, line) for number, line in enumerate(answer.splitlines(), 1) if line.strip()]


# --- Layer 3, and the states ----------------------------------------------------------------------------------------


def check_answer(
    answer: str,
    evidence: Mapping[str, Evidence] | Iterable[Evidence],
    ask: Callable[[str, str], dict] | None = None,
    current: Mapping[str, str] | None = None,
    threshold: float = THRESHOLD,
    auto_accept: float = AUTO_ACCEPT,
) -> list[Line]:
    """An answer's lines through all layers.

    ``ask`` comes from ``helpers.make_ask``; it is asked once for each line that passed the first two layers, over the
    texts of all its evidence. Without one, or where it has no answer to be believed, the meaning is "not checked".
    Rules and version are checked wherever the evidence exists. ``current`` names the version in force of each document
    (``{"policy": "policy-v3"}``). A line needs a person unless every layer passed, no rule raised a flag, its source is
    not outdated and the confidence reaches ``auto_accept``.
    """
    evidence = by_id(evidence)
    lines = [read_line(number, text, evidence, threshold) for number, text in numbered(answer)]
    rows = ask_all([line for line in lines if line.problem is None], evidence, ask, auto_accept) if ask else {}
    return [judge(line, evidence, rows.get(line.number), current) for line in lines]


def ask_all(
    lines: Sequence[Line], evidence: Mapping[str, Evidence], ask: Callable, auto_accept: float
) -> dict[int, dict]:
    """Line number -> row of ``helpers.check_citations``, for lines that passed the first two layers."""
    texts = {f"line {line.number}": cited_text(line.evidence_ids, evidence) for line in lines}
    citations = [{"claim": line.claim, "quote": None, "section": f"line {line.number}"} for line in lines]
    rows = check_citations(texts, citations, ask, relation_to_verdict=RELATIONS, auto_accept=auto_accept)
    return {line.number: row for line, row in zip(lines, rows, strict=True)}


def judge(line: Line, evidence: Mapping[str, Evidence], row: Mapping | None, current: Mapping[str, str] | None) -> Line:
    """The line with its other states. ``row`` is None where no model was asked about it."""
    reasons = [line.problem] if line.problem else []
    if line.states["evidence_exists"].value != "ok":
        return needing_a_person(line, reasons)
    found = rules.findings(line.claim, cited_text(line.evidence_ids, evidence))
    flags = found | dict.fromkeys(row["flags"] if row else (), ())
    reasons += [raised(flag, words) for flag, words in flags.items()]
    states = {**line.states, "source_version": version_state([evidence[name] for name in line.evidence_ids], current)}
    if states["source_version"].value == "outdated":
        reasons.append(f"outdated: {states['source_version'].reason}")
    if line.problem is None:
        meaning = states["semantic_relation"] = meaning_state(row)
        if meaning.value != "supported" or not row["auto"]:
            reasons.append(f"meaning {meaning.value}: {meaning.reason}")
    line = replace(line, flags=flags, answer=row["answer"] if row else None, states=states)
    if reasons:
        return needing_a_person(line, reasons)
    return with_state(line, "human_review", State("not needed", "supported, and no flag"))


def raised(flag: str, words: Sequence[str]) -> str:
    """A flag and the words that raise it, as a person or a generator reads them: numbers (两小时)."""
    return f"{flag} ({', '.join(words)})" if words else flag


def meaning_state(row: Mapping | None) -> State:
    """What the model said of a line, or why there is no word of it."""
    if row is None:
        return State("not checked", "no model was asked")
    if row["verdict"] is None:
        return State("not checked", row["error"] or "no answer")
    return State(row["verdict"], f"{row['answer'].get('model')}, confidence {row['confidence']:.2f}")


def version_state(cited: Sequence[Evidence], current: Mapping[str, str] | None) -> State:
    """Whether the cited versions are those in force."""
    if current is None:
        return State("not checked", "nobody said which versions are in force")
    for item in cited:
        if item.document not in current:
            return State("not checked", f"nobody said which version of {item.document} is in force")
    old = [f"{item.source}, now {current[item.document]}" for item in cited if current[item.document] != item.source]
    return State("outdated", "; ".join(old)) if old else State("current", ", ".join(item.source for item in cited))


def with_state(line: Line, name: str, state: State) -> Line:
    """The line with one state set."""
    return replace(line, states={**line.states, name: state})


def needing_a_person(line: Line, reasons: Sequence[str]) -> Line:
    """The line, to be looked at by a person for these reasons."""
    return with_state(line, "human_review", State("needed", "; ".join(reasons)))


def reviewed(line: Line, approve: bool, by: str) -> Line:
    """The line as a person decided. Raises ValueError where there is no evidence that anybody could have read."""
    if approve and line.states["evidence_exists"].value != "ok":
        raise ValueError(f"L{line.number} cannot be approved: {line.problem}: bind it to evidence first")
    return with_state(line, "human_review", State("approved" if approve else "rejected", f"by {by}"))


# --- Feedback to the generator --------------------------------------------------------------------------------------

MENDS = {
    "missing_citation": "end the line in the ID of its evidence, as in [E1], or drop the line",
    "malformed_citation": "write one mark, at the end of the line, as in [E1] or [E1,E2]",
    "empty_claim": "state something before the mark, or drop the line",
    "unknown_evidence": "cite evidence that exists, or drop the line",
    "weak_alignment": "keep to what the evidence says, or cite the passage that says this",
    "contradicted": "the evidence says the opposite: say what it says, or drop the line",
    "insufficient": "the evidence does not say this: find evidence for it, or drop the line",
    "outdated": "cite the version in force",
    "numbers": "take the figures from the evidence, or find evidence for these",
    "absolute": "drop the promise, or find evidence for it",
    "negation": "say yes where the evidence says yes, and no where it says no",
}


@dataclass(frozen=True)
class Feedback:
    """What the generator is told of a line: its number, what is wrong, and what would mend it."""

    number: int
    reason: str
    mend: str

    def __str__(self):
        return f"L{self.number}: {self.reason}: {self.mend}"


def feedback(lines: Iterable[Line]) -> list[Feedback]:
    """What the generator can mend, one note a fault. What was not checked, or is not sure, only a person can settle."""
    notes = []
    for line in lines:
        if line.states["human_review"].value != "needed":
            continue
        reasons = [line.problem or "", *(line.states[name].value for name in ("semantic_relation", "source_version"))]
        faults = {reason.partition("=")[0]: reason for reason in reasons}
        faults |= {flag: raised(flag, words) for flag, words in line.flags.items()}
        notes += [Feedback(line.number, what, MENDS[fault]) for fault, what in faults.items() if fault in MENDS]
    return notes


def revise(
    answer: str,
    evidence: Mapping[str, Evidence] | Iterable[Evidence],
    generate: Callable[[str, list[Feedback]], str],
    rounds: int = 2,
    **options: Any,
) -> tuple[str, list[Line]]:
    """(answer, lines) after at most so many rounds of ``generate(answer, feedback) -> answer``.

    ``options`` are those of ``check_answer``. What fails after the last round goes to a person: to rewrite until it
    happens to pass is not to pass.
    """
    evidence = by_id(evidence)
    lines = check_answer(answer, evidence, **options)
    for _ in range(rounds):
        notes = feedback(lines)
        if not notes:
            break
        answer = generate(answer, notes)
        lines = check_answer(answer, evidence, **options)
    failing = {note.number for note in feedback(lines)}
    late = f"still failing after {rounds} rounds"
    return answer, [
        needing_a_person(line, [late, line.states["human_review"].reason]) if line.number in failing else line
        for line in lines
    ]


# --- Versions -------------------------------------------------------------------------------------------------------


def records(
    answer_id: str, lines: Iterable[Line], evidence: Mapping[str, Evidence] | Iterable[Evidence], generated_at: str
) -> list[Record]:
    """What to store of an answer: a record for each evidence that a line cites. ``generated_at`` is a date as text."""
    evidence = by_id(evidence)
    return [
        Record(
            answer_id=answer_id,
            line=line.number,
            claim_text=line.claim,
            evidence_id=name,
            source_id=evidence[name].document,
            source_version=evidence[name].source,
            generated_at=generated_at,
            validator_version=VALIDATOR_VERSION,
            review_status=line.states["human_review"].value,
        )
        for line in lines
        if line.states["evidence_exists"].value == "ok"
        for name in line.evidence_ids
    ]


def changed_evidence(document: str, old: Iterable[Evidence], new: Iterable[Evidence]) -> dict[str, str]:
    """Evidence ID -> "changed" or "removed", for what a new version of a document no longer says in the same words.

    A passage that stays under its ID, or whose ID is gone while its text stands elsewhere, is unchanged wherever it
    moved; an ID that now names another text is changed, even where the old text stands under another.
    """
    texts = {item.evidence_id: item.text for item in new if item.document == document}
    standing = set(texts.values())
    changes = {}
    for item in old:
        if item.document != document or texts.get(item.evidence_id) == item.text:
            continue
        if item.evidence_id in texts:
            changes[item.evidence_id] = "changed"
        elif item.text not in standing:
            changes[item.evidence_id] = "removed"
    return changes


def to_recheck(
    stored: Iterable[Record], document: str, old: Iterable[Evidence], new: Iterable[Evidence]
) -> list[Record]:
    """The stored records that cite evidence which a new version changed, marked to be re-checked. The others stand.

    Records made from the new version are not among them; those of a version before the old one are.
    """
    new = list(new)
    changes = changed_evidence(document, old, new)
    versions = {item.source for item in new if item.document == document}
    return [
        replace(record, review_status=RECHECK)
        for record in stored
        if record.source_id == document and record.evidence_id in changes and record.source_version not in versions
    ]


# --- Readers --------------------------------------------------------------------------------------------------------


def may_read(item: Evidence, reader: str | Iterable[str]) -> bool:
    """Whether a reader, given by name or as the names of the person and their groups, may read the evidence."""
    names = {reader} if isinstance(reader, str) else set(reader)
    return item.readers is None or not item.readers.isdisjoint(names)


def runs(text: str) -> set[str]:
    """Every six characters in a row of a text as it would be shown, with and without its white space."""
    shown = one_line(text)
    squeezed = shown.replace(" ", "")
    return {t[i : i + HIDDEN_RUN] for t in (shown, squeezed) for i in range(len(t) - HIDDEN_RUN + 1)}


def shown_lines(
    lines: Iterable[Line], evidence: Mapping[str, Evidence], reader: str | Iterable[str]
) -> list[Line | None]:
    """The lines that passed; None for one that is withheld from this reader.

    Withheld is a line that cites evidence which the reader may not see, and one that repeats six characters in a row of
    such evidence, whatever it cites, unless what the reader may see has them as well.
    """
    names = {reader} if isinstance(reader, str) else set(reader)
    open_runs: set[str] = set()
    hidden_runs: set[str] = set()
    for item in evidence.values():
        (open_runs if may_read(item, names) else hidden_runs).update(runs(item.text))
    hidden_runs -= open_runs
    return [
        line
        if all(may_read(evidence[name], names) for name in line.evidence_ids)
        and hidden_runs.isdisjoint(runs(line.claim))
        else None
        for line in lines
        if line.passed
    ]


def log_entry(answer_id: str, line: Line, evidence: Mapping[str, Evidence] | Iterable[Evidence]) -> dict:
    """What a log may hold of a check: IDs, versions, states; of the claim its length, of the evidence's text nothing.

    An ID that is not of ours is counted, not repeated: an answer may hide anything in it.
    """
    evidence = by_id(evidence)
    known = [name for name in line.evidence_ids if name in evidence]
    return {
        "answer_id": answer_id,
        "line": line.number,
        "evidence": [{"evidence_id": name, "source": evidence[name].source} for name in known],
        "unknown_evidence": len(line.evidence_ids) - len(known),
        "states": {name: state.value for name, state in line.states.items()},
        "flags": list(line.flags),
        "summary": f"{len(line.claim)} characters",
        "validator_version": VALIDATOR_VERSION,
    }


# --- Rendering ------------------------------------------------------------------------------------------------------

WITHHELD = "\\[…\\]"
# What Markdown, HTML or Jupyter's mathematics would act on. A backslash before "(" would open a formula: an entity.
MARKUP = re.compile(r"[\\$&<>`*_{}\[\]#+!|~=@:]|(?<!\w)-|-(?!\w)|(?<!\d)\.|\.(?!\d)|(?<=\d)\)")
ENTITIES = {"\\": "&#92;", "$": "&#36;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}


def one_line(text: str) -> str:
    """The text on one line, without what cannot be seen."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())


def as_text(text: str) -> str:
    """Markdown that shows the text as it is: one line, no markup, no HTML, nothing that a terminal acts on."""
    return MARKUP.sub(lambda match: ENTITIES.get(match[0], "\\" + match[0]), one_line(text))


def footnotes(
    lines: Iterable[Line], evidence: Mapping[str, Evidence] | Iterable[Evidence], reader: str | Iterable[str] = ""
) -> str:
    """Markdown of the lines that passed, each with its numbered sources, and the list of sources under them.

    ``[…]`` stands where a line is withheld from the reader (by default one with no name, who sees what all may see).
    """
    evidence = by_id(evidence)
    places: dict[str, int] = {}
    written = []
    for line in shown_lines(lines, evidence, reader):
        if line is None:
            written.append(WITHHELD)
            continue
        marks = [places.setdefault(name, len(places) + 1) for name in line.evidence_ids]
        written.append(as_text(line.claim) + " " + "".join(f"\\[{place}\\]" for place in marks))
    sources = [f"\\[{place}\\] {as_text(source_line(evidence[name]))}" for name, place in places.items()]
    return "\n\n".join(written + (["---", *sources] if sources else [])) + "\n"


def source_line(item: Evidence) -> str:
    """How a list of sources names a passage: version, ID, place and date."""
    parts = [item.source, item.evidence_id, item.position, item.updated_at]
    return ", ".join(str(part) for part in parts if part is not None)


def paragraphs(
    lines: Iterable[Line], evidence: Mapping[str, Evidence] | Iterable[Evidence], reader: str | Iterable[str] = ""
) -> str:
    """Markdown of the lines that passed, a paragraph each, without marks; ``[…]`` where one is withheld."""
    shown = shown_lines(lines, by_id(evidence), reader)
    return "\n\n".join(WITHHELD if line is None else as_text(line.claim) for line in shown) + "\n"
