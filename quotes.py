"""Find a quotation in a document as people and models really write it, and say how it was found.

The search works on folded text: both the document and the quotation lose what is presentation (line ends,
dashes and quotation marks of every make, ligatures, emphasis, case, ...) and keep what carries meaning
(letters, digits, signs, inner punctuation). A map leads from folded text back to the original, so that a
passage is shown as the document has it. A passage counts as found only if it folds to the quotation, cuts no
word and no number in two, and has the quotation's hyphens and bracketed marks, which folding drops.
"""

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby, islice
from typing import NamedTuple

from folding import (
    ACCENTS,
    CHINESE,
    DASH,
    DASHES,
    EDGE,
    IN_MARK,
    MARK,
    NUMERALS,
    REFERENCE,
    WORD_CHARACTER,
    Folded,
    fold,
    is_word,
    normalize,
    same_length,
    spaced,
    visible,
    without_markup,
    without_numbers,
)
from labels import Labels

SHORT = 12  # letters and digits that identify a passage; a Chinese character counts for two
SHORTEST_PIECE = 4  # the same for a piece between two omissions
MOST_PIECES = 20  # with more omissions it is not one quotation
LONGEST_OMISSION = 500  # characters that one "..." may leave out
LONGEST_NEAR = 20_000  # folded characters of a quotation that near matching still compares
FLAG_ORDER = ["moved", "repeated", "short", "case", "accents", "elided", "negation", "spans", "near", "no-such-section"]


@dataclass(frozen=True)
class Located:
    """What locating found; `text[start:end]` is the quoted passage as the source has it.

    `status` is found, missing, section-only or near; `match` is verbatim, folded or elided where it is found.
    `section` is the passage's label (the first one's, where it runs across a heading) and `text` what a model
    is to read. `similarity` (0 to 1) and `difference` (word by word, for a person) come only with near.
    """

    status: str
    match: str | None
    section: str | None
    text: str | None
    start: int | None
    end: int | None
    flags: tuple[str, ...] = ()
    similarity: float | None = None
    difference: str | None = None


# ---------------------------------------------------------------------------------------------- searching

NEGATION = re.compile(
    r"\b(?:not|no|non|un|never|neither|nor|none|nobody|nothing|nowhere|without|cannot|except|unless|hardly"
    r"|scarcely|rarely|seldom|barely|fail(?:s|ed)?|lack(?:s|ed)?|refus\w+|prohibit\w*|forbid\w*|den(?:y|ies|ied))\b"
    r"|n['’]t\b"
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


def _joints(folded: Folded, first: int, last: int) -> dict[int, str]:
    """The gaps with a hyphen or a mark among the folded characters first..last, by the one behind them."""
    joints = {}
    for step in range(bisect_right(folded.folded_at, first), bisect_right(folded.folded_at, last)):
        i = folded.folded_at[step]
        start = folded.original_at[step - 1] + i - folded.folded_at[step - 1]
        gap = folded.unfolded[start : folded.original_at[step] + (folded.text[i] == " ")]
        if "[" in gap or DASH.search(gap):
            joints[i - first] = gap
    return joints


BROKEN_PREFIX = re.compile(r"\b(?:in|im|il|ir|dis|mis|un|non)[-\u00ad]\s+\Z", re.I)
BROKEN_WORD = re.compile(r"[-\u00ad]\s+")


def _marks(gap: str) -> dict[str, str]:
    """The bracketed marks in a gap, by what they name."""
    if gap.isascii() and "[" not in gap:
        return {}
    gap = same_length(gap)
    marks = re.findall(MARK, gap)
    return {re.sub(rf"[\s*^\u00ad\u200b{ACCENTS}]", "", mark[1:-1]).strip("_").casefold(): mark for mark in marks}


def _joints_agree(passage: dict[int, str], quote: dict[int, str], text: str) -> bool:
    """Whether the quotation has the passage's hyphens, but for those at line ends, and no mark of its own."""
    for i in passage.keys() | quote.keys():
        ours, theirs = passage.get(i, ""), quote.get(i, "")
        if "[" in ours + theirs:
            marks, kept = _marks(ours), _marks(theirs)
            left_out = [marks[name] for name in marks.keys() - kept.keys()]
            if kept.keys() - marks.keys() or not all(map(_may_be_left_out, left_out)):
                return False
            ours, theirs = re.sub(MARK, "", ours), re.sub(MARK, "", theirs)
        if bool(DASH.search(ours)) != bool(DASH.search(theirs)):
            between_letters = text[i - 1].isalpha() and text[i].isalpha()
            if not (between_letters and BROKEN_WORD.fullmatch(ours or theirs)):
                return False
    return True


def _may_be_left_out(mark: str) -> bool:
    return bool(REFERENCE.fullmatch(mark)) and not negates(mark)


def _follows_negation(before: str) -> bool:
    """Whether a quotation is cut out of a clause that a negation opens, as `得公开` out of `不得公开`."""
    if BROKEN_PREFIX.search(before):
        return True  # "valid" out of "in-valid", broken at the end of a line
    if not before or before.endswith("\n\n") or CLAUSE_END.fullmatch(before.rstrip()[-1:]):
        return False
    return negates(CLAUSE_END.split(before)[-1])


def _size(text: str) -> int:
    """The letters and digits of a text, a Chinese character counting for two; counted up to SHORT."""
    if sum(map(str.isalnum, text[: 2 * SHORT])) >= SHORT:
        return SHORT
    return min(SHORT, sum(islice((1 if is_word(c) else 2 for c in text if c.isalnum()), SHORT)))


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
        self.joints = _joints(folded, first, last)
        before, behind = text[: folded.offset(first)], text[folded.offset(last) + 1 :]
        self.marks_before, self.marks_behind = _marks(before).keys(), _marks(behind).keys()
        self.negative = before[-1:] in DASHES and before != "" and self.core[:1].isdigit()


class Blocks:
    """Which words stand in which block of a text: it tells where a quotation cannot stand.

    A row of bits for each class of words and a bit in it for each block: half a byte for each character.
    """

    SMALL = 200_000  # characters that are read faster than this is asked
    SIZE = 1024  # characters of a block
    HEAD = 256  # as many more are looked at, so that a quotation's head is all in the block that it starts in
    ROWS = 4096
    WORD = re.compile(rf"[^\W_{CHINESE}]+|[{CHINESE}]")

    def __init__(self, text: str):
        self.length = len(text)
        self.width = len(text) // self.SIZE // 8 + 1  # bytes of a row
        self.bits = bytearray(self.ROWS * self.width if len(text) > self.SMALL else 0)
        for block, start in enumerate(range(0, len(text) if self.bits else 0, self.SIZE)):
            words = self.WORD.findall(text, start, start + self.SIZE + self.HEAD)
            for row in {hash(word) % self.ROWS for word in words}:
                self.bits[row * self.width + block // 8] |= 1 << block % 8

    def stretches(self, quote: str) -> Iterator[tuple[int, int]]:
        """The stretches of the text that the quotation can start in."""
        if not self.bits:
            yield 0, self.length
            return
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

    `texts` maps each label to its section's original text, in the document's order; `chapters` maps the label
    of a chapter to the labels in it. It holds the text four times, and eight bytes for each place where white
    space or presentation was dropped: four to six times the text in all.
    """

    def __init__(self, texts: Mapping[str, str], chapters: Mapping[str, Sequence[str]] | None = None):
        super().__init__(texts, chapters or {})
        self.texts = texts
        self.source = "\n\n".join(texts.values())
        self.starts = array("Q", accumulate((len(text) + 2 for text in texts.values()), initial=0))
        self.spaced = spaced(self.source)
        self.spaced_starts = array("Q", map(self.spaced.index, self.starts))
        self.folded = fold(self.source)
        self.folded_starts = array("Q", map(self.folded.index, self.starts))
        self.text = self.folded.text.casefold()
        self.blocks = Blocks(self.text)

    def changed(self, change: Callable[[str], str]) -> "Index":
        """The index of the texts with a change that keeps every offset; itself where that changes nothing."""
        texts = {label: change(text) for label, text in self.texts.items()}
        return self if texts == self.texts else Index(texts, self.chapters)

    @cached_property
    def without_markup(self) -> "Index":
        return self.changed(without_markup)

    @cached_property
    def without_numbers(self) -> "Index":
        return self.without_markup.changed(without_numbers)

    def read(self, labels: Iterable[str]) -> str:
        """The texts of the labels in the document's order, parted by a blank line."""
        return "\n\n".join(self.texts[label] for label in self.in_order(labels))

    def position(self, offset: int) -> int:
        """The number of the section that an offset of the source lies in."""
        return bisect_right(self.starts, offset) - 1

    def ranges(self, labels: Iterable[str]) -> list[tuple[int, int]]:
        """Where sections stand in the folded text."""
        numbers = [self.order[label] for label in labels]
        return [(self.folded_starts[i], self.folded_starts[i + 1]) for i in numbers]

    def cited(self, quote: str, labels: Iterable[str]) -> Passage | None:
        """A normalised quotation in the cited sections: most stand there; the cheapest way to see."""
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
            before = self.folded.offset(i - 1) if i else -1
            after = self.folded.offset(behind) if behind < len(self.text) else end + 1
            if before == start or after < end or (after == end and self.text[behind] in ACCENTS):
                continue  # it would split a ligature, or a letter from its accent
            while self.source[end : end + 1] and self.source[end] in ACCENTS:
                end += 1
            if quote.negative and (not start or self.source[start - 1] not in DASHES):
                continue
            start -= quote.negative
            if (
                _is_whole(self.source, start, end)
                and self._marks_agree(quote, start, end)
                and _joints_agree(_joints(self.folded, i, behind - 1), quote.joints, quote.core)
            ):
                yield Passage(start, end, self.folded.text[i:behind] != quote.cased)

    def _marks_agree(self, quote: _Quote, start: int, end: int) -> bool:
        """Whether the marks at the quotation's ends stand at the passage's ends too."""
        if not quote.marks_before and not quote.marks_behind:
            return True
        before = re.search(rf"{EDGE}\Z", same_length(self.source[max(0, start - 200) : start]))[0]
        behind = re.match(EDGE, same_length(self.source[end : end + 200]))[0]
        return quote.marks_before <= _marks(before).keys() and quote.marks_behind <= _marks(behind).keys()

    def everywhere(self, quote: _Quote, start: int = 0, stop: int | None = None) -> Iterator[Passage]:
        """Where the quotation starts in the whole folded text, or in [start, stop) of it, in order."""
        stop = len(self.text) if stop is None else stop
        for low, high in self.blocks.stretches(quote.core):
            if max(low, start) < min(high, stop):
                yield from self.occurrences(quote, max(low, start), min(high, stop) + len(quote.core) - 1)

    def first(self, quote: _Quote, labels: Sequence[str]) -> Passage | None:
        """The passage to read: in a cited section if there is one, else over its edge, else the first."""
        ranges = self.ranges(labels)
        reach = len(quote.core) - 1
        over_edges = [(max(0, low - reach), high + reach) for low, high in ranges]
        nearby = (passage for place in [*ranges, *over_edges] for passage in self.occurrences(quote, *place))
        return next(chain(nearby, self.everywhere(quote)), None)

    def first_elided(self, pieces: Sequence[_Quote], labels: Sequence[str]) -> list[Passage] | None:
        """The pieces' passages, in order, in one section, each LONGEST_OMISSION or less behind the last."""
        longest = max(pieces, key=lambda piece: len(piece.core))
        holders = (self.list[self.position(passage.start)] for passage in self.everywhere(longest))
        for label, _ in groupby(chain(labels, holders)):
            [place] = self.ranges([label])
            chains = [[passage] for passage in self.occurrences(pieces[0], *place)]
            for piece in pieces[1:]:
                chains = list(self._continued(chains, self.occurrences(piece, *place)))
            if chains:
                return chains[0]
        return None

    def _continued(self, chains: list[list[Passage]], found: Iterator[Passage]) -> Iterator[list[Passage]]:
        """The chains of passages that go on with a passage found not too far behind them."""
        ends = [passages[-1].end for passages in chains]
        for passage in found if chains else ():
            nearest = bisect_right(ends, passage.start) - 1  # it leaves out least
            if nearest >= 0 and passage.start - ends[nearest] <= LONGEST_OMISSION:
                yield [*chains[nearest], passage]

    def stands_elsewhere(self, quote: _Quote, passage: Passage) -> bool:
        """Whether another section than that of the passage holds the quotation too."""
        here = self.position(passage.start)
        before = self.everywhere(quote, 0, self.folded_starts[here])
        behind = self.everywhere(quote, self.folded_starts[here + 1])
        return next(chain(behind, before), None) is not None


def _candidates(text: str, wanted: str, low: int, high: int) -> Iterator[int]:
    """Where `wanted` stands in text[low:high]; its effort is bounded, so that repetitive text is no trap."""
    effort = 2 * (high - low) + 1_000_000 if wanted else 0
    i = text.find(wanted, low, high)
    while i >= 0 and effort > 0:
        yield i
        effort -= len(wanted)
        i = text.find(wanted, i + 1, high)


PARTED = re.compile(r"[\s。、，；：？！]")
TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
ONES = "one|two|three|four|five|six|seven|eight|nine"
GROUP_BEFORE = re.compile(r"(?<![\d.,])(?<!\d )(?:[1-9]\d{0,2}(?: \d{3}){0,4}) \Z")  # 12 000, for the 000 behind it
COUNT_BEFORE = re.compile(rf"\b(?:{TENS})[\s-]+\Z|\bhundred and\s+\Z", re.I)
COUNT = re.compile(rf"(?:{ONES})\b|(?:{TENS})\b", re.I)


def _cuts_count(source: str, start: int, end: int) -> bool:
    """Whether a passage cuts a number that is written in groups or words: 12 000, twenty-five, hundred and five."""
    before, behind = (visible(text) for text in (source[max(0, start - 30) : start], source[end : end + 8]))
    head, tail = source[start : start + 12], visible(source[max(start, end - 24) : end])
    if re.match(r"\d{3}(?!\d)", head) and before.endswith(" ") and GROUP_BEFORE.search(before):
        return True
    if re.match(r" \d{3}(?![\d.,]\d|\d)", behind) and re.search(r"(?<![\d.,])(?<!\d )[1-9]\d{0,2}(?: \d{3})*\Z", tail):
        return True
    if COUNT.match(head) and COUNT_BEFORE.search(before):
        return True
    return bool(re.search(rf"\b(?:{TENS})\Z", tail, re.I) and re.match(rf"[\s-](?:{ONES})(?![a-z])", behind, re.I))


def _is_whole(source: str, start: int, end: int) -> bool:
    """Whether a passage cuts no word and no number in two: "1 million" does not stand in "11 million"."""
    if _cuts_count(source, start, end):
        return False
    first = same_length(source[start])
    last = same_length(source[max(start, end - 9) : end].rstrip(ACCENTS)[-1:] or "?")
    if start and not PARTED.match(source, start - 1):
        left = visible(source[max(0, start - 8) : start])
        if (
            (is_word(first) and re.search(rf"{WORD_CHARACTER}[\"_]?\Z", left))
            or (first.isdigit() and re.search(r"(?:\d[.,:/^]|[-.±])\Z", left))
            or (first == "-" and re.search(r"[^\W_]\Z", left))
            or (first in NUMERALS and re.search(rf"[\d{NUMERALS}]点?\Z|分之\Z", left))
        ):
            return False
    if PARTED.match(source, end):
        return not (last.isdigit() and re.match(r" [%‰°]", visible(source[end : end + 8])))
    right = visible(source[end : end + 8])
    return not (
        (is_word(last) and re.match(rf"{WORD_CHARACTER}|\"(?!s\b){WORD_CHARACTER}|_[^\W_]", right))
        or (last.isdigit() and re.match(rf"[.,:/^-]\d|[%‰°{NUMERALS}]", right))
        or (last in ".,:" and right[:1].isdigit())
        or (last in NUMERALS and re.match(rf"点?[{NUMERALS}]|分之|[%‰]", right))
    )


# ---------------------------------------------------------------------------------------------- locating


def names_another(index: Index, cited: str | Sequence[str] | None) -> bool:
    """Whether a citation names another document than this one, as "RFC 7515, Section 4" in RFC 7519 does."""
    text = cited if isinstance(cited, str) else " ".join(cited or ())
    rfcs = re.findall(r"\bRFC[ -]?(\d{3,5})\b", text[:1000], re.I)
    own = re.search(r"^Request for Comments: *(\d+)", index.source[:4000], re.M) if rfcs else None
    if own and own[1] not in rfcs:
        return True
    laws = re.findall(r"《(?:中华人民共和国)?([^》]{4,40})》", text[:1000])
    title = re.sub(r"\s", "", index.texts.get("标题", ""))
    return bool(laws and title) and not any(law in title for law in laws)


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

    `cited` names a section, a chapter or several, in any of the usual ways; None leaves it open. `near`, from
    0 to 1, accepts a passage of at least that similarity where the quotation itself is missing. Raises
    ValueError for a quotation without a letter or digit, and for neither a quotation nor a section.
    """
    names, unknown = index.named(cited)
    labels = index.in_order(label for name in names for label in index.chapters.get(name, [name]))
    flags = {"no-such-section"} if unknown or names_another(index, cited) else set()
    if quote is None:
        if not names and not unknown:
            raise ValueError("the citation names neither a quote nor a section")
        status = "section-only" if labels else "missing"
        return Located(status, None, ", ".join(names) or None, index.read(labels) or None, None, None, tuple(flags))
    size = _size(quote)
    if not size:
        raise ValueError("the quote is blank")
    found = _find(index, quote, labels, near)
    if not found:
        return Located("missing", None, None, None, None, None)

    first, last = index.position(found.start), index.position(found.end - 1)
    stands_in = index.list[first : last + 1]
    flags |= found.flags
    cited_here = bool(set(stands_in) & set(labels))
    if (names or unknown) and not cited_here and not set(stands_in) & set(index.with_subsections(labels)):
        flags.add("moved")
    if last > first:
        flags.add("spans")
    if size < SHORT:
        flags.add("short")
    if _follows_negation(index.source[max(index.starts[first], found.start - 80) : found.start]):
        flags.add("negation")
    read = index.in_order([*labels, *stands_in]) if cited_here else stands_in  # all that are cited are read
    before = sum(len(index.texts[label]) + 2 for label in read[: read.index(stands_in[0])])
    shift = before - index.starts[first]
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
    """The quotation as it stands, else without its markup, else (where `near` allows) something like it."""
    if found := _find_written(index, quote, labels):
        return found
    plain = without_markup(quote)
    bare = without_numbers(plain)
    for source, text, flags in (
        (index.without_markup, plain, set()),
        (index.without_numbers, plain, {"elided"}),  # numbers of a list that the quotation leaves out
        (index.without_markup, bare, {"elided"}),  # or that a page shows and its text does not hold
    ):
        changed = source is not index or text != quote
        if changed and _size(text) and (found := _find_written(source, text, labels)):
            if text is not plain and (found.match == "elided" or _is_numbered(index.source, found.start)):
                continue  # it may be one number in the place of another
            match = "elided" if flags or found.match == "elided" else "folded"
            return found._replace(match=match, flags=found.flags | flags)
    if near is None:
        return None
    return _near(index, _Quote(quote), quote, index.with_subsections(labels), near)


def _is_numbered(source: str, start: int) -> bool:
    """Whether the number of a list stands right before a passage."""
    before = source[max(source.rfind("\n", 0, start), start - 20, 0) : start]
    return re.search(r"\w\W*\Z", before) is not None and without_numbers(before) != before


def accents(text: str) -> list[str]:
    """The Latin letters of a text that have accents: folding drops these, and ou is not où, nor schon schön."""
    if text.isascii():
        return []
    letters = unicodedata.normalize("NFC", visible_case(text))
    return [c for c in letters if not c.isascii() and len(d := unicodedata.normalize("NFD", c)) > 1 and d[0].isascii()]


def visible_case(text: str) -> str:
    return re.sub(r"[\u00ad\u200b-\u200f\u2060\ufeff]|-\s+(?=\w)", "", text).casefold()


def _find_written(index: Index, quote: str, labels: Sequence[str]) -> _Finding | None:
    """The quotation as it stands, else with its omissions."""
    normal = normalize(quote)
    if passage := index.cited(normal, labels):
        return _Finding("found", "verbatim", passage.start, passage.end, set())
    named = index.with_subsections(labels)
    whole = _Quote(quote)
    if not _size(whole.core):  # nothing but a mark, which folding drops
        whole = _Quote(re.sub(r"[\[\]]", " ", quote))
    if passage := index.first(whole, named):
        flags = {"case"} if passage.case else set()
        if accents(quote) != accents(index.source[passage.start : passage.end]):
            flags.add("accents")
        here = index.list[index.position(passage.start)]
        if here not in named and index.stands_elsewhere(whole, passage):
            flags.add("repeated")
        siblings = [label for label in named if label != here] if here in named and here not in labels else []
        if any(next(index.occurrences(whole, *place), None) for place in index.ranges(siblings)):
            flags.add("repeated")  # in several subsections of the one that is cited, of which one is read
        exact = index.verbatim(normal, passage)
        start, end, _ = exact or passage
        return _Finding("found", "verbatim" if exact else "folded", start, end, flags)
    for omission in OMISSIONS if MARKED.search(quote) else ():
        if elided := _elided(index, same_length(quote), omission, named):
            return elided
    return None


def _elided(index: Index, quote: str, omission: re.Pattern, named: Sequence[str]) -> _Finding | None:
    """A quotation with marked omissions or insertions."""
    replaced = REPLACED_LETTERS.sub(r"\1", quote)
    parts = omission.split(replaced)
    if len(parts) == 1 and replaced == quote:
        return None
    pieces = [_Quote(part, opening=CLOSING) for part in parts[::2] if _size(part)]
    sizes = [_size(piece.core) for piece in pieces]
    if not 0 < len(pieces) <= MOST_PIECES or min(sizes) < SHORTEST_PIECE:
        return None
    passages = index.first_elided(pieces, named)
    if not passages:
        return None
    start, end = passages[0].start, passages[-1].end
    left_out = [index.source[a.end : b.start] for a, b in zip(passages, passages[1:], strict=False)]
    inserted = [part for part in parts[1::2] if part]
    like_references = any(REFERENCE.fullmatch(f"[{part}]") and " " not in part for part in inserted)
    if like_references and re.search(MARK, " ".join([*left_out, index.source[end : end + 80]])):
        return None  # one reference mark in the place of another
    flags = {"elided"}
    if any(map(negates, left_out + inserted)):
        flags.add("negation")
    if min(sizes) < SHORT:
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
            while start > low and is_word(text[start - 1]) and is_word(text[start]):
                start -= 1
            while end < high and is_word(text[end - 1]) and is_word(text[end]):
                end += 1
            start, end = index.folded.offset(start), index.folded.offset(end - 1) + 1
            shown = difference(index.source[start:end], written)
            return _Finding("near", None, start, end, {"near"}, best.score / 100, shown)
    return None


def difference(source: str, quote: str) -> str:
    """What the quotation changes, word by word: [-in the source-]{+in the quotation+}."""
    from rapidfuzz.distance import Levenshtein

    word = rf"[{NUMERALS}]+|[{CHINESE}]|\w+|\s+|."
    old, new = (re.findall(word, normalize(text)) for text in (source, quote))
    shown = []
    for tag, i, j, k, m in Levenshtein.opcodes(old, new):
        if tag == "equal":
            shown.append("".join(old[i:j]))
        else:
            shown += ["[-" + "".join(old[i:j]) + "-]"] * (j > i) + ["{+" + "".join(new[k:m]) + "+}"] * (m > k)
    return "".join(shown)
