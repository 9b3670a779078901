"""The queue that people work through, what they decided, and what their decisions justify.

Rows that do not stand on their own go to a person. Here that person is asked, and the answers are put to use:

1. **questions**: the rows as a person is asked about them. Some rows that stood on their own are drawn at random.
2. **queue**: those that wait, the most doubtful first, with the drawn ones mixed in where nobody can tell them apart.
3. **Panel**: the queue as a widget. Or `export_csv`, a spreadsheet and `import_csv`.
4. **read_decisions**, **merge**: what was decided, by one reviewer or by two.
5. **audit_bound**, **lowest_safe_threshold**: what that says about the rows that nobody looked at.

Decisions are JSON Lines that are only ever added to, each on the disk before the next row is shown. A decision holds
for the claim, the quote and the text that were read: where one of them changes, the question comes back.
"""

import csv
import hashlib
import html
import io
import json
import os
import random
import re
import time
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import ipywidgets
import pandas as pd

import evaluation
import formats
import helpers
from plain import InputError, printable, read_text

if TYPE_CHECKING:
    from IPython.display import HTML

CANNOT_TELL = "cannot-tell"
CHOICES = (*evaluation.VERDICTS, CANNOT_TELL)

Decision = dict  # a line of the file: id, verdict, who, when, note, question, source, model, audit, seed, answer_shown


# --- 1. What is asked -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A row as a person is asked about it; `text[start:end]` is the quoted passage, where there is one.

    `label` names the text. `digest` changes with the claim, the quote or the text, `source` with anything in the
    document. `drawn` rows are a random sample of all rows, `audit` rows those among them that stood on their own.
    """

    row: Mapping
    label: str | None
    text: str | None
    start: int | None
    end: int | None
    difference: str | None
    digest: str
    source: str
    drawn: bool
    seed: int | None

    @property
    def key(self) -> tuple[str, str]:
        """What a decision must name to be one on this question."""
        return self.row["id"], self.digest

    @property
    def audit(self) -> bool:
        return self.drawn and self.row["auto"]


def questions(results: Sequence[Mapping], sections: Mapping[str, str], audit: int = 0, seed: int = 0) -> list[Question]:
    """The rows of `helpers.check_citations` as questions to a person, in their order.

    `audit` of the rows that stood on their own are drawn at random (all, where there are fewer). The draw depends on
    the seed and on each row's id and content alone, so that it is the same on every day, and a larger one holds the
    smaller. Choose both before you look at a result. Raises ValueError where two rows have one id.
    """
    twice = [name for name, count in Counter(row["id"] for row in results).items() if count > 1]
    if twice:
        raise ValueError(f"two results have the id {printable(twice[0])!r}: decisions go by id, give each its own")
    sections = helpers.as_sections(sections)
    documents = sections if helpers.are_documents(sections) else {"": sections}
    documents = {name: helpers.as_sections(document) for name, document in documents.items()}
    source = digest([[name, [[label, one.text(label)] for label in one.order]] for name, one in documents.items()])
    read = [what_to_read(row, sections) for row in results]
    digests = [digest([row["claim"], row["quote"], what["text"]]) for row, what in zip(results, read, strict=True)]
    chosen = random_sample(results, digests, audit, seed)
    return [
        Question(row, **what, digest=own, source=source, drawn=place in chosen, seed=seed if audit else None)
        for place, (row, what, own) in enumerate(zip(results, read, digests, strict=True))
    ]


def digest(content) -> str:
    """A short name for some content, in letters that no spreadsheet takes for a number."""
    return "sha256:" + hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()[:32]


def what_to_read(row: Mapping, sections: Mapping) -> dict:
    """The text to judge a row by: the section that was found or, where the quote is not in the source, the one cited.

    All of it, also where the model was given the paragraphs round the quote only (`narrowed`).
    """
    citation = {"claim": row["claim"], "quote": row["quote"], "section": row["cited"]}
    nothing = {"label": None, "text": None, "start": None, "end": None, "difference": None}
    if helpers.citation_problem(citation):
        return nothing
    prefix = ""
    if helpers.are_documents(sections):
        name = next((name for name in sections if str(row["section"]).startswith(f"{name}: ")), None)
        if name is None:  # which of them was cited, the row does not say
            return nothing
        sections, prefix = sections[name], f"{name}: "
    # near matching was on where its status says so; from which similarity on makes no difference to what it finds
    found = helpers.locate(sections, citation, near=0.5 if row["status"] == "near" else None)
    if not found.text and row["quote"] is not None and row["cited"] is not None:
        found = helpers.locate(sections, {**citation, "quote": None})
    if not found.text:
        return nothing
    place = {name: getattr(found, name) for name in ("text", "start", "end", "difference")}
    return {"label": f"{prefix}{found.section}", **place}


def random_sample(results: Sequence[Mapping], digests: Sequence[str], audit: int, seed: int) -> set[int]:
    """The places of the rows that come, in a random order of all rows, before the row of `auto` number `audit` + 1.

    So exactly `audit` rows that stood on their own are among them, and the others as often as they are among all: a
    sample across all confidences, by which a lower threshold can be tested.
    """
    keys = [digest([seed, row["id"], own]) for row, own in zip(results, digests, strict=True)]
    taken, autos = set(), 0
    for place in sorted(range(len(keys)), key=keys.__getitem__):
        autos += results[place]["auto"]
        if autos > audit:
            break
        taken.add(place)
    return taken


# --- 2. Who waits, in which order -----------------------------------------------------------------------------------


def queue(questions: Sequence[Question], decisions: Iterable[Decision] = ()) -> list[Question]:
    """The questions that wait for a person: unchecked rows first, then flagged ones, then by rising confidence.

    Audited rows stand at random places among them. A row that was decided is out, unless its claim, its quote or the
    text to read has changed since.
    """
    decided = {key(made) for made in decisions}
    return [question for question in in_order(questions) if question.key not in decided]


def in_order(questions: Sequence[Question]) -> list[Question]:
    """All that a person is to see, decided or not."""
    doubtful = iter(sorted((question for question in questions if not question.row["auto"]), key=least_doubt))
    audits = iter(sorted((question for question in questions if question.audit), key=lambda question: question.digest))
    seed = next((question.seed for question in questions), None)
    turns = [doubtful] * sum(not question.row["auto"] for question in questions)
    turns += [audits] * sum(question.audit for question in questions)
    random.Random(seed or 0).shuffle(turns)
    return [next(turn) for turn in turns]


def least_doubt(question: Question) -> tuple:
    row = question.row
    return row["verdict"] is not None, not row["flags"], row["confidence"] or 0.0


# --- 3. What was decided --------------------------------------------------------------------------------------------


def decision(
    question: Question, verdict: str, who: str, note: str = "", answer_shown: bool = False, when: str | None = None
) -> Decision:
    """The line for a decision. `when` is now (UTC); `answer_shown` says whether the model's answer was on view.

    Raises ValueError for a verdict that is none of CHOICES.
    """
    if verdict not in CHOICES:
        raise ValueError(f"{printable(str(verdict), 40)!r} is no verdict: write one of {', '.join(CHOICES)}")
    return {
        "id": question.row["id"],
        "verdict": verdict,
        "who": named(who),
        "when": when or now(),
        "note": note,
        "question": question.digest,
        "source": question.source,
        "model": (question.row["answer"] or {}).get("model"),
        "audit": question.audit,
        "seed": question.seed,
        "answer_shown": answer_shown,
    }


def undone(made: Decision, who: str) -> dict:
    """The line that takes a decision back; the decision's own line stays where it is."""
    return {"id": made["id"], "undo": made["who"], "who": who, "when": now(), "question": made["question"]}


def named(who: str) -> str:
    """The reviewer's name. Raises ValueError for nobody."""
    if not who.strip():
        raise ValueError("who decides? Give the reviewer's name as who")
    return who.strip()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def key(made: Decision) -> tuple[str, str]:
    """The question that a decision is on."""
    return made["id"], made["question"]


def append(path: str | Path, line: dict) -> None:
    """Add a line to a file of decisions, on the disk when this returns. Raises OSError where it cannot be written."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    # half a surrogate pair, which a browser can send, is no UTF-8; as \udc00 it is good JSON
    data = json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    with open(path, "a+b") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a kill or a full disk left half a line: it ends here
                data = b"\n" + data
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_decisions(path: str | Path) -> list[Decision]:
    """The decisions of a file that stand, in the order in which they were made; none where there is no file.

    A line that is no decision, as a kill in the middle of a write leaves one, is left out and said in a warning.
    Raises InputError for a file that cannot be read.
    """
    standing, problems = read_lines(path)
    for problem in problems:
        warnings.warn(problem, stacklevel=2)
    return standing


def read_lines(path: str | Path) -> tuple[list[Decision], list[str]]:
    """The decisions that stand, and what is wrong with lines that are none."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    standing: list[Decision] = []
    problems = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            read = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            read = None
        if not isinstance(read, dict) or not all(isinstance(read.get(name), str) for name in ("id", "question", "who")):
            problems.append(f"{path}: line {number} is no decision, half of one perhaps, and is left out")
        elif read.get("verdict") in CHOICES:
            standing.append({**read, "note": str(read.get("note") or "")})
        elif "undo" in read:
            made = (d for d in reversed(standing) if key(d) == key(read) and d["who"] == read["undo"])
            taken_back = next(made, None)
            standing = [d for d in standing if d is not taken_back]
        else:
            verdict = printable(str(read.get("verdict")), 40)
            problems.append(f"{path}: line {number} has the verdict {verdict!r}, which is none, and is left out")
    return standing, problems


class Agreement(NamedTuple):
    """Two reviewers' work as one. `kappa` is Cohen's, None where it is not defined (see `cohens_kappa`).

    `decisions` are those that both made alike and those that only one of them made; rows that they differ on are left
    out, so that they wait for a third look. `both` questions were decided by both, `alike` of them the same way;
    `differ` has a line for each of the others.
    """

    decisions: list[Decision]
    both: int
    alike: int
    kappa: float | None
    differ: pd.DataFrame


def merge(first: str | Path, second: str | Path) -> Agreement:
    """Two files of decisions, each by one reviewer who did not see the other's.

    Only decisions on the same claim, quote and text are compared; "cannot tell" counts as an answer of its own.
    """
    one, other = ({key(made): made for made in read_decisions(path)} for path in (first, second))
    pairs = [(one[same], other[same]) for same in one if same in other]
    alike = [a | {"who": f"{a['who']}, {b['who']}"} for a, b in pairs if a["verdict"] == b["verdict"]]
    differ = [
        (a["id"], a["verdict"], a["note"], b["verdict"], b["note"]) for a, b in pairs if a["verdict"] != b["verdict"]
    ]
    return Agreement(
        [*alike, *(made for same, made in (one | other).items() if (same in one) != (same in other))],
        len(pairs),
        len(alike),
        cohens_kappa([(a["verdict"], b["verdict"]) for a, b in pairs]),
        pd.DataFrame(differ, columns=["id", "first", "first_note", "second", "second_note"]).set_index("id"),
    )


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """(observed - expected) / (1 - expected) agreement of pairs of labels: 1 is perfect, 0 what chance would give.

    Expected is the agreement of two who give the same labels as often but at random (Cohen 1960). None where there is
    no pair, or where both only ever gave one and the same label.
    """
    if not pairs:
        return None
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = sum(first[label] * second[label] for label in first)  # of n * n
    if by_chance == n * n:
        return None
    return (sum(a == b for a, b in pairs) * n - by_chance) / (n * n - by_chance)


# --- 4. The same in a spreadsheet -----------------------------------------------------------------------------------

COLUMNS = ["id", "verdict", "note", "claim", "quote", "section", "text"]
ANSWER_COLUMNS = ["relation", "confidence", "probabilities", "flags"]
OWN_COLUMNS = ["question", "exported"]  # by which an edited row is told, and a row whose section changed meanwhile
LONGEST_CELL = 32_000  # characters; Excel takes 32,767


def export_csv(path: str | Path, questions: Sequence[Question], decisions: Iterable[Decision] = ()) -> None:
    """Write questions to be decided in a spreadsheet: fill in `verdict` and `note`, save as CSV, then `import_csv`.

    In UTF-8, marked so that Excel sees it; what a spreadsheet would take for a formula starts with an apostrophe.
    Where audited rows are among the questions, the model's answers are left out, as they would tell which.
    """
    standing = {key(made): made for made in decisions}
    blind = any(question.audit for question in questions)
    columns = [*COLUMNS, *([] if blind else ANSWER_COLUMNS), *OWN_COLUMNS]
    with open(path, "w", encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        for question in questions:
            cells = csv_cells(question, standing.get(question.key))
            writer.writerow({name: safe_cell(value) for name, value in cells.items()})


def csv_cells(question: Question, made: Decision | None) -> dict[str, str]:
    row, answer = question.row, question.row["answer"] or {}
    verdict, note = (made["verdict"], re.sub("\r\n?", "\n", made["note"])) if made else ("", "")
    probabilities = (answer.get("probabilities") or {}).items()
    cells = {
        "id": row["id"], "verdict": verdict, "note": note,
        "claim": row["claim"], "quote": row["quote"], "section": question.label, "text": question.text,
        "relation": answer.get("choice"), "confidence": row["confidence"],
        "probabilities": ", ".join(f"{option} {share:.2f}" for option, share in probabilities),
        "flags": ", ".join(row["flags"]),
        "question": digest(question.key), "exported": digest([verdict, one_line(plain_cell(safe_cell(note)))]),
    }  # fmt: skip
    return {name: "" if value is None else str(value) for name, value in cells.items()}


def safe_cell(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula, nor cuts."""
    text = f"'{text}" if text.startswith("'") else formats.spreadsheet_cell(text)
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]} … ({len(text) - LONGEST_CELL:,} more)"


def plain_cell(cell: str) -> str:
    """The text of a cell, without the apostrophe that `safe_cell` put before it."""
    return cell[1:] if cell.startswith("'") and safe_cell(cell[1:]) == cell else cell


def one_line(text: str) -> str:
    """The text as it is compared: a spreadsheet may change the line ends and the space in a cell."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())


class Imported(NamedTuple):
    """The ids whose decision was changed, and a sentence for each row that was not taken."""

    changed: list[str]
    problems: list[str]


def import_csv(path: str | Path, questions: Sequence[Question], decisions: str | Path, who: str) -> Imported:
    """Add what was edited in an exported file to a file of decisions, as decided by `who`.

    A row counts as edited if its verdict or its note is not what was exported; an emptied verdict takes the decision
    back. Rows that cannot be taken are named, with their number in the sheet, and the others are taken. Raises
    InputError for a file that is no export at all.
    """
    who = named(who)
    waiting = {digest(question.key): question for question in questions}  # an id may be a date or a number to Excel
    standing = {key(made): made for made in read_decisions(decisions)}
    changed: list[str] = []
    problems: list[str] = []
    for number, cells in csv_rows(path):
        try:
            line = edited(cells, waiting, standing, who)
        except ValueError as problem:
            problems.append(f"row {number} ({printable(plain_cell(cells['id'] or ''), 40)}): {problem}")
            continue
        if line:
            append(decisions, line)
            changed.append(line["id"])
    return Imported(changed, problems)


def csv_rows(path: str | Path) -> list[tuple[int, dict]]:
    """The rows of a CSV file with their numbers in the sheet, whatever the spreadsheet separates its columns by."""
    text = read_text(path)
    separator = max(",;\t", key=text.partition("\n")[0].count)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
        rows = list(enumerate(reader, 2))
    except csv.Error as error:
        raise InputError(f"{path}: not CSV that can be read: {error}") from None
    missing = {"id", "verdict", "note", *OWN_COLUMNS} - set(reader.fieldnames or ())
    if missing:
        raise InputError(f"{path}: the column {sorted(missing)[0]!r} is missing: export again, and keep all columns")
    return rows


def edited(cells: Mapping, waiting: dict[str, Question], standing: Mapping, who: str) -> dict | None:
    """The line that a row of a sheet adds to the decisions, None for a row that was not edited. Raises ValueError.

    The row's question is no longer waiting then.
    """
    if None in cells or None in cells.values():
        raise ValueError("it has not as many cells as there are columns")
    question = waiting.pop(cells["question"], None)
    if question is None:
        raise ValueError("it stands in the sheet twice, or its claim, quote or section has changed: export again")
    verdict = "-".join(plain_cell(cells["verdict"]).lower().split())
    note = plain_cell(cells["note"])
    made = standing.get(question.key)
    if digest([verdict, one_line(note)]) == cells["exported"]:
        return None
    if verdict:
        known = made and (made["verdict"], one_line(made["note"])) == (verdict, one_line(note))  # imported before
        return None if known else decision(question, verdict, who, note, answer_shown="relation" in cells)
    if made:
        return undone(made, who)
    if note.strip():
        raise ValueError("it has a note but no verdict")
    return None


# --- 5. What the decisions justify ----------------------------------------------------------------------------------


def labels(questions: Sequence[Question], decisions: Iterable[Decision]) -> dict[str, str | None]:
    """id -> the verdict that a person gave, None where nobody could tell: what `evaluation` takes as `expected`.

    Its tables then describe the rows that people looked at, among which doubtful ones are far commoner than elsewhere;
    what may be said of the others is for `audit_bound` and `lowest_safe_threshold`.
    """
    standing = {key(made): made["verdict"] for made in decisions}
    given = {question.row["id"]: standing.get(question.key) for question in questions if question.key in standing}
    return {name: None if verdict == CANNOT_TELL else verdict for name, verdict in given.items()}


class AuditBound(NamedTuple):
    """Of `alone` rows that stood on their own, `audited` were drawn and `decided` of these were looked at so far.

    `errors` of them were decided otherwise, or could not be told. At `level`, a share of `bound` at most of all rows
    that stand on their own is wrong; what is not decided yet counts as wrong in it.
    """

    alone: int
    audited: int
    decided: int
    errors: int
    bound: float
    level: float

    def missing(self, target: float) -> int:
        """How many more rows would have to be drawn, and found right, for a bound of `target`.

        To plan the next sample by: whoever draws on until the bound is low enough has no bound.
        """
        return max(evaluation.labels_needed(target, self.level, self.errors) - self.audited, 0)

    def sentence(self) -> str:
        """The finding in a sentence or two."""
        said = (
            f"{self.audited} of the {self.alone} rows that stood on their own were drawn, {self.decided} of them "
            f"decided, {self.errors} of those not confirmed: at a level of {100 * self.level:.4g}%, at most "
            f"{self.bound:.1%} of the rows that stand on their own are wrong."
        )
        waiting = self.audited - self.decided
        return said + (f" The {waiting} not decided yet count as wrong in this." if waiting else "")


def audit_bound(questions: Sequence[Question], decisions: Iterable[Decision], level: float = 0.95) -> AuditBound:
    """What the audited rows, and they alone, say about the error of all rows that stand on their own.

    An audited row that is skipped, not decided yet or beyond telling counts as wrong: rows that are left out because
    they are hard are no random sample any more. So the bound holds at any time, and falls as the work goes on.
    """
    standing = {key(made): made["verdict"] for made in decisions}
    audited = [question for question in questions if question.audit]
    given = [(question.row["verdict"], standing.get(question.key)) for question in audited]
    right = sum(verdict == by_hand for verdict, by_hand in given)
    decided = sum(by_hand is not None for _, by_hand in given)
    bound = evaluation.error_upper_bound(len(audited) - right, len(audited), level)
    alone = sum(question.row["auto"] for question in questions)
    return AuditBound(alone, len(audited), decided, decided - right, bound, level)


def lowest_safe_threshold(
    questions: Sequence[Question],
    decisions: Iterable[Decision],
    target: float,
    level: float = 0.95,
    thresholds: Sequence[float] = (0.8, 0.7, 0.6, 0.5, 0),
) -> evaluation.SafeThreshold:
    """`evaluation.lowest_safe_threshold` on the drawn rows, those below the line among them, and on no others.

    All doubtful rows were looked at, but only a sample of the rest; so what was looked at is no sample of what would
    stand at a lower threshold. The drawn rows are (`random_sample`). As in `audit_bound`, what nobody decided or could
    tell counts as wrong.

    That exact bounds hold for such a draw, which ends at a number of `auto` rows and not at a number of rows: whether
    it ends does not depend on errors but where they go with `auto`. In the two extremes, where every `auto` row and
    no other is wrong and the reverse, the count of draws and the count of errors change places in one and the same
    binomial tail, so that the level is kept exactly; a test computes that it is kept in between.
    """
    standing = {key(made): made["verdict"] for made in decisions}
    drawn = [question for question in questions if question.drawn]
    expected = {question.row["id"]: standing.get(question.key, "undecided") for question in drawn}
    return evaluation.lowest_safe_threshold([question.row for question in drawn], expected, target, level, thresholds)


# --- 6. The widget --------------------------------------------------------------------------------------------------

ACTIONS = {  # in the order of their keys, 1 to 8
    "verified": "The text says what the claim says, or it follows from it",
    "contradicted": "The text says the opposite of the claim",
    "unsupported": "The text does not say it, either way",
    "fabricated": "The quote is not in the source",
    CANNOT_TELL: "It cannot be told from this text",
    "skip": "Come back to this row at the end",
    "undo": "Take back my last decision",
    "answer": "Show or hide what the model answered, and why the row is here",
}
REASONS = {
    "moved": "The quote stands in another section than the one that is cited.",
    "repeated": "The quote stands in the source more than once.",
    "short": "The quote is so short that it may stand there by chance.",
    "case": "The quote and the source differ in capital letters.",
    "accents": "The quote has other accents than the source.",
    "elided": "The quote leaves something out, or adds something, where it says so.",
    "negation": "A “not” stands in front of the quote, or on one side only of claim and text.",
    "spans": "The quote runs from one section into the next.",
    "near": "The quote is not in the source word for word; something like it is.",
    "narrowed": "The model read a part of the section only.",
    "no-such-section": "The source has no section of the name that is cited.",
    "numbers": "The claim has a number that the text does not have.",
    "absolute": "The claim says “all”, “never” or the like; the text says nothing as strong.",
    "confidence-definition": "The server computes confidence in its own way: the line at 0.8 means little.",
}
LONGEST_SHOWN = 20_000  # characters of a text before and after the quote: a browser slows down with more
LONGEST_LEAD = 400  # characters before the quote that are shown unfolded
AT_ONCE = 0.5  # seconds: nobody reads a row in less, so a second click is still about the row before

# characters that change how others are shown, or that are not seen at all: a person is to see them
UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)


def shown(text) -> str:
    """Any text as HTML that shows it, with nothing in it that a browser acts on."""
    text = html.escape(str(text).replace("\r\n", "\n"))
    return UNSEEN.sub(
        lambda found: f'<span class="ccr-unseen">{found[0].encode("unicode_escape").decode()}</span>', text
    )


def progress_html(done: int, total: int, who: str, path: str | Path) -> str:
    share = 100 * done / total if total else 100
    counts, file = f"<div><b>{done} of {total}</b> decided</div>", f"<span>{shown(who)} → {shown(path)}</span>"
    bar = f'<div class="ccr-track"><div style="width:{share:.1f}%"></div></div>'
    return f'<div class="ccr-top">{counts}{file}</div>{bar}'


def page_html(question: Question) -> str:
    """Claim, quote and text of a question, with the quoted passage marked."""
    row = question.row
    parts = [f'<div class="ccr-label"><strong>Claim</strong> <span>{shown(cut(row["id"], 200))}</span></div>']
    parts.append(f'<div class="ccr-claim" dir="auto">{shown(cut(str(row["claim"] or "none")))}</div>')
    if row["quote"] is not None:
        parts.append('<div class="ccr-label"><strong>Quote</strong></div>')
        parts.append(f'<div class="ccr-quote" dir="auto">{shown(cut(str(row["quote"])))}</div>')
    parts.append(f'<div class="ccr-label"><strong>Section</strong> <span>{where(question)}</span></div>')
    if question.difference:
        parts.append(f'<div class="ccr-quote" dir="auto">{shown(cut(question.difference))}</div>')
    if question.text:
        parts.append(f'<div class="ccr-text" dir="auto" tabindex="0">{marked(question)}</div>')
    if row["error"]:
        parts.append(f'<div class="ccr-error">Not checked: {shown(row["error"])}</div>')
    return f'<div class="ccr-page">{"".join(parts)}</div>'


def cards(questions: Iterable[Question]) -> "HTML":
    """The questions one below the other, to be read and not decided: page, answer and reasons of each."""
    from IPython.display import HTML

    each = (f'<div class="ccr-card">{page_html(question)}{answer_html(question.row)}</div>' for question in questions)
    return HTML(STYLE + "<hr>".join(each))  # the line is for a notebook that is not trusted, where styles are dropped


def where(question: Question) -> str:
    """Which text a person sees, and how the quote stands in it."""
    row, label = question.row, shown(question.label)
    cited = row["cited"] if isinstance(row["cited"], list | tuple) else [row["cited"]]
    cited = shown(", ".join(map(str, cited)))
    if question.text is None:
        return "there is none to show" if row["cited"] is None else f"cited as {cited}, of which there is none to show"
    if question.start is not None:
        return label if row["cited"] is None or cited == label else f"{label}, cited as {cited}"
    return f"{label} · the quote is not in the source" if row["quote"] is not None else f"{label} · nothing is quoted"


def marked(question: Question) -> str:
    """The text with the quoted passage marked; what stands far before it is folded away, so that it is seen at once."""
    text, start, end = question.text, question.start, question.end
    if start is None:
        return shown(cut(text, 2 * LONGEST_SHOWN))
    near, first = 0, max(0, start - LONGEST_SHOWN)
    if start > LONGEST_LEAD:
        near = text.rfind("\n", start - LONGEST_LEAD, start - 80) + 1 or start - LONGEST_LEAD // 2
    folded = ""
    if near:
        omitted = f"[{first:,} characters more] … " if first else ""
        folded = (
            f"<details><summary>{near:,} characters before this</summary>{omitted}{shown(text[first:near])}</details>"
        )
    quoted, after = cut(text[start:end], LONGEST_SHOWN), cut(text[end:], LONGEST_SHOWN)
    return f"{folded}{shown(text[near:start])}<mark>{shown(quoted)}</mark>{shown(after)}"


def cut(text: str, longest: int = 5_000) -> str:
    return text if len(text) <= longest else f"{text[:longest]} … [{len(text) - longest:,} characters more]"


def answer_html(row: Mapping) -> str:
    """What the model answered, with its probabilities as bars, and why the row is in the queue."""
    answer, parts = row["answer"], []
    if answer:
        folded = f"{shown(answer['choice'])} → <b>{shown(row['verdict'] or 'no verdict')}</b>"
        parts.append(
            f"<div>The model: {folded}, confidence {answer['confidence']:.2f} · {shown(answer.get('model'))}</div>"
        )
        for option, share in (answer.get("probabilities") or {}).items():
            bar = f'<div><div style="width:{100 * share:.0f}%"></div></div>'
            parts.append(f'<div class="ccr-bar"><span>{shown(option)}</span>{bar}{share:.2f}</div>')
        if not answer.get("probabilities"):
            parts.append('<div class="ccr-muted">Its probabilities were not published.</div>')
    elif row["verdict"]:
        parts.append(
            f"<div>No model was asked: <b>{shown(row['verdict'])}</b>, as the quote is not in the source.</div>"
        )
    else:
        parts.append("<div>There is no answer that may be believed.</div>")
    reasons = "".join(f"<li><b>{shown(flag)}</b> {shown(REASONS.get(flag, ''))}</li>" for flag in row["flags"])
    parts.append(f"<ul>{reasons}</ul>" if reasons else '<div class="ccr-muted">No flag.</div>')
    return f'<div class="ccr-answer">{"".join(parts)}</div>'


STYLE = """<style>
.ccr-page, .ccr-answer, .ccr-top { font-family: var(--jp-ui-font-family, system-ui), "Noto Sans CJK SC", "PingFang SC",
  "Microsoft YaHei", sans-serif; font-size: 14px; line-height: 1.5; color: var(--jp-ui-font-color1, #1f2937); }
.ccr-page { display: flex; flex-direction: column; height: 430px; }
.ccr-page > div { flex: 0 0 auto; }
.ccr-top { display: flex; justify-content: space-between; gap: 16px; }
.ccr-top span, .ccr-label span, .ccr-muted { color: var(--jp-ui-font-color2, #6b7280); }
.ccr-track { height: 4px; margin-top: 4px; border-radius: 2px; background: var(--jp-border-color2, #e5e7eb); }
.ccr-track div, .ccr-bar div div { height: 100%; border-radius: inherit; background: #2563a8; }
.ccr-label { margin: 12px 0 3px; overflow-wrap: anywhere; }
.ccr-claim, .ccr-quote, .ccr-text { white-space: pre-wrap; overflow: auto; overflow-wrap: anywhere; line-height: 1.7;
  font-size: 15px; }
.ccr-claim { max-height: 7em; font-size: 16px; }
.ccr-quote { max-height: 5.2em; padding-left: 12px; border-left: 3px solid var(--jp-border-color1, #d1d5db); }
.ccr-page > .ccr-text { flex: 1 1 0; min-height: 120px; padding: 8px 12px;
  border: 1px solid var(--jp-border-color1, #d1d5db); border-radius: 4px; }
.ccr-card { max-width: 900px; margin: 0 0 28px; padding: 0 14px 14px; border-radius: 6px;
  border: 1px solid var(--jp-border-color2, #e5e7eb); }
.ccr-card + hr { display: none; }
.ccr-card .ccr-page { height: auto; margin-bottom: 10px; }
.ccr-card .ccr-page > .ccr-text { flex: 0 0 auto; max-height: 18em; min-height: 0; }
.ccr-text mark { background: #ffe08a; color: #1f2937; padding: 1px 0; }
.ccr-text summary { cursor: pointer; color: var(--jp-ui-font-color2, #6b7280); }
.ccr-unseen { background: #d9622b; color: white; font: 12px monospace; padding: 0 2px; unicode-bidi: isolate; }
.ccr-error { margin-top: 8px; color: #b4481a; overflow-wrap: anywhere; }
.ccr-said { color: var(--jp-ui-font-color2, #6b7280); line-height: 1.5; overflow-wrap: anywhere; }
.ccr-answer { padding: 8px 12px; background: var(--jp-layout-color2, #f3f4f6); border-radius: 4px; }
.ccr-answer ul { margin: 6px 0 0; padding-left: 18px; }
.ccr-bar { display: flex; align-items: center; gap: 8px; }
.ccr-bar span { width: 110px; overflow: hidden; text-overflow: ellipsis; }
.ccr-bar > div { width: 220px; height: 8px; border-radius: 4px; background: var(--jp-border-color1, #d1d5db); }
</style>"""


class Panel:
    """The queue as a widget: display it, decide, close the browser when you like.

    Its only memory is the file at `path`: run the cell again, in this kernel or another, and it goes on where the file
    ends. Where audited rows are in the queue, the model's answer and the reasons stay folded on every row until they
    are asked for, since a high confidence would tell which rows those are; each decision records whether they were on
    view. Two reviewers who are to be compared (`merge`) use a file each.
    """

    def __init__(self, questions: Sequence[Question], path: str | Path, who: str):
        self.questions, self.path, self.who = list(questions), path, named(who)
        self.blind = any(question.audit for question in self.questions)
        self.question: Question | None = None
        self.skipped: list[tuple[str, str]] = []
        self.answer_open = self.answer_seen = False  # now; at any time since the row appeared
        self.appeared = 0.0

        self.top, self.page, self.answer, self.status = (ipywidgets.HTML() for _ in range(4))
        self.buttons = {}
        for number, (name, meaning) in enumerate(ACTIONS.items(), 1):
            button = ipywidgets.Button(
                description=f"{number} {name.replace('-', ' ')}", tooltip=meaning, layout={"width": "auto"}
            )
            button.on_click(lambda _, name=name: self.press(name))
            self.buttons[name] = button
        # a note is sent when it is left, and so before the click that it belongs to
        self.note = ipywidgets.Text(placeholder="Note (optional)", continuous_update=False, layout={"flex": "1 1 auto"})
        self.keys = ipywidgets.Text(placeholder="or type 1–8 here", layout={"width": "140px"})
        self.keys.observe(self.typed, "value")
        choices = [button for name, button in self.buttons.items() if name in CHOICES]
        others = [button for name, button in self.buttons.items() if name not in CHOICES]
        rows = [[*choices, self.keys], [self.note, *others]]
        rows = [ipywidgets.HBox(row, layout={"flex_flow": "row wrap"}) for row in rows]
        # what varies in height comes last, so that the buttons stay where they are
        parts = [ipywidgets.HTML(STYLE), self.top, self.page, *rows, self.status, self.answer]
        self.box = ipywidgets.VBox(parts, layout={"max_width": "900px"})
        self.next()

    def _repr_mimebundle_(self, **_) -> dict:
        """The widget and, for readers without a kernel, a picture of the row that is next."""
        text = f"{self.question.row['id']} is next" if self.question else "every row is decided"
        picture = f"{STYLE}{self.top.value}{self.page.value}<p>Run this cell to decide.</p>"
        return {**self.box._repr_mimebundle_(), "text/plain": printable(text), "text/html": picture}

    def next(self, said: str = "") -> None:
        """Show the first row that waits; skipped ones come last."""
        turn = {skipped: place for place, skipped in enumerate(self.skipped, 1)}
        waiting = queue(self.questions, read_lines(self.path)[0])
        self.show(min(waiting, key=lambda question: turn.get(question.key, 0), default=None), said)

    def show(self, question: Question | None, said: str = "", made: Decision | None = None) -> None:
        """Show a row, as it was decided where that decision was just taken back, and what happened before."""
        standing, problems = read_lines(self.path)
        total, waiting = len(in_order(self.questions)), len(queue(self.questions, standing))
        self.question, self.appeared = question, time.monotonic()
        self.answer_seen = bool(made and made.get("answer_shown"))
        self.top.value = progress_html(total - waiting, total, self.who, self.path)
        self.page.value = page_html(question) if question else '<div class="ccr-page">Every row is decided.</div>'
        self.note.value = made["note"] if made else ""
        self.show_answer(question is not None and not self.blind)
        for name, button in self.buttons.items():
            button.disabled = question is None and name != "undo"
        self.say(said, *problems)

    def show_answer(self, on: bool) -> None:
        self.answer_open, self.answer_seen = on, self.answer_seen or on
        folded = (
            '<div class="ccr-said">8 shows what the model answered. Read the section first.</div>'
            if self.question
            else ""
        )
        self.answer.value = answer_html(self.question.row) if on else folded

    def say(self, *lines: str) -> None:
        self.status.value = "".join(f'<div class="ccr-said">{shown(line)}</div>' for line in lines if line)

    def typed(self, change: Mapping) -> None:
        """A digit in the small field is the button of that number; in full width, too, as Chinese keyboards type it."""
        last = unicodedata.normalize("NFKC", change["new"])[-1:]
        if change["new"]:
            self.keys.value = ""
        if last.isdecimal() and 1 <= int(last) <= len(ACTIONS):
            name = list(ACTIONS)[int(last) - 1]
            if not self.buttons[name].disabled:
                self.press(name)

    def press(self, name: str) -> None:
        """What a click or a key does. The second half of a double click is about a row that is gone: it is dropped."""
        if name in (*CHOICES, "skip") and time.monotonic() - self.appeared < AT_ONCE:
            return
        try:
            if name in CHOICES:
                self.decide(name)
            elif name == "undo":
                self.undo()
            elif name == "skip":
                self.skip()
            else:
                self.show_answer(not self.answer_open)
        except OSError as error:
            self.say(f"Not recorded: {self.path} cannot be written: {error.strerror}")
        except InputError as error:
            self.say(f"Not recorded: {error}")

    def decide(self, verdict: str) -> None:
        """Record a verdict on the row that is shown, and go on."""
        made = decision(self.question, verdict, self.who, self.note.value, self.answer_seen)
        append(self.path, made)
        self.next(f"{made['id']}: {verdict}")

    def skip(self) -> None:
        """Leave the row that is shown for later. A skip is forgotten when the cell is run again."""
        key = self.question.key
        self.skipped = [other for other in self.skipped if other != key] + [key]
        self.next(f"{key[0]}: skipped")

    def undo(self) -> None:
        """Take back this reviewer's last decision on a row of this queue, made today or before, and show the row."""
        known = {question.key: question for question in self.questions}
        mine = [made for made in read_lines(self.path)[0] if made["who"] == self.who and key(made) in known]
        if not mine:
            return self.say("There is nothing to take back.")
        append(self.path, undone(mine[-1], self.who))
        self.show(known[key(mine[-1])], f"{mine[-1]['id']}: {mine[-1]['verdict']} is taken back", mine[-1])
