"""What a citation's way of naming a section means: Section 4.1.6, §4.1.6, 第15条, a list, a range, a chapter."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from folding import normalize, same_length
from statutes import numeral_value

LONGEST_LABEL = 1000  # characters of a citation's section that are looked at
NUMBER = r"(?:[〇零一二两三四五六七八九十百千]+|\d+)"
CHINESE_LABEL = re.compile(rf"(?:第({NUMBER})|({NUMBER})(?=[编章节条]))([编章节条]|(?![款项目页段]))(?:之({NUMBER}))?")
WORD = r"(?:sections?|secs?|articles?|arts?|clauses?|§+)\.? ?"
PLAIN_LABEL = re.compile(rf"(?:{WORD}|appendix |annex )?((?:[a-z]\.)?\d+(?:\.\d+)*)[.:)]?")
APPENDIX = re.compile(r"(?:appendix |annex )?([a-z])[.:)]?")
# May follow a label: "4.1.3 (Audience)", "4.1.3 of RFC 7519", "15(2)".
TITLE = re.compile(r"[\s(:,-]+[^\d\s].*|(?: ?\(\w{1,4}\))+", re.S)
PLACES = [  # of a page or paragraph, one or two: the label's word, what may stand for it, and for a Chinese one
    ("Page", re.compile(r"(?:pages?|pp?\.?) ?(\d+)(?: ?(-|~|to|and|&|,) ?(\d+))?|第 ?(\d+)(?:([-~至到、和])(\d+))?页")),
    (
        "Paragraph",
        re.compile(
            r"(?:paragraphs?|paras?\.?|¶+) ?(\d+)(?: ?(-|~|to|and|&|,) ?(\d+))?|第 ?(\d+)(?:([-~至到、和])(\d+))?段"
        ),
    ),
]
WORDED = re.compile(r"(sections?|secs?\b|§)?(?:articles?|arts?\b|clauses?)?")
LIST = re.compile(
    rf" ?(?:[,;&]|\band\b|\bor\b|以及|[和及与]) ?(?={WORD}|appendix|(?:[a-z]\.)?\d|第?{NUMBER})| (?={WORD}\d)"
)
RANGE = re.compile(r"(.+?) ?(?:-|~|至|到|\bto\b|\bthrough\b) ?(.+)", re.S)


OLD_NUMERALS = {ord("廿"): "二十", ord("卅"): "三十"}


def _tidy(label: str) -> str:
    return normalize(same_length(label[:LONGEST_LABEL])).casefold().translate(OLD_NUMERALS)


def _key(label: str) -> str:
    """One name for all ways of writing a label: 15 for 第十五条, 第15条, Article 15 and 15."""
    label = _tidy(label).strip("([ ")
    parts = [(a or b, unit or "条", sub) for a, b, unit, sub in CHINESE_LABEL.findall(label)]
    for number, unit, sub in parts:
        if unit == "条":
            return f"{numeral_value(number)}-{numeral_value(sub)}" if sub else str(numeral_value(number))
    if parts:
        return "".join(f"{numeral_value(number)}{unit}" for number, unit, _ in parts)
    m = PLAIN_LABEL.match(label)
    if m and (m.end() == len(label) or TITLE.fullmatch(label, m.end())):
        return m[1]
    m = APPENDIX.fullmatch(label)
    return f"appendix {m[1]}" if m else label.rstrip(" .:")


class Labels:
    """The labels of a document in its order, and what a citation's way of naming them means."""

    def __init__(self, labels: Iterable[str], chapters: Mapping[str, Sequence[str]]):
        self.list = list(labels)
        self.order = {label: i for i, label in enumerate(self.list)}
        self.chapters = chapters
        self.keys: dict[str, str] = {}
        self.alike: dict[str, list[str]] = {}  # two headings "1. Scope" and "1. Terms" have one key
        for label in self.order:
            self.alike.setdefault(_key(label), []).append(label)
        named = {label: members[0] if len(members) == 1 else label for label, members in chapters.items()}
        # Chapters first: 第二章 is the chapter, not the line that is its heading.
        for name, label in [*named.items(), *zip(self.list, self.list, strict=True)]:
            self.keys.setdefault(_key(name), label)
            self.keys[_tidy(name)] = label

    def named(self, cited: str | Sequence[str] | None) -> tuple[list[str], bool]:
        """The labels and chapters that a citation names, and whether it names any that does not exist."""
        if isinstance(cited, str):
            if cited in self.order:
                return [cited], False
            cited = [cited]
        names: list[str] = []
        unknown = False
        for item in filter(str.strip, cited or ()):
            whole = _tidy(item) in self.keys or self._places(_tidy(item))
            parts = [item] if whole else LIST.split(_tidy(item))
            found = {part: self._one(part) for part in parts}
            names += [name for part in parts for name in found[part]]
            # A part that does not look like a label, as in "RFC 7519, Section 4", names the document.
            wrong = [p for p in parts if not found[p] and (PLAIN_LABEL.match(p) or CHINESE_LABEL.search(p))]
            unknown |= bool(wrong) or not any(found.values())
        return list(dict.fromkeys(names)), unknown

    def in_order(self, labels: Iterable[str]) -> list[str]:
        """The labels, each once, in the document's order."""
        return sorted({label for label in labels if label in self.order}, key=self.order.__getitem__)

    def _one(self, name: str) -> list[str]:
        """What one name stands for: a label, a chapter, all from one label to another, or subsections."""
        label = self.keys.get(_tidy(name))
        if label and (_tidy(label) == _tidy(name) or label in self.chapters):
            return [label]
        if places := self._places(_tidy(name)):
            return places
        m = RANGE.fullmatch(name)
        ends = [self.order.get(self.keys.get(_key(end), "")) for end in m.groups()] if m else []
        if ends and None not in ends:
            return self.list[ends[0] : ends[1] + 1]
        label = self.keys.get(_key(name))
        if label and self._is_another_kind(name, label):
            return []
        if len(alike := self.alike.get(_key(name), [])) > 1:
            return alike  # all are read, as it is not said which
        return [label] if label else self.below(_key(name))

    def _places(self, name: str) -> list[str]:
        """The pages or paragraphs that a name stands for: page 3, pp. 3-4, 第3-4页."""
        for word, pattern in PLACES:
            if not self.list or not re.fullmatch(rf"{word} \d+", self.list[0]):
                continue
            if m := pattern.fullmatch(name):
                first, joint, last = (m[i] or m[i + 3] for i in (1, 2, 3))
                ends = [self.order.get(f"{word} {int(n)}") for n in (first, last or first)]
                if None in ends:
                    return []
                between = joint not in ("and", "&", ",", "、", "和")
                return self.list[ends[0] : ends[1] + 1] if between else [self.list[i] for i in dict.fromkeys(ends)]
        return []

    def _is_another_kind(self, name: str, label: str) -> bool:
        """Whether a name says "Section 3" and the label is an article of that number."""
        worded = WORDED.match(_tidy(name).strip("([ "))
        return label in self.order and label.startswith("第") and bool(worded[1]) and worded[1] != "§"

    def with_subsections(self, labels: Sequence[str]) -> list[str]:
        return [*labels, *(sub for label in labels for sub in self.below(label))]

    def below(self, label: str) -> list[str]:
        """The subsections of a numbered section, whether or not it stands in the document itself."""
        if label not in self.order:
            return [sub for sub in self.list if sub.startswith(f"{label}.")]
        behind = (self.list[i] for i in range(self.order[label] + 1, len(self.list)))
        number = _key(label)  # 3.3 of the heading "3.3. Low-level interface"
        if not re.fullmatch(r"(?:[a-z]\.)?\d+(?:\.\d+)*", number) or label.startswith("第"):
            number = label
        return list(takewhile(lambda sub: sub.casefold().startswith(f"{number.casefold()}."), behind))
