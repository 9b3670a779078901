"""What `evaluation` says of labelled rows: the published figures, exact bounds, and promises that hold."""

import csv
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import evaluation

HERE = Path(__file__).parent
VERDICTS = {"supports": "verified", "contradicts": "contradicted", "says_nothing": "unsupported"}


def row(id, verdict, confidence=None, flags=(), asked=None):
    """A row of `check_citations`, as far as `evaluation` reads it."""
    answered = confidence is not None if asked is None else asked
    answer = {"choice": "supports", "confidence": confidence} if answered else None
    return {"id": id, "verdict": verdict, "confidence": confidence, "flags": list(flags), "answer": answer}


@pytest.fixture(scope="module")
def published():
    """The 40 published rows of the Chinese walk, and the right verdict of each."""
    with open(HERE / "data/published/pipl_results.tsv", encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(file, delimiter="\t"))
    rows = [row(r["id"], r["verdict"], None if r["confidence"] == "-" else float(r["confidence"])) for r in records]
    assert len(rows) == 40
    assert all(VERDICTS.get(r["relation"], "fabricated") == r["verdict"] for r in records)
    return rows, {r["id"]: r["expected"] for r in records}


# --- the published figures ---


def test_published_confusion_matrix(published):
    matrix = evaluation.confusion_matrix(*published)
    assert list(matrix.index) == list(matrix.columns) == ["verified", "contradicted", "unsupported", "fabricated"]
    assert matrix.to_numpy().tolist() == [[20, 0, 0, 0], [1, 7, 0, 0], [1, 0, 6, 0], [0, 0, 0, 5]]


def test_published_threshold_table(published):
    rows, expected = published
    for labels in (expected, list(expected.values())):
        table = evaluation.threshold_table(rows, labels)
        assert list(table.index) == [0, 0.5, 0.6, 0.7, 0.8, 0.9]
        assert list(table.columns) == ["alone", "alone_right", "review", "review_errors"]
        assert table.to_numpy().tolist() == [
            [35, 33, 0, 0],
            [33, 32, 2, 1],
            [29, 28, 6, 1],
            [27, 27, 8, 2],
            [20, 20, 15, 2],
            [10, 10, 25, 2],
        ]


def test_published_promises(published):
    at = evaluation.error_bound_at(*published)
    assert (at.threshold, at.alone, at.errors, round(at.bound, 3)) == (0.8, 20, 0, 0.139)

    found = evaluation.lowest_safe_threshold(*published, target=0.15)
    assert (found.threshold, found.needed, found.missing) == (0.7, 30, 1)
    assert found.steps[["alone", "errors", "passed"]].to_numpy().tolist() == [
        [20, 0, True],
        [27, 0, True],
        [29, 1, False],
    ]

    none = evaluation.lowest_safe_threshold(*published, target=0.05)
    assert (none.threshold, none.needed, none.missing, len(none.steps)) == (None, 59, 39, 1)
    assert "justify no threshold for an error below 5%" in none.sentence() and "39 more" in none.sentence()
    assert "不足以支持任何阈值" in none.sentence("zh") and "还差 39 条" in none.sentence("zh")


def test_published_curves(published):
    curve = evaluation.risk_coverage(*published)
    assert curve["threshold"].is_monotonic_decreasing and curve["threshold"].is_unique
    at = curve[curve["threshold"] == 0.8].iloc[0]
    assert (at["coverage"], at["risk"], at["alone"]) == (20 / 35, 0, 20)
    assert (curve["coverage"].iloc[-1], curve["risk"].iloc[-1]) == (1, 2 / 35)

    table = evaluation.reliability(*published)
    assert table["low"].tolist() == [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert table["rows"].tolist() == [2, 4, 2, 7, 10, 10]
    assert table["accuracy"].tolist() == [0.5, 1, 0.5, 1, 1, 1]
    # the exact two-sided interval of 10 in 10 is (0.025 ** (1/10), 1)
    assert table.iloc[-1][["lower", "upper"]].tolist() == pytest.approx([0.025**0.1, 1])


# --- labels ---


def test_rows_without_a_label_and_unchecked_rows_count_for_nothing():
    rows = [row("a", "verified", 0.9), row("b", None), row("c", "verified", 0.9), row("d", "verified", 0.7)]
    expected = {"a": "verified", "b": "contradicted", "c": None, "d": "partly"}
    assert [r["id"] for r, _ in evaluation.labelled(rows, expected)] == ["a", "b", "d"]

    matrix = evaluation.confusion_matrix(rows, expected)
    assert list(matrix.index) == ["verified", "contradicted", "unsupported", "fabricated", "partly"]
    assert list(matrix.columns) == [*matrix.index, "unchecked"]
    assert matrix.loc["contradicted", "unchecked"] == matrix.loc["partly", "verified"] == 1
    assert matrix.to_numpy().sum() == 3
    assert evaluation.threshold_table(rows, expected, [0.8]).to_numpy().tolist() == [[1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("rows", "expected", "fault"),
    [
        (["a"], {"A": "verified"}, "label for 'A', which is no id"),
        (["a", "a"], {"a": "verified"}, "2 results share the id 'a'"),
        (["a", "b"], ["verified"], "1 labels for 2 results"),
        (["a"], {"a": float("nan")}, "label of 'a' is nan"),
        (["a"], {"a": "unchecked"}, "label of 'a' is 'unchecked'"),
    ],
)
def test_faulty_labels_are_named(rows, expected, fault):
    with pytest.raises(ValueError, match=fault):
        evaluation.labelled([row(id, "verified", 0.9) for id in rows], expected)


def test_malformed_ids_go_unlabelled():
    rows = [row(["no", "id"], None), row(None, None), row("a", "verified", 0.9)]
    assert len(evaluation.labelled(rows, {"a": "verified"})) == 1


# --- who stands ---


def test_a_flagged_row_never_stands_and_a_threshold_is_read_as_it_was_meant():
    rows = [row("a", "verified", 0.8), row("b", "verified", 1.0, ["moved"]), row("c", "verified", 0.7)]
    rows.append(row("d", "verified", None, asked=True))  # an answer whose confidence nobody knows
    labels = ["verified"] * 4
    tenths = np.arange(0, 1, 0.1)
    assert tenths[7] > 0.7
    table = evaluation.threshold_table(rows, labels, tenths)
    assert table["alone"].loc[[0.7, 0.8, 0.9]].tolist() == [2, 1, 0]
    assert table["review"].loc[0] == 2
    assert evaluation.risk_coverage(rows, labels)["coverage"].tolist() == [0.25, 0.5]


LABEL = st.sampled_from(evaluation.VERDICTS)
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), LABEL),  # the verdict
        st.one_of(st.none(), st.integers(0, 100).map(lambda n: n / 100)),  # the confidence
        st.sampled_from([[], [], ["moved"]]),
        st.one_of(st.none(), LABEL, st.just("partly")),  # the right answer
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_tables_add_up(drawn):
    rows = [row(i, verdict, confidence, flags) for i, (verdict, confidence, flags, _) in enumerate(drawn)]
    labels = [label for *_, label in drawn]
    matrix = evaluation.confusion_matrix(rows, labels)
    assert matrix.to_numpy().sum() == len(evaluation.labelled(rows, labels))

    table = evaluation.threshold_table(rows, labels, [0, 0.25, 0.5, 0.75, 1, 1.01])
    asked = [r for r, _ in evaluation.labelled(rows, labels) if r["verdict"] and r["answer"]]
    assert (table["alone"] + table["review"] == len(asked)).all()
    assert (table["alone_right"] + table["review"] - table["review_errors"]).nunique() == 1  # all that are right
    assert (table["alone_right"] <= table["alone"]).all() and (table["review_errors"] <= table["review"]).all()
    assert table["alone"].is_monotonic_decreasing and table["alone_right"].is_monotonic_decreasing
    assert table["review"].is_monotonic_increasing and table["review_errors"].is_monotonic_increasing

    curve = evaluation.risk_coverage(rows, labels)
    again = evaluation.threshold_table(rows, labels, curve["threshold"])
    assert curve["alone"].tolist() == again["alone"].tolist()
    assert curve["errors"].tolist() == (again["alone"] - again["alone_right"]).tolist()

    bins = evaluation.reliability(rows, labels)
    assert bins["rows"].sum() == len(asked)
    assert ((bins["lower"] <= bins["accuracy"]) & (bins["accuracy"] <= bins["upper"])).all()


def test_a_confidence_beyond_the_bins_is_named():
    with pytest.raises(ValueError, match=r"confidence 1\.5 of 'a' is outside"):
        evaluation.reliability([row("a", "verified", 1.5)], ["verified"])


# --- bounds ---


def test_bounds_against_known_values():
    assert evaluation.error_upper_bound(0, 20) == pytest.approx(1 - 0.05 ** (1 / 20))  # 13.9 %
    assert evaluation.error_upper_bound(5, 100) == pytest.approx(0.1022534, abs=1e-6)
    assert evaluation.error_upper_bound(0, 0) == evaluation.error_upper_bound(7, 7) == 1
    assert [evaluation.labels_needed(target) for target in (0.1, 0.05, 0.01)] == [29, 59, 299]
    assert evaluation.labels_needed(0.05, errors=1) == 93
    for errors, n in ((-1, 5), (6, 5)):
        with pytest.raises(ValueError, match="errors must lie between"):
            evaluation.error_upper_bound(errors, n)
    for target in (0, 1, 5):
        with pytest.raises(ValueError, match="target is"):
            evaluation.lowest_safe_threshold([], [], target)
    with pytest.raises(ValueError, match="level is 95"):
        evaluation.lowest_safe_threshold([], [], 0.05, level=95)


@given(st.integers(1, 2000), st.floats(0, 0.99), st.sampled_from([0.8, 0.95, 0.99]))
def test_a_bound_is_the_rate_at_which_so_few_errors_are_just_too_rare(n, share, level):
    errors = int(n * share)
    bound = evaluation.error_upper_bound(errors, n, level)
    assert binom.cdf(errors, n, bound) == pytest.approx(1 - level, abs=1e-6)


# --- the promise of lowest_safe_threshold ---

TARGET, GRID = 0.1, (0.8, 0.7, 0.6, 0.5, 0.0)
BOUNDS = np.array([[evaluation.error_upper_bound(min(e, n), n) for n in range(301)] for e in range(101)])
WORLDS = {  # the share of rows in each band of confidence, from 0.8 up to below 0.5, and the error rate in it
    "every threshold just at the target": ([0.4, 0.1, 0.1, 0.2, 0.2], [0.1, 0.1, 0.1, 0.1, 0.1]),
    "the first safe, the second just not": ([0.4, 0.2, 0.2, 0.1, 0.1], [0.02, 0.26, 0.2, 0.3, 0.5]),
    "the lowest just not": ([0.4, 0.2, 0.2, 0.1, 0.1], [0.01, 0.02, 0.05, 0.2, 0.62]),
    "the more confident, the worse": ([0.2, 0.2, 0.2, 0.2, 0.2], [0.12, 0.1, 0.09, 0.09, 0.1]),
}


def drawn(shares, error_rates, runs, rng, rows=300):
    """How many rows stand and how many of them are wrong, at each threshold (columns) of each run (rows)."""
    counts = rng.multinomial(rows, shares, size=runs)
    return counts.cumsum(axis=1), rng.binomial(counts, error_rates).cumsum(axis=1)


def in_order(passes):
    """Which thresholds the fixed order accepts: those before the first that fails."""
    return np.logical_and.accumulate(passes, axis=1)


def best_of_all(passes):
    """Which threshold is kept by looking at all and taking the lowest that passes."""
    lowest = passes.shape[1] - 1 - np.argmax(passes[:, ::-1], axis=1)
    return passes & (np.arange(passes.shape[1]) == lowest[:, None])


@pytest.mark.parametrize("world", WORLDS)
def test_the_promise_is_kept_at_least_as_often_as_stated(world):
    shares, rates = map(np.array, WORLDS[world])
    unsafe = (shares * rates).cumsum() / shares.cumsum() >= TARGET - 1e-12
    assert unsafe.any()
    runs = 20_000
    alone, errors = drawn(shares, rates, runs, np.random.default_rng(3))
    passes = BOUNDS[errors, alone] <= TARGET
    broken = (in_order(passes) & unsafe).any(axis=1).mean()
    noise = 3 * (0.05 * 0.95 / runs) ** 0.5
    assert broken <= 0.05 + noise

    if world == "every threshold just at the target":
        assert broken > 0.03  # as close to 5 % as whole rows allow, so that a laxer rule would be found out
        assert (best_of_all(passes) & unsafe).any(axis=1).mean() > 0.08  # and this one is


def test_a_safe_threshold_is_found():
    alone, errors = drawn([0.4, 0.2, 0.2, 0.1, 0.1], [0.01, 0.01, 0.02, 0.3, 0.8], 2000, np.random.default_rng(5))
    accepted = in_order(BOUNDS[errors, alone] <= TARGET)
    assert accepted[:, 2].mean() > 0.95  # 0.6, of whose rows 1.25 % are wrong
    assert accepted[:, 4].mean() < 0.05  # 0, of whose rows 12 % are


def test_the_simulated_rule_is_the_function():
    rng = np.random.default_rng(7)
    middles = [0.85, 0.75, 0.65, 0.55, 0.2]
    for _ in range(60):
        shares, rates = rng.dirichlet([1] * 5), rng.uniform(0, 0.15, 5)
        counts = rng.multinomial(150, shares)
        wrong = rng.binomial(counts, rates)
        rows = [row(None, "verified", c) for c, n in zip(middles, counts, strict=True) for _ in range(n)]
        labels = [
            label for n, w in zip(counts, wrong, strict=True) for label in ["contradicted"] * w + ["verified"] * (n - w)
        ]
        accepted = in_order(BOUNDS[[wrong.cumsum()], [counts.cumsum()]] <= TARGET)[0]
        threshold = GRID[accepted.sum() - 1] if accepted.any() else None
        found = evaluation.lowest_safe_threshold(rows, labels, TARGET, thresholds=rng.permutation(GRID))
        assert found.threshold == threshold
        assert len(found.steps) == min(accepted.sum() + 1, 5)


def test_a_threshold_where_too_few_rows_stand_ends_the_sequence():
    rows = [row(i, "verified", 0.85) for i in range(100)]
    labels = ["verified"] * 100
    found = evaluation.lowest_safe_threshold(rows, labels, 0.05, thresholds=(0.9, 0.8))
    assert (found.threshold, found.needed, found.missing) == (None, 59, 59)
    assert evaluation.lowest_safe_threshold(rows, labels, 0.05).threshold == 0


# --- plots ---


def plots(rows, expected, language):
    curve, table = evaluation.risk_coverage(rows, expected), evaluation.reliability(rows, expected)
    yield evaluation.plot_confusion(evaluation.confusion_matrix(rows, expected), language)
    yield evaluation.plot_risk_coverage(curve, language=language)
    yield evaluation.plot_reliability(table, language=language)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_plots_render_every_character(published, language, tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    for number, figure in enumerate(plots(*published, language)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # matplotlib warns of each glyph that its font lacks
            figure.savefig(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 10_000
        assert figure.get_figwidth() <= 8
    assert dict(matplotlib.rcParams) == before


def test_a_missing_glyph_would_be_noticed(tmp_path):
    from matplotlib.figure import Figure

    figure = Figure()
    figure.text(0.5, 0.5, "证")
    with pytest.warns(UserWarning, match="Glyph"):
        figure.savefig(tmp_path / "box.png")


def test_labels_of_ones_own_are_drawn_as_written(tmp_path):
    rows = [row("a", "verified", 0.9), row("b", None)]
    matrix = evaluation.confusion_matrix(rows, {"a": "部分 $\\frac$ <b>", "b": "verified"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluation.plot_confusion(matrix).savefig(tmp_path / "own.png")


def test_what_cannot_be_drawn_says_why(monkeypatch):
    with pytest.raises(ValueError, match="no point"):
        evaluation.plot_risk_coverage(evaluation.risk_coverage([], []))
    with pytest.raises(ValueError, match="no row"):
        evaluation.plot_reliability(evaluation.reliability([], []))
    with pytest.raises(ValueError, match="language is 'fr'"):
        evaluation.plot_confusion(evaluation.confusion_matrix([], []), "fr")
    monkeypatch.setitem(sys.modules, "pylopdf_fonts_zh_cn", None)
    with pytest.raises(ModuleNotFoundError, match="pylopdf-fonts-zh-cn"):
        evaluation.plot_confusion(evaluation.confusion_matrix([], []), "zh")


def test_matplotlib_and_the_font_load_only_where_they_are_drawn_with():
    program = """
import sys, evaluation
matrix = evaluation.confusion_matrix([], [])
assert "matplotlib" not in sys.modules
evaluation.plot_confusion(matrix)
assert "pylopdf_fonts_zh_cn" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=HERE.parent)
