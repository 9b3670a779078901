"""How good the check is, measured on rows whose right answer is known.

Everything here takes `results`, the rows of `helpers.check_citations`, and `expected`, the right verdicts: a
dict of id -> verdict, or a list in the results' order. Two rules hold in every figure:

- A row without a label is left out; `len(results) - len(labelled(results, expected))` says how many were.
- A row that could not be checked (its verdict is None) is neither right nor wrong: the confusion matrix shows
  it in a column of its own, every other figure leaves it out.

The bounds suppose that the labelled rows are a random sample of the citations that the promise is about, each
drawn independently: rows picked because they looked doubtful, or many citations of one paragraph, do not make
one.
"""

from __future__ import annotations

import bisect
import re
import textwrap
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import beta

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VERDICTS = ("verified", "contradicted", "unsupported", "fabricated")
UNCHECKED = "unchecked"
THRESHOLDS = (0, 0.5, 0.6, 0.7, 0.8, 0.9)

Row = Mapping[str, Any]
Expected = Mapping[Any, str | None] | Sequence[str | None]


# --- rows and their labels ---


def labelled(results: Sequence[Row], expected: Expected) -> list[tuple[Row, str]]:
    """The rows that have a label: `[(row, expected verdict), ...]` in the results' order.

    A label of None means that nobody could tell; such a row is left out like one without a label. Raises
    ValueError for a label that fits no row (a misspelt id would otherwise shrink the sample unseen), for one
    id on two rows, for a list of another length than the results, and for a label that is no verdict.
    """
    if isinstance(expected, Mapping):
        pairs = _labelled_by_id(results, expected)
    elif len(expected) == len(results):
        pairs = list(zip(results, expected, strict=True))
    else:
        raise ValueError(
            f"expected has {len(expected)} labels for {len(results)} results: give None where one is unknown."
        )
    for row, label in pairs:
        if label is not None and (not isinstance(label, str) or label in ("", UNCHECKED)):
            raise ValueError(f"The label of {row['id']!r} is {label!r}: give a verdict, or None where there is none.")
    return [(row, label) for row, label in pairs if label is not None]


def _labelled_by_id(results: Sequence[Row], expected: Mapping[Any, str | None]) -> list[tuple[Row, str | None]]:
    ids = [row["id"] if isinstance(row["id"], Hashable) else None for row in results]
    counts = Counter(ids)
    for wanted in expected:
        if wanted not in counts:
            raise ValueError(f"expected has a label for {wanted!r}, which is no id of the results: correct or drop it.")
        if counts[wanted] > 1:
            raise ValueError(
                f"{counts[wanted]} results share the id {wanted!r}: give expected as a list in their order."
            )
    return [(row, expected[id]) for row, id in zip(results, ids, strict=True) if id in expected]


def _asked(results: Sequence[Row], expected: Expected) -> pd.DataFrame:
    """The labelled rows that a model answered: id, confidence (NaN where there is none), flagged, right."""
    rows = [
        (row["id"], row["confidence"], bool(row.get("flags")), row["verdict"] == label)
        for row, label in labelled(results, expected)
        if row["answer"] is not None and row["verdict"] is not None
    ]
    frame = pd.DataFrame(rows, columns=["id", "confidence", "flagged", "right"])
    return frame.astype({"confidence": float, "flagged": bool, "right": bool})


def _stands(asked: pd.DataFrame, threshold: float) -> pd.Series:
    """Which rows stand on their own. A flagged row never does, whatever its confidence."""
    return ~asked["flagged"] & (asked["confidence"] >= threshold)


def _alone_and_errors(asked: pd.DataFrame, threshold: float) -> tuple[int, int]:
    stands = _stands(asked, threshold)
    return int(sum(stands)), int(sum(stands & ~asked["right"]))


def _clean(thresholds: Sequence[float]) -> list[float]:
    """The thresholds as they were meant: 0.7, where a sum of tenths comes to 0.7000000000000001.

    Only thresholds are rounded. A confidence is compared as the server sent it, as `helpers.verdict` does, so
    that the rows that stand here are the rows that stood there.
    """
    return [round(float(threshold), 9) for threshold in thresholds]


# --- what came out ---


def confusion_matrix(results: Sequence[Row], expected: Expected) -> pd.DataFrame:
    """How often each expected verdict (rows) was given each verdict (columns), over all labelled rows.

    The four verdicts come first, in their usual order, then any other label in order of appearance. A last
    column `unchecked` is there only where a row could not be checked.
    """
    pairs = [(label, row["verdict"]) for row, label in labelled(results, expected)]
    names = dict.fromkeys((*VERDICTS, *(label for label, _ in pairs), *(verdict for _, verdict in pairs)))
    unchecked = names.pop(None, False) is None
    columns = [*names, UNCHECKED] if unchecked else list(names)
    matrix = pd.DataFrame(
        0, index=pd.Index(names, name="expected"), columns=pd.Index(columns, name="verdict"), dtype=int
    )
    for (label, verdict), count in Counter(pairs).items():
        matrix.loc[label, UNCHECKED if verdict is None else verdict] = count
    return matrix


def threshold_table(
    results: Sequence[Row], expected: Expected, thresholds: Sequence[float] = THRESHOLDS
) -> pd.DataFrame:
    """What each threshold would have done with the rows that asked a model; the index is the threshold.

    `alone` rows stand on their own (confidence at or above the threshold and no flag) and `alone_right` of
    them are right; `review` rows go to a person, and `review_errors` of them hold an error for that person to
    find.
    """
    asked = _asked(results, expected)
    rows = []
    for threshold in _clean(thresholds):
        alone, wrong = _alone_and_errors(asked, threshold)
        rows.append((alone, alone - wrong, len(asked) - alone, sum(~asked["right"]) - wrong))
    index = pd.Index(_clean(thresholds), name="threshold", dtype=float)
    return pd.DataFrame(rows, index=index, columns=["alone", "alone_right", "review", "review_errors"], dtype=int)


def risk_coverage(results: Sequence[Row], expected: Expected) -> pd.DataFrame:
    """The share that stands (coverage) against the share of it that is wrong (risk).

    One row per distinct confidence, from the highest down; columns coverage, risk, threshold, alone, errors.
    Rows of equal confidence enter together, since no threshold parts them. Coverage counts against all rows
    that asked a model, so flagged rows keep it below 1. The curve describes these rows: a threshold read off
    it carries no bound (`lowest_safe_threshold`).
    """
    asked = _asked(results, expected)
    able = asked[_stands(asked, -np.inf)]
    groups = (~able["right"]).groupby(able["confidence"]).agg(["size", "sum"]).sort_index(ascending=False).cumsum()
    alone, errors = groups["size"].to_numpy(int), groups["sum"].to_numpy(int)
    columns = {"coverage": alone / max(len(asked), 1), "risk": errors / np.maximum(alone, 1)}
    return pd.DataFrame({**columns, "threshold": groups.index.to_numpy(float), "alone": alone, "errors": errors})


def reliability(results: Sequence[Row], expected: Expected, bins: int | Sequence[float] = 10) -> pd.DataFrame:
    """How often the check is right at each confidence, over the rows that asked a model, flagged ones too.

    `bins` is a number of equal bins from 0 to 1, or their edges; a bin holds its lower edge, the last one its
    upper edge too. Bins without a row are left out. Columns low, high, rows, confidence (their mean),
    accuracy, and the exact two-sided 95 % interval lower, upper around it. Raises ValueError for a confidence
    outside the bins.
    """
    edges = np.asarray(_clean(np.linspace(0, 1, bins + 1) if np.ndim(bins) == 0 else bins))
    asked = _asked(results, expected).dropna(subset="confidence")
    outside = asked[(asked["confidence"] < edges[0]) | (asked["confidence"] > edges[-1])]
    if len(outside):
        id, confidence = outside.iloc[0][["id", "confidence"]]
        raise ValueError(f"The confidence {confidence} of {id!r} is outside the bins: give bins= edges that hold it.")
    number = np.clip(np.searchsorted(edges, asked["confidence"], side="right") - 1, 0, len(edges) - 2)
    rows = []
    for bin, group in asked.groupby(number):
        n, right = len(group), int(group["right"].sum())
        # Clopper-Pearson on both sides: each limit leaves out half of the 5 %
        upper = error_upper_bound(right, n, 0.975)
        lower = 1 - error_upper_bound(n - right, n, 0.975)
        rows.append((edges[bin], edges[bin + 1], n, group["confidence"].mean(), right / n, lower, upper))
    return pd.DataFrame(rows, columns=["low", "high", "rows", "confidence", "accuracy", "lower", "upper"])


# --- what may be promised ---


def error_upper_bound(errors: int, n: int, level: float = 0.95) -> float:
    """The exact one-sided upper bound on an error rate, `errors` of `n` independent rows being wrong.

    Clopper and Pearson (1934): the largest rate at which so few errors would still be seen in a share of 1 -
    level of all samples. No error in 20 rows still allows 0.139; no row at all allows 1.
    """
    if not 0 <= errors <= n:
        raise ValueError(f"{errors} errors in {n} rows: errors must lie between 0 and the number of rows.")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: give a share between 0 and 1, such as 0.95.")
    return 1.0 if errors == n else float(beta.ppf(level, errors + 1, n - errors))


def labels_needed(target: float, level: float = 0.95, errors: int = 0) -> int:
    """The fewest rows on which `errors` errors bound the error rate by `target`.

    59 rows for 5 % without an error; without one it is the smallest n with (1 - target)^n <= 1 - level.
    """
    if not 0 < target < 1:
        raise ValueError(f"target is {target}: give an error rate between 0 and 1, such as 0.05.")

    def enough(n: int) -> bool:
        return error_upper_bound(errors, n, level) <= target

    most = errors + 1
    while not enough(most):
        most *= 2
    return bisect.bisect_left(range(most), True, lo=errors, key=enough)


class ErrorBound(NamedTuple):
    """`errors` of the `alone` rows that stand are wrong: a share of `bound` at most, at `level`."""

    threshold: float
    alone: int
    errors: int
    bound: float
    level: float


def error_bound_at(
    results: Sequence[Row], expected: Expected, threshold: float = 0.8, level: float = 0.95
) -> ErrorBound:
    """What may be promised at one threshold, about the rows that asked a model and stand on their own.

    The bound holds for a threshold that was fixed before anybody looked at these labels. Read for several
    thresholds and kept for the best, it does not: `lowest_safe_threshold` is for that.
    """
    asked = _asked(results, expected)
    (threshold,) = _clean([threshold])
    alone, errors = _alone_and_errors(asked, threshold)
    return ErrorBound(threshold, alone, errors, error_upper_bound(errors, alone, level), level)


class SafeThreshold(NamedTuple):
    """What `lowest_safe_threshold` found; `print(found.sentence())` says it in words.

    `threshold` is the lowest that the labels justify, None where they justify none. `steps` are the tests in
    their order, up to the first that fails: indexed by threshold, columns alone, errors, bound, passed.
    `needed` is how many rows would have to stand at the one that failed, with the errors seen and no further
    one, for it to pass, and `missing` how many more that is than now; both are None where all passed.
    """

    threshold: float | None
    target: float
    level: float
    steps: pd.DataFrame
    needed: int | None
    missing: int | None

    def sentence(self, language: str = "en") -> str:
        """The finding in one or two sentences, in English ("en") or Chinese ("zh")."""
        words = _labels(language)
        steps = self.steps.reset_index().to_dict("records")
        promise = {"target": f"{100 * self.target:.3g}%", "level": f"{100 * self.level:.4g}%"}
        said = words["none_safe"].format(**promise)
        for step in steps:
            step["bound"] = f"{step['bound']:.1%}"
            if step["passed"]:
                said = words["safe"].format(**promise, **step)
            else:
                said += words["missing"].format(**step, needed=self.needed, missing=self.missing)
        return said


def lowest_safe_threshold(
    results: Sequence[Row],
    expected: Expected,
    target: float,
    level: float = 0.95,
    thresholds: Sequence[float] = (0.8, 0.7, 0.6, 0.5, 0),
) -> SafeThreshold:
    """The lowest threshold at which less than `target` of what stands is wrong, if the labels justify one.

    The thresholds are tested from high to low, each at the full level, and the first that fails ends it: a
    threshold passes if the exact upper bound on the error among the rows that stand there is at most the
    target. In a share of at least `level` of all samples no threshold passes whose true error is at or above
    the target.

    Why the order keeps that promise, and picking the best does not: a wrong threshold can only be chosen if
    the first wrong one in the order passes. Which one that is depends on the world and not on the sample, so
    a single test stands between us and a mistake, and it fails us in 1 - level of all samples at most.
    Whoever looks at all thresholds and keeps the lowest that passes gives every wrong one a chance of its
    own. (Fixed-sequence testing, as in Angelopoulos et al., "Learn then Test", 2021.)

    It follows that a threshold where too few rows stand is not skipped: it cannot pass, so it ends the
    sequence. To start where there are rows enough looks harmless, since it reads no label; but few rows at
    the top mean a sample that holds few of those rows, and the promise would then rest on errors being no
    commoner there, which is what the labels are to show. So the order starts at the threshold in force, 0.8,
    and asks whether it may be lowered. To begin elsewhere, say so in `thresholds` before looking at the
    labels; they are tested from high to low however listed.

    For the same reason, decide beforehand how many rows to label (`labels_needed`), and test once: labelling
    on until the test passes voids the bound too, so that `needed` is what to plan the next sample by. The
    labels must be a random sample across all confidences. Where doubtful rows were labelled more often than
    others, the rows that stand at a lower threshold are no sample of those that would.
    """
    labels_needed(target, level)  # raises ValueError for a target or a level that nothing can meet
    asked = _asked(results, expected)
    safe, needed, missing, steps = None, None, None, []
    for threshold in sorted(set(_clean(thresholds)), reverse=True):
        alone, errors = _alone_and_errors(asked, threshold)
        bound = error_upper_bound(errors, alone, level)
        steps.append((threshold, alone, errors, bound, bound <= target))
        if bound > target:
            needed = labels_needed(target, level, errors)
            missing = needed - alone
            break
        safe = threshold
    table = pd.DataFrame(steps, columns=["threshold", "alone", "errors", "bound", "passed"])
    return SafeThreshold(safe, target, level, table.set_index("threshold"), needed, missing)


# --- plots ---

INK, MUTED, FAINT, GRID = "#1f2937", "#6b7280", "#d1d5db", "#eef0f3"
BLUE, ORANGE = "#2563a8", "#d9622b"  # right and wrong; told apart by people who cannot tell red from green

LABELS = {
    "en": {
        "verdicts": {},
        "expected": "Right answer",
        "verdict": "Verdict of the check",
        "right": "{right} of {rows} verdicts are right",
        "unchecked": ", {unchecked} unchecked",
        "coverage": "Share that stands on its own",
        "risk": "Share of it that is wrong",
        "risk_title": "What a lower threshold costs in errors",
        "at": "threshold {threshold:g}: {alone} of {rows} stand, {errors} wrong",
        "all": "no threshold: {alone} of {rows} stand, {errors} wrong",
        "band": "Shaded: up to the exact upper bound (95%), for a threshold fixed beforehand",
        "confidence": "Confidence of the answer (0: a plain guess, 1: certain)",
        "accuracy": "Share of right verdicts",
        "reliability_title": "Is the check right as often as it is confident?",
        "bars": "Dashed: a calibrated answer among {options} options. Bars: exact 95% intervals",
        "rows": "rows",
        "safe": "At a threshold of {threshold:g} the error is below {target}, at a level of {level}: "
        "{errors} wrong of the {alone} that stand allows {bound} at most.",
        "none_safe": "These labels justify no threshold for an error below {target} at a level of {level}.",
        "missing": " At {threshold:g}, {errors} wrong of the {alone} that stand allows up to {bound}: "
        "it would take {needed} with no further error, {missing} more than there are.",
    },
    "zh": {
        "verdicts": {
            "verified": "证实",
            "contradicted": "相反",
            "unsupported": "无依据",
            "fabricated": "伪造",
            "unchecked": "未核查",
        },
        "expected": "正确答案",
        "verdict": "核查结论",
        "right": "{rows} 条结论中 {right} 条正确",
        "unchecked": "，{unchecked} 条未核查",
        "coverage": "自动采信的比例",
        "risk": "其中出错的比例",
        "risk_title": "降低阈值要付出多少错误",
        "at": "阈值 {threshold:g}：{rows} 条中采信 {alone} 条，错 {errors} 条",
        "all": "不设阈值：{rows} 条中采信 {alone} 条，错 {errors} 条",
        "band": "阴影：直至精确的 95% 上限（仅对事先定好的阈值成立）",
        "confidence": "答案的置信度（0：纯属猜测；1：完全确定）",
        "accuracy": "结论正确的比例",
        "reliability_title": "置信度高，结论就更准吗？",
        "bars": "虚线：{options} 个选项、校准良好时应有的比例；竖条：精确的 95% 置信区间",
        "rows": "条数",
        "safe": "阈值 {threshold:g}：在 {level} 的置信水平下，错误率低于 {target}"
        "（采信 {alone} 条，错 {errors} 条，错误率至多 {bound}）。",
        "none_safe": "要在 {level} 的置信水平下保证错误率低于 {target}，现有标注不足以支持任何阈值。",
        "missing": "阈值 {threshold:g} 处 {alone} 条中错 {errors} 条，错误率仍可能高达 {bound}；若不再出错，"
        "需要 {needed} 条，还差 {missing} 条。",
    },
}

CHINESE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]")


def plot_confusion(matrix: pd.DataFrame, language: str = "en") -> Figure:
    """The confusion matrix as a heat map: blue for right, orange for wrong.

    A colour is the stronger, the larger the share of its row. Labels in English ("en") or Chinese ("zh").
    """
    words = _labels(language)
    counts = matrix.to_numpy()
    wrong = np.array([[row != column for column in matrix.columns] for row in matrix.index])
    unchecked = np.array([column == UNCHECKED for column in matrix.columns])
    figure, axes = _canvas(width=1.35 * len(matrix.columns) + 1.9, height=0.72 * len(matrix.index) + 1.75)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    for i, j in np.ndindex(counts.shape):
        if counts[i, j]:
            colour = MUTED if unchecked[j] else ORANGE if wrong[i, j] else BLUE
            strength, size = 0.25 + 0.75 * shares[i, j], 15
            ink = "white" if strength > 0.5 and colour != ORANGE else INK
        else:
            colour, strength, size, ink = GRID, 1, 11, FAINT
        axes.add_patch(_cell(j, i, colour, strength))
        axes.text(j, i, str(counts[i, j]), ha="center", va="center", fontsize=size, color=ink)
    axes.set(xlim=(-0.5, counts.shape[1] - 0.5), ylim=(counts.shape[0] - 0.5, -0.5))
    for axis, names in ((axes.xaxis, matrix.columns), (axes.yaxis, matrix.index)):
        axis.set_ticks(range(len(names)), [_verdict_label(name, words) for name in names], linespacing=1.4)
    axes.set_xlabel(words["verdict"], labelpad=8)
    axes.set_ylabel(words["expected"], labelpad=8)
    axes.spines[:].set_visible(False)
    title = words["right"].format(right=counts[~wrong].sum(), rows=counts[:, ~unchecked].sum())
    if unchecked.any():
        title += words["unchecked"].format(unchecked=counts[:, unchecked].sum())
    _title(axes, title)
    return _finished(figure)


def plot_risk_coverage(curve: pd.DataFrame, threshold: float = 0.8, language: str = "en") -> Figure:
    """The curve of `risk_coverage` with the exact bound at each point, and the point of `threshold` marked.

    Raises ValueError for a curve without a point.
    """
    from matplotlib.patheffects import withStroke

    words = _labels(language)
    if curve.empty:
        raise ValueError("The curve has no point: no labelled row that asked a model can stand on its own.")
    bound = [error_upper_bound(*row) for row in zip(curve["errors"], curve["alone"], strict=True)]
    top = min(1.0, max(0.3, 1.5 * curve["risk"].max()))
    figure, axes = _canvas(7.2, 4.1)
    axes.fill_between(curve["coverage"], curve["risk"], bound, color=BLUE, alpha=0.1, linewidth=0)
    dots = {"marker": "o", "markersize": 4} if len(curve) < 50 else {}
    axes.plot(curve["coverage"], curve["risk"], color=BLUE, linewidth=2, clip_on=False, **dots)
    halo = withStroke(linewidth=3, foreground="white")  # keeps a label readable where it crosses the curve
    rows = round(curve["alone"].iloc[0] / curve["coverage"].iloc[0])
    marked = {len(curve) - 1: words["all"]}
    if (curve["threshold"] >= threshold).any():
        marked[int((curve["threshold"] >= threshold).sum()) - 1] = words["at"]
    for rank, i in enumerate(sorted(marked)):
        point = curve.iloc[i]
        said = marked[i].format(threshold=threshold, alone=int(point["alone"]), rows=rows, errors=int(point["errors"]))
        axes.plot(point["coverage"], point["risk"], "o", color=ORANGE, markersize=8, clip_on=False, zorder=4)
        side, shift = ("left", -4) if point["coverage"] < 0.5 else ("right", 4)
        offset = (shift, 11 + 16 * rank)  # points; the second label stands higher, should the two be close
        place = {"xy": (point["coverage"], point["risk"]), "xytext": offset, "textcoords": "offset points"}
        axes.annotate(said, **place, ha=side, color=INK, fontsize=9.5, path_effects=[halo])
    axes.set(xlim=(0, 1.02), ylim=(0, top), xlabel=words["coverage"], ylabel=words["risk"])
    _percent(axes.xaxis)
    _percent(axes.yaxis)
    _title(axes, words["risk_title"], words["band"])
    return _finished(figure)


def plot_reliability(table: pd.DataFrame, options: int = 3, language: str = "en") -> Figure:
    """The diagram of `reliability`: accuracy against confidence, with exact 95 % intervals and counts.

    Confidence is no probability: TypeSafe's is (p - 1/K) / (1 - 1/K) for the most likely of K options, 0 for
    a plain guess. The reference line is therefore not the diagonal but the accuracy 1/K + confidence (1 -
    1/K) that it would mean if p were calibrated. Raises ValueError for a table without a row.
    """
    words = _labels(language)
    if table.empty:
        raise ValueError("The table has no row: no labelled row asked a model.")
    figure, axes = _canvas(7.2, 4.4)
    axes.plot([0, 1], [1 / options, 1], color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
    spread = [table["accuracy"] - table["lower"], table["upper"] - table["accuracy"]]
    axes.errorbar(
        table["confidence"], table["accuracy"], yerr=spread, fmt="none", ecolor=BLUE, alpha=0.35, elinewidth=3
    )
    axes.plot(table["confidence"], table["accuracy"], "o", color=BLUE, markersize=8, clip_on=False, zorder=4)
    for _, bin in table.iterrows():
        axes.text(bin["confidence"], -0.085, f"{bin['rows']:.0f}", ha="center", va="center", color=INK, fontsize=9.5)
    axes.text(0.01, -0.085, words["rows"], ha="left", va="center", color=MUTED, fontsize=9.5)
    axes.set(xlim=(0, 1), ylim=(-0.15, 1.02), ylabel=words["accuracy"])
    axes.set_xlabel(words["confidence"])
    axes.set_xticks(np.linspace(0, 1, 11).round(1))
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.spines["left"].set_visible(False)
    _percent(axes.yaxis)
    _title(axes, words["reliability_title"], words["bars"].format(options=options))
    return _finished(figure)


def _labels(language: str) -> dict[str, Any]:
    if language not in LABELS:
        raise ValueError(f"language is {language!r}: there are labels in {', '.join(map(repr, LABELS))}.")
    return LABELS[language]


def _verdict_label(name: str, words: Mapping[str, Any]) -> str:
    """The verdict as the tables print it, with its translation under it where there is one."""
    translated = words["verdicts"].get(name)
    return f"{name}\n{translated}" if translated else textwrap.fill(name, 14)


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty figure (inches) and its axes, in the style that all plots share."""
    # matplotlib takes most of a second to load, so it loads when something is drawn
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(width, height), dpi=120, layout="constrained")
    # closed, a figure is shown once, where a notebook's cell returns it, and not again at the end of the cell
    pyplot.close(figure)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(length=0, labelcolor=MUTED, labelsize=9.5, pad=6)
    axes.xaxis.label.set(color=INK, fontsize=10.5)
    axes.yaxis.label.set(color=INK, fontsize=10.5)
    axes.set_axisbelow(True)
    return figure, axes


def _title(axes: Axes, text: str, explained: str = "") -> None:
    """A title at the left and, under it, what the marks mean."""
    axes.set_title(text, loc="left", fontsize=13, color=INK, pad=28 if explained else 14)
    axes.annotate(explained, (0, 1), (0, 12), "axes fraction", textcoords="offset points", color=MUTED, fontsize=9.5)


def _percent(axis: Any) -> None:
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1, decimals=0))
    axis.grid(True, color=GRID, linewidth=1)


def _cell(x: float, y: float, colour: str, strength: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.48, y - 0.47), 0.96, 0.94, facecolor=colour, alpha=strength, linewidth=0)


def _finished(figure: Figure) -> Figure:
    """The figure, in a font that has Chinese if any of its text does; nothing outside it is changed."""
    from matplotlib.text import Text

    texts = figure.findobj(Text)
    for text in texts:
        text.set_parse_math(False)  # a label with a $ in it is a label, not a formula
    if any(CHINESE.search(text.get_text()) for text in texts):
        path = _chinese_font()
        for text in texts:
            font = text.get_fontproperties().copy()
            font.set_file(path)
            text.set_fontproperties(font)
    return figure


def _chinese_font() -> str:
    """The path of Noto Sans SC, which comes with a package, so that the machine need have no such font."""
    try:
        from pylopdf_fonts_zh_cn import sans_path
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Chinese labels need the font package pylopdf-fonts-zh-cn: pip install -r requirements.txt"
        ) from error
    return str(sans_path())
