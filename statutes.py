"""Chinese statutes as they really come, split at their articles, and the numerals that they count with."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import combinations

# A Chinese statute. An article's heading stands at the start of a line, with a space after it or none. So may
# a reference to another article: hence what must not follow, and the rule that numbers rise (longest_rise).
NUMERAL = r"(?:[0-9０-９]{1,4}+|[〇零一二两三四五六七八九十百千]{1,9}+)"
REFERENCE = rf"之|第{NUMERAL}[款项条目]|[、，。；]|的|规定[的，]|(?:以及|[和与或至到及])第"
STATUTE_LINE = re.compile(
    rf"""^(?:[^\S\n]|[\#*])*+(?:
        第[ ]?(?P<article>{NUMERAL})[ ]?条(?:之(?P<inserted>{NUMERAL}))?+(?!{REFERENCE})
      | (?P<unit>第[ ]?(?P<number>{NUMERAL})[ ]?(?P<rank>分?编|[章节]))(?!{REFERENCE})
        (?P<title>[^\n。；，：]{{0,60}}+)$
      | (?P<contents>目[^\S\n]{{0,4}}[录次])(?:[^\S\n]|\*)*+$
      | (?P<preamble>序[^\S\n]{{0,4}}言)(?:[^\S\n]|\*)*+$
      | (?P<annex>附[件录表]?[ ]?{NUMERAL}?+)(?=[：:\s]|$)
    )""",
    re.MULTILINE | re.VERBOSE,
)
RANKS = ("编", "分编", "章", "节")
DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
TENS = {"十": 10, "百": 100, "千": 1000}


def numeral_value(numeral: str) -> int:
    """The number that a Chinese or Arabic numeral below 10,000 writes: 一千二百六十 and 1260 are 1260."""
    if numeral.isdecimal():
        return int(numeral)
    total = digit = 0
    for character in numeral:
        if character in TENS:
            total, digit = total + (digit or 1) * TENS[character], 0
        else:
            digit = DIGITS[character]
    return total + digit


def chinese_numeral(number: int) -> str:
    """A number from 1 to 9,999 as statutes write it: 15 is 十五, 110 is 一百一十, 1002 is 一千零二."""
    figures = zip(map(int, f"{number:04}"), ("千", "百", "十", ""), strict=True)
    written = "".join("零一二三四五六七八九"[figure] + (ten if figure else "") for figure, ten in figures)
    written = re.sub("零+", "零", written).strip("零")
    return written[1:] if written.startswith("一十") else written


def longest_rise(numbers: Sequence) -> list[int]:
    """The places of the longest strictly rising run among the numbers; the latest of several. O(n log n)."""
    least: list = []  # least[k]: the smallest number that a run of k + 1 can end with; at[k]: its place
    at: list[int] = []
    before: list[int] = []  # for every number, the place of the one before it in its run
    for place, number in enumerate(numbers):
        length = bisect_left(least, number)
        before.append(at[length - 1] if length else -1)
        if length == len(least):
            least.append(number)
            at.append(place)
        else:
            least[length], at[length] = number, place
    run, place = [], at[-1] if at else -1
    while place >= 0:
        run.append(place)
        place = before[place]
    return run[::-1]


def article_number(line: re.Match) -> tuple[int, int]:
    """(120, 1) for 第一百二十条之一, (15, 0) for 第十五条."""
    return numeral_value(line["article"]), numeral_value(line["inserted"] or "零")


def article_label(number: tuple[int, int]) -> str:
    """第一百二十条之一 for (120, 1), however the text writes it: 第15条 is labelled 第十五条."""
    whole, inserted = number
    return f"第{chinese_numeral(whole)}条" + (f"之{chinese_numeral(inserted)}" if inserted else "")


def contents_span(lines: Sequence[re.Match]) -> tuple[int, int]:
    """Where the table of contents stands: from 目录, or its first entry, to where that entry comes again.

    ``lines`` are those before the first article. (0, 0) if there is no table of contents.
    """
    title = next((line for line in lines if line["contents"]), None)
    entries = [line for line in lines if line["rank"] or line["preamble"]]
    entries = [line for line in entries if not title or line.start() > title.start()]
    first, *rest = [(line["unit"] or "序言", line.start()) for line in entries] or [("", 0)]
    again = next((start for name, start in rest if name == first[0]), 0)
    return ((title or entries[0]).start(), again) if again else (0, 0)


def division_names(paths: Iterable[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """What each 编, 分编, 章 or 节 may be called: its whole path, and any shorter name that no other one has.

    ("第三编", "第一分编", "第四章") is 第三编第一分编第四章, and 第三编第四章 if no other has that name.
    """
    owners: dict[str, list[tuple[str, ...]]] = {}
    for path in paths:
        for size in range(len(path)):
            for above in combinations(path[:-1], size):
                owners.setdefault("".join((*above, path[-1])), []).append(path)
    return {name: paths[0] for name, paths in owners.items() if len(paths) == 1}


def split(source: str) -> tuple[dict[str, str], dict[str, str], list[str], dict[str, list[str]]]:
    """The articles of a Chinese statute, what is outside them, the order of both, and the chapters: see Sections.

    Articles are label -> text from its heading to the next, as the source has it.

    Labels are 第一条 ... 第一千二百六十条, 第一百二十条之一. ``chapters`` names 编, 分编, 章 and 节 by their
    path (第二章第一节), and by a shorter name where that is unambiguous. Their headings belong to no article:
    they are ``outside``, labelled with path and title, as are 标题 (what precedes them all), 目录, 序言 and
    附件. A text without articles is ``outside`` as 全文. One statute a text: of two, the longer is split.

    The headings are the longest run of lines 第...条 whose numbers rise, so that an entry of the table of
    contents, a reference at the start of a line or a quoted article makes no section and overwrites none.
    """
    numerals = ("article", "inserted", "number")
    lines = [
        line
        for line in STATUTE_LINE.finditer(source)
        if all(0 < numeral_value(line[name]) < 10_000 for name in numerals if line[name])
    ]
    candidates = [line for line in lines if line["article"]]
    chosen = [candidates[place] for place in longest_rise([article_number(line) for line in candidates])]
    if not chosen:
        return {}, {"全文": source.strip()} if source.strip() else {}, ["全文"] if source.strip() else [], {}

    articles = {line.start() for line in chosen}
    first, last = min(articles), max(articles)
    contents, body = contents_span([line for line in lines if line.start() < first])
    heads = [(0, "标题")] + ([(contents, "目录")] if body else [])  # where each part begins, and its label
    path: dict[str, str] = {}  # the units that are open, by rank
    members: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        start = line.start()
        if start in articles:
            heads.append((start, article_label(article_number(line))))
            units = tuple(path.values())
            for depth in range(1, len(units) + 1):
                members.setdefault(units[:depth], []).append(heads[-1][1])
        elif line["rank"] and body <= start < last:
            above = RANKS[: RANKS.index(line["rank"])]
            unit = f"第{chinese_numeral(numeral_value(line['number']))}{line['rank']}"
            path = {rank: path[rank] for rank in above if rank in path} | {line["rank"]: unit}
            heads.append((start, f"{''.join(path.values())} {' '.join(line['title'].split())}".strip()))
        elif line["preamble"] and body <= start < first:
            heads.append((start, "序言"))
        elif start > last and line["annex"]:
            heads.append((start, "".join(line["annex"].split())))
        elif start > last == heads[-1][0] and line["article"] and article_number(line) == (1, 0):
            heads.append((start, "附件"))  # the numbers begin anew: another text follows

    numbered: dict[str, str] = {}
    outside: dict[str, str] = {}
    for (start, label), end in zip(heads, [start for start, _ in heads[1:]] + [len(source)], strict=True):
        text = source[start:end].strip()
        if text and start in articles:
            numbered[label] = text
        elif text:
            outside[label] = f"{outside[label]}\n\n{text}" if label in outside else text
    chapters = {name: members[path] for name, path in division_names(members).items()}
    texts = numbered | outside
    order = [label for label in dict.fromkeys(label for _, label in heads) if label in texts]
    return numbered, outside, order, chapters
