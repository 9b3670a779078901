"""The queue, the file of decisions, the spreadsheet, and what decisions justify. The browser has a file of its own."""

import csv
import dataclasses
import json
import os
import signal
from html.parser import HTMLParser

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom, nbinom

import evaluation
import helpers
import review
from plain import InputError

TEXTS = {"1": "Tokens expire after an hour.", "2": "Keys are rotated yearly.", "3": "Logs are kept for ten days."}


def result(name: str, confidence: float | None = 0.5, flags=(), section: str = "1") -> dict:
    """A row of check_citations, answered by a function instead of a server: `supports`, at this confidence."""

    def ask(claim: str, text: str) -> dict:
        if confidence is None:
            raise helpers.Unchecked("the server is away")
        return {"choice": "supports", "probabilities": None, "confidence": confidence, "model": "jev-1.12"}

    citation = {"id": name, "claim": f"claim {name}", "quote": None, "section": section}
    return helpers.check_citation(TEXTS, citation, ask, rules=lambda claim, text: flags)


@pytest.fixture
def rows() -> list[dict]:
    doubtful = [result("low", 0.3), result("flagged", 0.99, ["numbers"]), result("lost", None), result("mid", 0.7)]
    return doubtful + [result(f"auto{n}", 0.9, section=str(1 + n % 3)) for n in range(6)]


@pytest.fixture(scope="module")
def pipl() -> tuple[list[dict], helpers.Sections]:
    """The rows of the Chinese law that a model answered, and the law."""
    articles = helpers.split_articles(helpers.load_source(ROOT / "data" / "pipl.txt"))
    citations = helpers.load_citations(ROOT / "data" / "citations.json")
    ask = helpers.make_ask(**helpers.xiangxin() | {"api_key": ""})
    return [row for row in helpers.check_citations(articles, citations, ask) if row["answer"]], articles


def ids(questions) -> list[str]:
    return [question.row["id"] for question in questions]


# --- the queue


def test_most_doubtful_first_and_audits_anywhere(rows):
    assert ids(review.queue(review.questions(rows, TEXTS))) == ["lost", "flagged", "low", "mid"]
    places = set()
    for seed in range(40):
        order = ids(review.queue(review.questions(rows, TEXTS, audit=2, seed=seed)))
        assert [name for name in order if "auto" not in name] == ["lost", "flagged", "low", "mid"]
        assert len(order) == 6
        places |= {place for place, name in enumerate(order) if "auto" in name}
    assert places == set(range(6))


def test_draw_is_the_same_every_day_and_a_larger_one_holds_the_smaller(rows):
    def drawn(results, audit, seed=3):
        questions = review.questions(results, TEXTS, audit, seed)
        assert sum(question.audit for question in questions) == min(audit, 6)
        return {question.row["id"] for question in questions if question.drawn}

    assert drawn(rows, 2) == drawn(rows[::-1], 2) <= drawn(rows, 4) <= drawn(rows, 9) == set(ids_of(rows))
    counts = {name: 0 for name in ids_of(rows) if "auto" in name}
    for seed in range(600):
        for name in drawn(rows, 2, seed) & set(counts):
            counts[name] += 1
    assert all(150 < count < 250 for count in counts.values()), counts  # 200 each, give or take 12


def ids_of(rows) -> list[str]:
    return [row["id"] for row in rows]


def test_a_question_whose_section_changed_comes_back_and_no_other(rows):
    questions = review.questions(rows, TEXTS, audit=6)
    decisions = [review.decision(question, "verified", "Ada") for question in review.queue(questions)]
    assert review.queue(questions, decisions) == []
    changed = review.questions(rows, {**TEXTS, "2": TEXTS["2"].replace("yearly", "daily")}, audit=6)
    assert {row["cited"] for row in (question.row for question in review.queue(changed, decisions))} == {"2"}


def test_what_is_shown_where_the_quote_is_missing_or_one_of_several_documents_has_it():
    citation = {"id": "a", "claim": "c", "quote": "Tokens never expire.", "section": "1"}
    unasked = helpers.make_ask(api_key="", cache=None)
    row = helpers.check_citation(TEXTS, citation, unasked)
    (question,) = review.questions([row], TEXTS)
    assert (question.row["verdict"], question.label, question.text, question.start) == (
        "fabricated",
        "1",
        TEXTS["1"],
        None,
    )
    assert "the quote is not in the source" in review.page_html(question)
    documents = {"a.md": {"1": "Of no account."}, "b.md": TEXTS}
    (row,) = helpers.check_citations(documents, [{**citation, "quote": "expire after an hour"}], unasked)
    (question,) = review.questions([row], documents)
    assert (question.label, question.text[question.start : question.end]) == ("b.md: 1", "expire after an hour")
    malformed = helpers.check_citation(TEXTS, {"id": "b", "claim": 7}, unasked)
    (question,) = review.questions([malformed], TEXTS)
    assert "Not checked" in review.page_html(question)
    with pytest.raises(ValueError, match="'a'"):
        review.questions([row, row], TEXTS)


# --- the file


def test_panel_writes_what_was_decided_and_goes_on_where_the_file_ends(rows, tmp_path):
    questions, path = review.questions(rows, TEXTS), tmp_path / "new" / "decisions.jsonl"
    panel = review.Panel(questions, path, "Ada")
    panel.decide("unsupported")
    panel.note.value = "half a \ud83d pair, and\na line end"
    panel.decide("verified")
    panel.skip()
    panel.decide("contradicted")
    panel.undo()
    assert panel.question.row["id"] == "mid"
    assert review.Panel(questions, path, "Ben").question.row["id"] == "low"  # a skip is no decision
    panel.decide("cannot-tell")
    assert panel.question.row["id"] == "low"

    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    said = [(line["id"], line.get("verdict", "undo"), line["who"]) for line in lines]
    assert said == [
        ("lost", "unsupported", "Ada"), ("flagged", "verified", "Ada"), ("mid", "contradicted", "Ada"),
        ("mid", "undo", "Ada"), ("mid", "cannot-tell", "Ada"),
    ]  # fmt: skip
    assert lines[1] == {**review.decision(questions[1], "verified", "Ada"), "note": lines[1]["note"],
                        "when": lines[1]["when"], "answer_shown": True}  # fmt: skip
    assert (lines[0]["model"], lines[1]["model"], lines[1]["audit"]) == (None, "jev-1.12", False)
    standing = review.read_decisions(path)
    assert [made["verdict"] for made in standing] == ["unsupported", "verified", "cannot-tell"]
    assert standing[1]["note"] == "half a \ud83d pair, and\na line end"

    panel.decide("verified")
    assert panel.question is None and "Every row is decided" in panel.page.value
    assert panel.buttons["verified"].disabled and not panel.buttons["undo"].disabled
    ben = review.Panel(questions, path, "Ben")
    ben.undo()
    assert "nothing to take back" in ben.status.value  # what another decided


def test_half_a_line_costs_that_line_only(rows, tmp_path):
    questions, path = review.questions(rows, TEXTS), tmp_path / "decisions.jsonl"
    review.append(path, review.decision(questions[0], "verified", "Ada", "第一"))
    whole = path.stat().st_size
    review.append(path, review.decision(questions[1], "verified", "Ada", "第二"))
    data = path.read_bytes()
    for end in range(whole, len(data)):
        path.write_bytes(data[:end])
        standing, problems = review.read_lines(path)
        done = 2 if end == len(data) - 1 else 1  # only the line end is missing
        assert len(standing) == done and len(problems) == (0 if end in (whole, len(data) - 1) else 1)
        review.append(path, review.decision(questions[2], "unsupported", "Ada"))
        assert [made["id"] for made in review.read_lines(path)[0]] == ids(questions)[:done] + ["lost"]
    path.write_bytes(
        data[:-9] + b'\n{"id": "low", "question": "q", "who": "Ada", "verdict": "true"}\n[1]\n' + b"[" * 9999
    )
    with pytest.warns(UserWarning) as warned:
        assert len(review.read_decisions(path)) == 1
    assert [f"line {n}" in str(warning.message) for n, warning in enumerate(warned, 2)] == [True] * 4


def test_what_cannot_be_written_is_not_shown_as_decided(rows, tmp_path):
    panel = review.Panel(review.questions(rows, TEXTS), tmp_path / "decisions.jsonl", "Ada")
    panel.appeared = 0.0
    (tmp_path / "decisions.jsonl").mkdir()
    panel.press("verified")
    assert "Not recorded" in panel.status.value and "decisions.jsonl" in panel.status.value
    assert panel.question.row["id"] == "lost"
    with pytest.raises(InputError, match="decisions.jsonl"):
        review.read_decisions(tmp_path / "decisions.jsonl")


def test_the_second_half_of_a_double_click_decides_nothing(rows, tmp_path):
    panel = review.Panel(review.questions(rows, TEXTS), tmp_path / "decisions.jsonl", "Ada")
    panel.appeared = 0.0
    for _ in range(3):
        panel.press("verified")
    panel.typed({"new": "１"})
    assert ids_of(review.read_decisions(panel.path)) == ["lost"]
    panel.appeared = 0.0
    panel.typed({"new": "３"})
    assert review.read_decisions(panel.path)[1]["verdict"] == "unsupported"


KERNEL = """
import sys
sys.path.insert(0, {root!r})
import helpers, review
articles = helpers.split_articles(helpers.load_source({root!r} + "/data/pipl.txt"))
citations = helpers.load_citations({root!r} + "/data/citations.json")
results = helpers.check_citations(articles, citations, helpers.make_ask(**helpers.xiangxin()))
panel = review.Panel(review.questions(results, articles, audit=5), {path!r}, "Ada")
"""


def test_a_killed_kernel_loses_no_decision(tmp_path):
    from jupyter_client.manager import start_new_kernel

    path = tmp_path / "decisions.jsonl"
    shown = []
    for _ in range(2):
        manager, client = start_new_kernel(kernel_name="python3")
        try:
            run = KERNEL.format(root=str(ROOT), path=str(path))
            for code in (
                run,
                "panel.decide('verified')",
                "panel.decide('unsupported')",
                "print(panel.question.row['id'])",
            ):
                reply = client.execute_interactive(code, timeout=60, output_hook=lambda message: shown.append(message))
                assert reply["content"]["status"] == "ok", reply["content"]
            os.kill(manager.provisioner.pid, signal.SIGKILL)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    decided = ids_of(review.read_decisions(path))
    assert len(decided) == len(set(decided)) == 4  # the second kernel went on where the first was killed
    printed = [message["content"]["text"].strip() for message in shown if message["msg_type"] == "stream"]
    assert printed[0] == decided[2]


# --- two reviewers


def test_two_files_become_one(rows, tmp_path):
    questions = review.questions(rows, TEXTS)[:4]
    for who, verdicts in {
        "Ada": ["verified", "verified", "unsupported"],
        "Ben": ["verified", "contradicted", ""],
    }.items():
        for question, verdict in zip(questions, verdicts, strict=False):
            if verdict:
                review.append(tmp_path / who, review.decision(question, verdict, who, f"note of {who}"))
    agreement = review.merge(tmp_path / "Ada", tmp_path / "Ben")
    assert [(made["id"], made["who"]) for made in agreement.decisions] == [("low", "Ada, Ben"), ("lost", "Ada")]
    assert (agreement.both, agreement.alike, agreement.kappa) == (2, 1, 0.0)
    assert agreement.differ.loc["flagged"].tolist() == ["verified", "note of Ada", "contradicted", "note of Ben"]
    assert ids(review.queue(questions, agreement.decisions)) == ["flagged", "mid"]


def test_kappa():
    table = {("a", "a"): 20, ("a", "b"): 5, ("b", "a"): 10, ("b", "b"): 15}
    pairs = [pair for pair, count in table.items() for _ in range(count)]
    assert review.cohens_kappa(pairs) == pytest.approx(0.4)  # observed 0.7, by chance 0.5
    assert review.cohens_kappa([("a", "a"), ("b", "b")]) == 1.0
    assert review.cohens_kappa([("a", "a")]) is review.cohens_kappa([]) is None


# --- the spreadsheet


def saved_by_a_spreadsheet(path, cells: list[list[str]], separator: str = ";") -> None:
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=separator, lineterminator="\r\n").writerows(cells)


def test_export_edit_import_changes_exactly_the_edited_rows(rows, tmp_path):
    sheet, path = tmp_path / "sheet.csv", tmp_path / "decisions.jsonl"
    rows = rows + [result(f"=more{n}", 0.1) for n in range(6)]
    questions = [question for question in review.questions(rows, TEXTS) if not question.row["auto"]]
    for question, verdict in zip(questions, ["verified", "verified", "contradicted", "unsupported"], strict=False):
        review.append(path, review.decision(question, verdict, "Ada", "=1+1\nsecond line"))
    before = {made["id"]: made for made in review.read_decisions(path)}
    review.export_csv(sheet, questions, before.values())
    assert review.import_csv(sheet, questions, path, "Ben") == ([], [])

    head, *cells = csv.reader(sheet.read_text("utf-8-sig").splitlines(keepends=True))
    at = {name: number for number, name in enumerate(head)}
    assert not any(cell.startswith(("=", "+", "-", "@")) for line in cells for cell in line)
    cells[0][at["verdict"]] = " Contradicted "
    cells[1][at["verdict"]] = ""  # taken back
    cells[2][at["note"]] = "another note"
    cells[4][at["verdict"]] = "cannot tell"
    cells[5][at["verdict"]] = "probably"
    cells[6][at["note"]] = "a note alone"
    cells[7].append("one too many")
    cells[8] = cells[3]
    cells[9][at["verdict"]], cells[9][at["id"]] = "verified", "5-Nov"  # what a spreadsheet makes of an id
    saved_by_a_spreadsheet(sheet, [head, *cells])
    review.append(path, review.decision(questions[3], "fabricated", "Ada"))  # decided anew since the export
    changed, problems = review.import_csv(sheet, questions, path, "Ben")
    assert changed == ["low", "flagged", "lost", "=more0", "=more5"]
    assert [problem.split(":")[0] for problem in problems] == [
        "row 7 (=more1)",
        "row 8 (=more2)",
        "row 9 (=more3)",
        "row 10 (mid)",
    ]
    assert "'probably' is no verdict" in problems[0]

    after = {made["id"]: made for made in review.read_decisions(path)}
    assert (after["low"]["verdict"], after["low"]["note"]) == ("contradicted", "=1+1\nsecond line")
    assert (after["lost"]["verdict"], after["lost"]["note"]) == ("contradicted", "another note")
    assert after["=more0"]["verdict"] == "cannot-tell" and after["=more5"]["who"] == "Ben"
    assert (after["mid"]["verdict"], after["mid"]["who"]) == ("fabricated", "Ada")
    assert set(after) == {"low", "lost", "mid", "=more0", "=more5"}

    assert review.import_csv(sheet, questions, path, "Ben").changed == []  # what was imported before

    changed_text = review.questions(rows, {**TEXTS, "1": "Another text."})
    assert "has changed" in review.import_csv(sheet, changed_text, path, "Ben").problems[0]
    saved_by_a_spreadsheet(sheet, [["id", "verdict"], ["a", "verified"]], ",")
    with pytest.raises(InputError, match="'exported'"):
        review.import_csv(sheet, questions, path, "Ben")


@given(st.text(max_size=40) | st.text("'=+-@\t\n ＝1", max_size=6))
def test_no_cell_is_a_formula_and_each_comes_back(text):
    cell = review.safe_cell(text)
    assert not cell.startswith(tuple("=+-@\t\r＝＋－＠"))
    assert review.plain_cell(cell) == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.text(st.characters(), max_size=30) | st.text("'=\r\n;,\"\ud800\x00 ", max_size=8))
def test_what_was_not_edited_is_not_changed(tmp_path, note):
    (tmp_path / "decisions.jsonl").unlink(missing_ok=True)
    questions = review.questions([result(note)], TEXTS)
    review.append(tmp_path / "decisions.jsonl", review.decision(questions[0], "verified", "Ada", note))
    review.export_csv(tmp_path / "sheet.csv", questions, review.read_decisions(tmp_path / "decisions.jsonl"))
    assert review.import_csv(tmp_path / "sheet.csv", questions, tmp_path / "decisions.jsonl", "Ben") == ([], [])


def test_the_spreadsheet_does_not_tell_which_rows_are_audits(rows, tmp_path):
    for audit, told in ((0, True), (3, False)):
        questions = review.queue(review.questions(rows, TEXTS, audit=audit))
        review.export_csv(tmp_path / "sheet.csv", questions)
        assert ("0.9" in (tmp_path / "sheet.csv").read_text("utf-8-sig")) == told


# --- what decisions justify


def test_the_committed_decisions_close_the_loop(pipl):
    results, articles = pipl
    questions = review.questions(results, articles, audit=20)
    decisions = review.read_decisions(ROOT / "data" / "decisions.jsonl")
    assert len(decisions) == 35 and review.queue(questions, decisions) == []
    matrix = evaluation.confusion_matrix(results, review.labels(questions, decisions))
    assert matrix.loc["contradicted", "verified"] == matrix.loc["unsupported", "verified"] == 1
    assert np.trace(matrix) == 33
    audit = review.audit_bound(questions, decisions)
    assert (audit.alone, audit.audited, audit.decided, audit.errors) == (20, 20, 20, 0)
    assert round(audit.bound, 3) == 0.139 and audit.missing(0.05) == 39 and audit.missing(0.2) == 0
    assert review.lowest_safe_threshold(questions, decisions, 0.15).threshold == 0.7
    assert review.lowest_safe_threshold(questions, decisions, 0.10).missing == 9


def test_what_is_not_decided_or_cannot_be_told_counts_as_wrong(rows):
    questions = review.questions(rows, TEXTS, audit=4)
    audits = [question for question in questions if question.audit]
    made = [review.decision(question, "verified", "Ada") for question in audits]
    assert review.audit_bound(questions, made)[:4] == (6, 4, 4, 0)
    made[0]["verdict"] = "cannot-tell"
    bound = review.audit_bound(questions, made[:3])
    assert bound[:4] == (6, 4, 3, 1) and bound.bound == evaluation.error_upper_bound(2, 4)
    assert review.labels(questions, made)[audits[0].row["id"]] is None
    assert review.lowest_safe_threshold(questions, made[:3], 0.9).steps["errors"].iloc[0] == 2


def test_only_drawn_rows_test_a_threshold(rows):
    questions = review.questions(rows, TEXTS, audit=2, seed=2)
    made = [review.decision(question, "verified", "Ada") for question in review.queue(questions)]
    found = review.lowest_safe_threshold(questions, made, 0.9, thresholds=[0])
    assert (
        found.steps["alone"].tolist() == [sum(q.drawn and q.row["id"] in ("low", "mid") for q in questions) + 2] == [3]
    )


def population(rng, autos: int, others: int, wrong_auto: float, wrong_other: float):
    """Questions on so many rows, and decisions on all of them: a share of each kind is found to be wrong."""
    confidence = [*rng.uniform(0.8, 1, autos), *rng.uniform(0.7, 0.8, others)]
    wrong = rng.random(autos + others) < np.repeat([wrong_auto, wrong_other], [autos, others])
    questions, decisions = [], []
    for n, (sure, bad) in enumerate(zip(confidence, wrong, strict=True)):
        row = {"id": str(n), "answer": {"choice": "supports"}, "verdict": "verified", "confidence": sure, "flags": [],
               "auto": n < autos}  # fmt: skip
        questions.append(review.Question(row, None, None, None, None, None, f"d{n}", "s", False, None))
        decisions.append({"id": str(n), "question": f"d{n}", "verdict": "contradicted" if bad else "verified"})
    return questions, decisions


def drawn(questions, audit: int, seed: int):
    chosen = review.random_sample([q.row for q in questions], [q.digest for q in questions], audit, seed)
    return [dataclasses.replace(question, drawn=place in chosen) for place, question in enumerate(questions)]


def test_the_audit_bound_holds_and_one_from_reviewed_rows_would_not():
    """1,000 runs of a model that is surer where it is wrong: 8 % wrong above the line, 2 % below."""
    rng, runs = np.random.default_rng(1), 1000
    held = reviewed_held = 0
    for seed in range(runs):
        questions, decisions = population(rng, autos=80, others=40, wrong_auto=0.08, wrong_other=0.02)
        questions = drawn(questions, 40, seed)
        looked_at = [made for q, made in zip(questions, decisions, strict=True) if q.audit or not q.row["auto"]]
        held += review.audit_bound(questions, looked_at).bound >= 0.08
        below = [made["verdict"] for q, made in zip(questions, decisions, strict=True) if not q.row["auto"]]
        reviewed_held += evaluation.error_upper_bound(below.count("contradicted"), len(below)) >= 0.08
    assert held >= 0.95 * runs
    assert reviewed_held < 0.95 * runs


def test_a_threshold_is_not_lowered_where_it_must_not_be():
    """400 runs: 1 % wrong above 0.8, 8.25 % above 0.7, so that a target of 8 % allows the one and not the other."""
    rng, found = np.random.default_rng(2), []
    for seed in range(400):
        questions, decisions = population(rng, autos=120, others=40, wrong_auto=0.01, wrong_other=0.3)
        found.append(review.lowest_safe_threshold(drawn(questions, 60, seed), decisions, 0.08).threshold)
    assert found.count(0.8) > 300
    assert len(found) - found.count(0.8) - found.count(None) <= 0.05 * 400


def test_bounds_are_exact_for_a_sample_of_few_rows():
    """Drawn without putting back, from 60 rows with any number of wrong ones, the bound holds as it says."""
    for n in (5, 20, 40, 59):
        bounds = np.array([evaluation.error_upper_bound(seen, n) for seen in range(n + 1)])
        for wrong in range(61):
            held = hypergeom.pmf(np.arange(n + 1), 60, wrong, n)[bounds >= wrong / 60].sum()
            assert held >= 0.95, (n, wrong)


@pytest.mark.parametrize("audit", [10, 40])
@pytest.mark.parametrize("share_auto", [0.3, 0.7])
def test_bounds_hold_for_a_draw_that_ends_before_one_auto_row_too_many(audit, share_auto):
    """How often the bound at a lower threshold is below the true error, summed over all draws there can be."""
    for wrong_auto in (0, 0.01, 0.05, 0.2, 1):
        for wrong_other in (0, 0.03, 0.1, 0.4, 1):
            true = share_auto * wrong_auto + (1 - share_auto) * wrong_other
            others = np.arange(int(nbinom.ppf(1 - 1e-9, audit + 1, share_auto)) + 1)
            missed = 0.0
            for count, chance in zip(others, nbinom.pmf(others, audit + 1, share_auto), strict=True):
                # the bound is too low where so few errors, or fewer, come in less than 5 % of all samples
                seen = np.arange(audit + count + 1)
                few = seen[binom.cdf(seen, audit + count, true) < 0.05]
                if few.size:
                    in_auto = np.arange(min(audit, few[-1]) + 1)
                    together = binom.pmf(in_auto, audit, wrong_auto) * binom.cdf(few[-1] - in_auto, count, wrong_other)
                    missed += chance * together.sum()
            assert missed <= 0.05, (wrong_auto, wrong_other, missed)


# --- what is shown


class Parsed(HTMLParser):
    def __init__(self, page: str):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        assert {name for name, _ in attributes} <= {"class", "dir", "tabindex"}, attributes

    def handle_data(self, data):
        self.text += data


HOSTILE = st.text(max_size=60) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "</div><h1>",
        "&lt;b&gt;",
        "![x](http://a.b/c)",
        "\u202egnp",
    ]
)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_hostile_text_is_shown_and_not_interpreted(claim, name, text):
    row = {"id": name, "claim": claim, "quote": claim, "cited": text, "error": text, "answer": None, "verdict": None,
           "flags": [name], "auto": False}  # fmt: skip
    question = review.Question(
        row, name, text + claim + text, len(text), len(text + claim), text, "d", "s", False, None
    )
    for page in (review.page_html(question), review.answer_html(row), review.progress_html(1, 1, claim, text)[:-60]):
        assert Parsed(page).tags <= {"div", "span", "mark", "b", "strong", "ul", "li"}
    parsed = Parsed(review.page_html(question))
    assert not review.UNSEEN.search(parsed.text.replace("\\", ""))
    if not review.UNSEEN.search(claim) and "\r" not in claim:
        assert claim in parsed.text


def test_a_long_text_shows_the_quote_at_once_and_no_more_than_a_browser_bears():
    text = "某" * 5_000_000 + "引文" + "某" * 5_000_000
    row = {"id": "a", "claim": "某", "quote": "引文", "cited": None, "error": None}
    question = review.Question(row, "一", text, 5_000_000, 5_000_002, None, "d", "s", False, None)
    page = review.page_html(question)
    assert len(page) < 50_000 and "4,999,800 characters before this" in page and "<mark>引文</mark>" in page
    unmarked = dataclasses.replace(question, start=None, end=None)
    assert len(review.page_html(unmarked)) < 50_000


def test_with_audits_in_the_queue_every_answer_is_folded(pipl, tmp_path):
    results, articles = pipl
    for audit in (0, 5):
        panel = review.Panel(review.questions(results, articles, audit=audit), tmp_path / f"{audit}.jsonl", "Ada")
        while panel.question:
            assert panel.answer_open is (audit == 0)
            assert panel.question.row["answer"]["model"] not in panel.page.value + panel.top.value + panel.status.value
            if panel.question.row["id"] == "fine_five_million":
                panel.show_answer(True)
                assert "confidence 0.64" in panel.answer.value
            panel.decide(panel.question.row["verdict"])
        shown = {made["id"] for made in review.read_decisions(panel.path) if made["answer_shown"]}
        assert len(shown) == (15 if audit == 0 else 1)
    assert panel._repr_mimebundle_()["text/plain"] == "every row is decided"
