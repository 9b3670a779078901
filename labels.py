"""What a citation's way of naming a section means: Section 4.1.6, §4.1.6, 第15条, a list, a range, a chapter."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from folding import normalize, same_length
from statutes import numeral_value

LONGEST_LABEL = 1000  # characters of a citation's section that are looked at
NUMBER = r"(?:[〇零一二两三四五六七八九十百千]+|\d+)"
CHINESE_LABEL = re.compile(rf"(?:第({NUMBER})|({NUMBER})(?=[编章节条]))([编章节条]|(?![款项目]))(?:之({NUMBER}))?")
WORD = r"(?:sections?|secs?|articles?|arts?|clauses?|§+)\.? ?"
PLAIN_LABEL = re.compile(rf"(?:{WORD}|appendix |annex )?((?:[a-z]\.)?\d+(?:\.\d+)*)[.:)]?")
APPENDIX = re.compile(r"(?:appendix |annex )?([a-z])[.:)]?")
TITLE = re.compile(r"[\s(:,-]+[^\d\s].*", re.S)  # may follow a label: "4.1.3 (Audience)", "4.1.3 of RFC 7519"
LIST = re.compile(
    rf" ?(?:[,;&]|\band\b|\bor\b|以及|[和及与]) ?(?={WORD}|appendix|(?:[a-z]\.)?\d|第?{NUMBER})| (?={WORD}\d)"
)
RANGE = re.compile(r"(.+?) ?(?:-|~|至|到|\bto\b|\bthrough\b) ?(.+)", re.S)


def _tidy(label: str) -> str:
    return normalize(same_length(label[:LONGEST_LABEL])).casefold()


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
            parts = [item] if _tidy(item) in self.keys else LIST.split(_tidy(item))
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
        if label := self.keys.get(_tidy(name)):
            return [label]
        m = RANGE.fullmatch(name)
        ends = [self.order.get(self.keys.get(_key(end), "")) for end in m.groups()] if m else []
        if ends and None not in ends:
            return self.list[ends[0] : ends[1] + 1]
        label = self.keys.get(_key(name))
        return [label] if label else self.below(_key(name))

    def with_subsections(self, labels: Sequence[str]) -> list[str]:
        return [*labels, *(sub for label in labels for sub in self.below(label))]

    def below(self, label: str) -> list[str]:
        """The subsections of a numbered section, whether or not it stands in the document itself."""
        if label not in self.order:
            return [sub for sub in self.list if sub.startswith(f"{label}.")]
        behind = (self.list[i] for i in range(self.order[label] + 1, len(self.list)))
        return list(takewhile(lambda sub: sub.startswith(f"{label}."), behind))
