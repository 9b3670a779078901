"""Deterministic flags: what a claim says that the text it cites does not. No model, no verdict.

A flag sends a citation to a person, and that is all it does. Three rules, each a function that returns what it found:

* ``missing_numbers``: amounts, periods, ages, percentages, dates in the claim that the text does not have;
* ``absolute_terms``: "all", "guaranteed", 一定, 免费 ... where the text says nothing as strong;
* ``negation_on_one_side``: a clause of the claim that says no where the clause most like it says yes, or the reverse.

    >>> flags("最高可以罚款五百万元", "并处五千万元以下罚款")
    ('numbers',)

Numbers are compared as values, in whatever words they are written: 五千万元, 5000万元 and "50 million yuan" are equal.
Only what converts exactly is converted: 72 hours are 3 days and a year is 12 months, but a month is not 30 days and a
working day is not a day; what is written in two units (三年六个月) is two quantities. "At most" and "at least" are not
read, nor whom a number belongs to. A number without a unit matches the same number with any unit. References
(第六十六条, Section 4.1.4, RFC 7519, [E1], list markers) are not quantities; 两三天, 八折, 31/12/2024 and times of
day in words (上午九点 is not 9:00) are not read.

Every pattern is bounded, so that hostile text costs time in proportion to its length.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

# --- number words ----------------------------------------------------------------------------------------------------

ZERO_TO_NINE = "零〇 一壹 二贰两兩 三叁 四肆 五伍 六陆 七柒 八捌 九玖"
CHINESE_DIGITS = {character: i for i, same in enumerate(ZERO_TO_NINE.split()) for character in same}
CHINESE_MULTIPLIERS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
CHINESE_MULTIPLIERS |= {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
ZERO_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten "
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
ENGLISH_DIGITS = {word: i for i, word in enumerate(ZERO_TO_NINETEEN.split())}
ENGLISH_DIGITS |= {word: 10 * i for i, word in enumerate(TENS.split(), start=2)}
ENGLISH_MULTIPLIERS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
ENGLISH_SCALES = ENGLISH_MULTIPLIERS | {"mn": 10**6, "bn": 10**9, "tn": 10**12}  # after digits: $3.2bn
CURRENCY_SCALES = {"k": 1000, "m": 10**6}  # after a currency's digits only: "10m" may be metres

# --- units: written form -> (dimension, size in the dimension's own base unit) ------------------------------------

_UNITS = {
    ("seconds", Fraction(1, 1000)): "毫秒 millisecond milliseconds ms",
    ("seconds", 1): "秒 秒钟 second seconds sec secs",
    ("seconds", 60): "分钟 minute minutes min mins",
    ("seconds", 3600): "小时 个小时 钟头 个钟头 hour hours hr hrs h",
    ("seconds", 86400): "天 日 自然日 个自然日 day days calendar_day calendar_days consecutive_days",
    ("seconds", 604800): "周 个星期 星期 个礼拜 week weeks",
    ("working days", 1): "工作日 个工作日 business_day business_days working_day working_days",
    ("months", 1): "个月 month months",
    ("months", 3): "季度 个季度 quarter quarters",
    ("months", 12): "年 周年 年度 year years yr yrs",
    ("years of age", 1): "周岁 岁 years_old years_of_age year_old year_olds",
    ("share", Fraction(1, 100)): "% percent per_cent pct percentage_points percentage_point 个百分点 百分点",
    ("share", Fraction(1, 1000)): "‰",
    ("CNY", 1): "元 块钱 元人民币 人民币 yuan rmb cny renminbi",
    ("USD", 1): "美元 美金 dollar dollars usd us_dollars",
    ("EUR", 1): "欧元 euro euros eur",
    ("GBP", 1): "英镑 gbp",
    ("HKD", 1): "港元 港币 hkd",
    ("JPY", 1): "日元 yen jpy",
    ("fold", 1): "倍",
    ("occasions", 1): "次",
    ("count", 1): "个 名 人 位 家 项 种 类 条 份 件 台 笔 户 批 组",
    ("bits", 1): "比特 bit bits",
    ("bytes", 1): "字节 byte bytes",
    ("KB", 1): "kb",
    ("MB", 1): "mb",
    ("GB", 1): "gb",
    ("TB", 1): "tb",
}
UNITS = {name.replace("_", " "): unit for unit, names in _UNITS.items() for name in names.split()}
CURRENCY_PREFIXES = {
    "¥": "CNY", "人民币": "CNY", "rmb": "CNY", "cny": "CNY", "us$": "USD", "usd": "USD", "$": "USD",
    "hk$": "HKD", "hkd": "HKD", "€": "EUR", "eur": "EUR", "£": "GBP", "gbp": "GBP",
}  # fmt: skip
CURRENCIES = set(CURRENCY_PREFIXES.values()) | {"JPY"}
MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
MONTHS = {name: i for i, name in enumerate(MONTH_NAMES.split(), start=1)}


def _any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first; a space in a word stands for a space or a hyphen."""
    return "|".join(re.escape(word).replace(r"\ ", r"[\s-]") for word in sorted(words, key=len, reverse=True))


_DIGIT = "".join(CHINESE_DIGITS)
_MULTIPLIER = "".join(CHINESE_MULTIPLIERS)
_ARABIC = r"(?:\d{1,3}(?:[,，]\d{3}){1,8}(?![\d,，])|\d{1,3}(?:[ \xa0\u202f]\d{3}){1,8}(?!\d)|\d{1,30})(?:\.\d{1,12})?"
# 五千万, 二〇二一, 三点五, 5000 万, 3万5千: at most 41 characters, nobody writes a number in more.
_RUN = (
    rf"(?:{_ARABIC}(?:\s(?=[百千]?[万萬亿億]))?|[{_DIGIT}{_MULTIPLIER}])"
    rf"(?:[{_DIGIT}{_MULTIPLIER}]|(?<=[{_DIGIT}])点(?=[{_DIGIT}])|(?<=[{_MULTIPLIER}])\d){{0,40}}"
)
_WORD = rf"(?:{_any_of([*ENGLISH_DIGITS, *ENGLISH_MULTIPLIERS])})(?![a-z])"
_WORDS = rf"(?<![a-z])(?:an?\s(?={_any_of(ENGLISH_MULTIPLIERS)}))?{_WORD}(?:(?:\s|-|\sand\s){_WORD}){{0,30}}"
_LATIN_UNITS = [unit for unit in UNITS if unit.isascii() and unit != "%"]
_UNIT = rf"(?:{_any_of(_LATIN_UNITS)})(?![a-z])|{_any_of(unit for unit in UNITS if unit not in _LATIN_UNITS)}"
_CURRENCY = _any_of(CURRENCY_PREFIXES)
_DAY = rf"(?:\d{{1,2}}|[{_DIGIT}十]{{1,3}})"
_LATIN_DAY = r"\d{1,2}(?:st|nd|rd|th)?(?!\d)"
_MONTH = (
    r"(?-i:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)(?![a-z])\.?"
)
_LABEL = (
    r"section|sec\.|article|art\.|chapter|clause|paragraph|para\.|figure|fig\.|table|appendix|annex|schedule|page|step|"
    r"item|rule|part|recital|version|ver\.|no\.|regulation|directive|RFC|ISO|IEC|IEEE|GB/T|GB|TLS|SSL|HTTP|SHA|AES|UTF|"
    r"OAuth|FIPS|NIST|BCP|STD"
)
_DATES = (
    r"(?<!\d)(?P<y1>[12]\d{3})(?P<sep>[-/.])(?P<m1>\d{1,2})(?P=sep)(?P<d1>\d{1,2})(?!\d)(?:T[\d:.]{1,20}Z?)?",
    r"(?<!\d)(?P<y7>[12]\d{3})-(?P<m7>0[1-9]|1[0-2])(?![\d-])",
    rf"(?<![\d{_DIGIT}{_MULTIPLIER}])(?P<y2>[12]\d{{3}}|[{_DIGIT}]{{4}})\s?年度?"
    rf"(?:\s?(?P<m2>{_DAY})\s?月份?(?:\s?(?P<d2>{_DAY})\s?[日号])?)?",
    rf"(?<![\d第{_DIGIT}{_MULTIPLIER}])(?P<m3>{_DAY})\s?月份?(?:\s?(?P<d3>{_DAY})\s?[日号])?",
    rf"(?<![a-z])(?P<m4>{_MONTH})\s(?P<d4>{_LATIN_DAY})(?:,?\s(?P<y4>[12]\d{{3}})(?!\d))?",
    rf"(?<!\d)(?P<d5>{_LATIN_DAY})\s(?:of\s)?(?P<m5>{_MONTH})(?:,?\s(?P<y5>[12]\d{{3}})(?!\d))?",
    rf"(?<![a-z])(?P<m6>{_MONTH}),?\s(?P<y6>[12]\d{{3}})(?!\d)",
)
_REFERENCES = (
    r"https?://[!-~]+",
    rf"\d{{31,}}|[{_DIGIT}{_MULTIPLIER}]{{42,}}",  # an identifier, or noise
    r"[\[【]\s?[a-z]{0,4}-?\d{1,6}(?:\s?[,，、]\s?[a-z]{0,4}-?\d{1,6}){0,20}\s?[\]】]",  # [E1], [1, 2]
    rf"第\s?{_RUN}(?:[至到、和及或-]{_RUN}){{1,20}}[条款项章节编]",  # 第十三、十四条
    rf"第\s?{_RUN}|前{_RUN}(?=[条款项])",  # 第六十六条, 第三方, 前两款
    r"\d+(?:\.\d+){2,}",  # 4.1.4
    rf"(?<![a-z])(?:{_LABEL})s\s{{0,2}}\d[\d.]*(?:(?:,\s?|\sand\s|\sor\s|\sto\s|\sthrough\s|-|–)\d[\d.]*){{0,20}}",
    rf"(?<![a-z])(?:{_LABEL})\s{{0,2}}(?:\d[\d.]*(?:-\d{{4}})?|{_WORDS})(?:\(\w{{1,4}}\)){{0,4}}|§{{1,2}}\s?\d[\d.]*",
    rf"(?:附件|附录|附表|步骤|编号)\s?{_RUN}",
    rf"(?m:^)[ \t]{{0,8}}{_RUN}[、.)](?!\d)|(?<=[:；;。])\s?\d{{1,2}}[.、)](?!\d)",  # a list's 1. or 一、
    rf"\(\s?{_RUN}\s?\)",  # a list's (1) or （一）
    r"(?!\d/\d(?![\d/]))\d+/\d+(?:/\d+)?",  # 2016/679, but not 2/3
    rf"{_DAY}点(?:{_DAY}分|半|整|钟)",  # a time of day: 九点三十分 is not 9.3
    rf"(?<![a-z])(?!(?:{_CURRENCY})\d)[a-z]++[-_/]?\d[a-z\d_.-]*",  # HS256, SHA-256, v3
)
_QUANTITIES = (
    r"(?P<clock>\d{1,2}:\d\d)(?::\d\d)?(?!\d)",
    rf"(?P<below>\d{{1,9}}|[{_DIGIT}{_MULTIPLIER}]{{1,8}})分之(?P<above>{_RUN})",
    r"(?P<over>\d)/(?P<under>[1-9])",
    r"(?<![上下前后大])半个?(?P<half>年|月|小时|天|日)",
    rf"(?:(?P<currency>{_CURRENCY})\s?)?(?:(?P<run>{_RUN})"
    rf"(?:[\s-]?(?P<scale>{_any_of(ENGLISH_SCALES)}|(?(currency)[{''.join(CURRENCY_SCALES)}]|(?!)))(?![a-z]))?"
    rf"|(?P<words>{_WORDS}))(?:\s?\({_RUN}\))?(?P<and_half>个半|\sand\sa\shalf)?"
    rf"(?:[\s-]{{0,2}}(?P<unit>{_UNIT}|(?<=个半)月)(?P<half_after>(?<=[年月周天日时])半(?![数价]))?)?",
)
_SCAN = re.compile(
    rf"(?P<date>{'|'.join(_DATES)})|(?P<reference>{'|'.join(_REFERENCES)})|{'|'.join(_QUANTITIES)}",
    re.IGNORECASE,
)
_TOKEN = re.compile(rf"\d[\d.]*|[{_DIGIT}点]+|[{_MULTIPLIER}]")
_TO = re.compile(r"\s?(?:-|–|—|~|至|到|to|and|or|、|或|和)\s?", re.IGNORECASE)
# Full-width letters, digits and signs to ASCII, one for one; the comma and the semicolon stay, they part sentences.
_NARROW = {c: c - 0xFEE0 for c in range(0xFF01, 0xFF5F) if chr(c) not in "，；"} | {
    0x3000: " ",
    ord("￥"): "¥",
    ord("〜"): "~",
}


@dataclass(frozen=True)
class Quantity:
    """A number found in a text.

    ``amount`` is the number as written, ``dimension`` what its unit measures ("" without a unit), ``factor`` the size
    of the unit in the dimension's base unit. A date has the dimension "date" and the amount (year, month, day), with
    None for what it does not say.
    """

    text: str
    amount: Fraction | tuple[int | None, int | None, int | None]
    dimension: str
    factor: Fraction
    start: int
    end: int

    @property
    def value(self):
        return self.amount if self.dimension == "date" else self.amount * self.factor


def _total(parts: Iterable[tuple[Fraction, bool]]) -> Fraction:
    """The number that digits and multipliers spell, Chinese or English: a multiplier takes all that is smaller."""
    stack: list[Fraction] = []
    for number, multiplies in parts:
        if multiplies:
            taken = Fraction(0)
            while stack and stack[-1] < number:
                taken += stack.pop()
            number *= taken or 1
        stack.append(number)
    return sum(stack, Fraction(0))


def _run_amount(run: str) -> Fraction | None:
    """The value of digits, Chinese numerals or both (5,000, 二〇二一, 3万5千); None for 三五 and 两三: "some"."""
    parts: list[tuple[Fraction, bool]] = []
    tokens = _TOKEN.findall(re.sub(r"[,，\s]", "", run))
    for token in tokens:
        if token in CHINESE_MULTIPLIERS:
            parts.append((Fraction(CHINESE_MULTIPLIERS[token]), True))
            continue
        spelled = "".join(str(CHINESE_DIGITS.get(c, "." if c == "点" else c)) for c in token)
        if len(token) == 2 and token[0] in CHINESE_DIGITS and "0" not in spelled:
            return None
        parts.append((Fraction(spelled.strip(".") if spelled.count(".") < 2 else 0), False))
    if len(tokens) > 1 and tokens[-1] in CHINESE_DIGITS and parts[-2][1] and parts[-2][0] > 10:
        parts[-1] = (parts[-1][0] * parts[-2][0] / 10, False)  # 一万五 is 15,000
    return _total(parts)


def _word_amounts(words: str) -> Iterator[tuple[int, int, Fraction]]:
    """(start, end, value) of the numbers in a run of English number words: "twenty-one and thirty" holds two."""
    parts: list[tuple[Fraction, bool]] = []
    start = end = 0
    for word in re.finditer(r"[a-z]+", words.lower()):
        if word[0] in ("and", "a", "an"):
            continue
        number = Fraction(ENGLISH_DIGITS.get(word[0], ENGLISH_MULTIPLIERS.get(word[0], 0)))
        multiplies = word[0] in ENGLISH_MULTIPLIERS
        if parts and not multiplies:
            last, last_multiplies = parts[-1]
            fits = last_multiplies or (
                last >= 20 and 0 < number < 10 and "and" not in words[end : word.start()].lower()
            )
            if not fits:
                yield start, end, _total(parts)
                parts = []
        if not parts:
            start = word.start()
        parts.append((number, multiplies))
        end = word.end()
    if parts:
        yield start, end, _total(parts)


def _month(name: str) -> int | None:
    return MONTHS.get(name[:3].lower()) or int(_run_amount(name) or 0) or None


def _date(match: re.Match) -> tuple[int | None, int | None, int | None]:
    """(year, month, day) of a match of one of the forms of a date."""
    parts = {}
    for name, text in match.groupdict().items():
        if text and len(name) == 2 and name[0] in "ymd":
            parts[name[0]] = (
                _month(text) if name[0] == "m" else int(_run_amount(text.rstrip("stndrhSTNDRH")) or 0) or None
            )
    return parts.get("y"), parts.get("m"), parts.get("d")


def _candidates(text: str) -> Iterator[Quantity]:
    """Every number that is not a reference, with the unit written beside it."""
    for match in _SCAN.finditer(text):
        if match["reference"] is not None:
            continue
        if match["words"]:
            yield from _worded(match, text)
        elif (read := _read(match)) is not None:
            yield Quantity(match[0], *read, *match.span())


def _read(match: re.Match) -> tuple[Fraction | tuple, str, Fraction] | None:
    """(amount, dimension, factor) of a match that holds one number in digits or Chinese; None for "some"."""
    if match["date"] is not None:
        return _date(match), "date", Fraction(1)
    if match["clock"]:
        hour, minute = match["clock"].split(":")
        return Fraction(60 * int(hour) + int(minute)), "time of day", Fraction(1)
    if match["over"]:
        return Fraction(int(match["over"]), int(match["under"])), "share", Fraction(1)
    if match["half"]:
        return Fraction(1, 2), *_unit(match["half"].replace("月", "个月"))
    if match["below"]:
        below, above = _run_amount(match["below"]), _run_amount(match["above"])
        if not below or above is None:
            return None
        return (above, "share", 1 / below) if below in (100, 1000, 10000) else (above / below, "share", Fraction(1))
    amount = _run_amount(match["run"])
    if amount is None:
        return None
    scale = (ENGLISH_SCALES | CURRENCY_SCALES).get((match["scale"] or "").lower(), 1)
    return amount * scale + _half(match), *_written_unit(match)


def _worded(match: re.Match, text: str) -> Iterator[Quantity]:
    """The numbers in English words of a match; the last one has the unit."""
    numbers = [(match.start("words") + a, match.start("words") + b, n) for a, b, n in _word_amounts(match["words"])]
    for a, b, amount in numbers[:-1]:
        yield Quantity(text[a:b], amount, "", Fraction(1), a, b)
    a, _, amount = numbers[-1]
    yield Quantity(text[a : match.end()], amount + _half(match), *_written_unit(match), a, match.end())


def _half(match: re.Match) -> Fraction:
    """What 三年半, 两个半小时 and "three and a half years" add to their number."""
    return Fraction(bool(match["and_half"] or match["half_after"]), 2)


def _written_unit(match: re.Match) -> tuple[str, Fraction]:
    """(dimension, factor) of the unit or currency beside a number; ("", 1) where there is none."""
    if match["unit"]:
        return _unit("个月" if match["unit"] == "月" else re.sub(r"[\s-]", " ", match["unit"].lower()))
    return CURRENCY_PREFIXES.get((match["currency"] or "").lower(), ""), Fraction(1)


def _unit(name: str) -> tuple[str, Fraction]:
    dimension, size = UNITS[name]
    return dimension, Fraction(size)


def _scale(text: str) -> int:
    """The 万, 亿 or million at the end of a number's text, or 1."""
    scales = (CHINESE_MULTIPLIERS | ENGLISH_SCALES).items()
    return max((n for word, n in scales if n >= 1000 and word in text.lower()), default=1)


def _with_shared_units(found: list[Quantity], text: str) -> list[Quantity]:
    """The same quantities, each with the unit that its range or enumeration shares: 10-15 days, 1-10万元."""
    found = list(found)
    for i in range(len(found) - 2, -1, -1):
        this, after = found[i], found[i + 1]
        prefixed = this.dimension in CURRENCIES and this.text[-1].isdigit()  # $5-10 million
        if (
            (prefixed or not this.dimension)
            and after.dimension != "date"
            and _TO.fullmatch(text, this.end, after.start)
        ):
            scale = _scale(after.text)
            this = replace(this, amount=this.amount * scale if this.amount < scale else this.amount)
            found[i] = this if prefixed else replace(this, dimension=after.dimension, factor=after.factor)
    for i in range(1, len(found)):
        before, this = found[i - 1], found[i]
        leads = before.dimension == "share" or before.dimension in CURRENCIES
        if leads and not this.dimension and _TO.fullmatch(text, before.end, this.start):
            found[i] = replace(this, dimension=before.dimension, factor=before.factor)
    return found


def _is_idiom(q: Quantity, text: str) -> bool:
    """Whether it only looks like a quantity: 一定, 上一年度, 两个以上, 千万, 几十日, "no one", 5G, 1st."""
    before, after = text[q.start - 1 : q.start], text[q.end : q.end + 2]
    if q.text[0].isascii():
        vague = q.text[0].isalpha() and q.amount in (0, 1)
        return not q.dimension and (vague or bool(re.match(r"-?[a-z]", after, re.IGNORECASE)))
    run = re.match(rf"[{_DIGIT}{_MULTIPLIER}点]*", q.text)[0]
    if not run or q.dimension == "date" or "分之" in q.text:
        return False
    if before in tuple("几数") or (q.text[len(run) :] + after)[:1] in tuple("几余多"):
        return True
    if q.amount == 1 and (
        q.dimension == "count" or before in tuple("上下前后同每任某这那另唯各逐统单") or after[:1] == "性"
    ):
        return True
    if q.amount <= 2 and q.dimension == "count" and after == "以上":
        return True
    if set(run) <= set("百千万亿") or run[0] in "万亿":
        return q.dimension not in CURRENCIES or run[0] in "万亿"
    return len(run) == 1 and not q.dimension


def numbers(text: str) -> list[Quantity]:
    """The quantities in a text, in its order: amounts, periods, ages, shares, dates, counts and bare numbers."""
    text = text.translate(_NARROW)
    return [q for q in _with_shared_units(list(_candidates(text)), text) if not _is_idiom(q, text)]


def _said(q: Quantity) -> set[tuple]:
    """What a text says that has this quantity: its value, its bare amount, and each part of a date."""
    if q.dimension != "date":
        return {(q.dimension, q.value), ("any", q.amount)}
    year, month, day = q.amount
    parts = {
        (year, month, day),
        (year, month, None),
        (year, None, None),
        (None, month, day),
        (None, month, None),
    }
    return {("date", part) for part in parts} | {("any", part) for part in q.amount if part is not None}


def missing_numbers(claim: str, evidence: str) -> list[Quantity]:
    """The claim's quantities that the evidence does not have, compared as values."""
    said = set().union(*map(_said, numbers(evidence)))

    def is_said(q: Quantity) -> bool:
        if not q.dimension:
            return ("any", q.amount) in said
        if q.dimension == "date":
            return ("date", q.amount) in said or (q.amount[1:] == (None, None) and ("", q.amount[0]) in said)
        return (q.dimension, q.value) in said or ("", q.amount) in said

    return [q for q in numbers(claim) if not is_said(q)]


# --- absolute terms ------------------------------------------------------------------------------------------------

# What a claim says, and what else a text may say for it: a law's 应当 is as strong as a claim's 必须.
_ABSOLUTES = [
    (re.compile(rf"(?<![不非])(?<!\bnot )(?:{said})", re.IGNORECASE), re.compile(rf"{said}|{allowed}", re.IGNORECASE))
    for said, allowed in [
        (
            r"全部|所有|一切|任何|一律|\b(?:all|every|any|each|everyone|everything|anyone)\b",
            r"各|每(?![年月日天周季])|均|凡",
        ),
        (
            r"一定(?![的期范程数条比规时情金])|必定|必然|肯定|始终|总是|\b(?:certainly|definitely|always)\b",
            r"一直|随时",
        ),
        (
            r"必须|务必|\b(?:must|shall|has to|have to|required to)\b",
            r"应(?![用急对])|须|方可|需要?|不得|\brequire[ds]?\b|\bneeds?\b",
        ),
        (r"只能|只有|仅|唯一|\b(?:only|solely|exclusively)\b", r"只|限于|方可|不得|\b(?:limited to|unless|except)\b"),
        (r"免费|无偿|\bfree\b(?! (?:to|of)\b)|\bfree of charge\b", r"不收取?(?:任何)?费|\bno (?:cost|charge|fee)\b"),
        (r"无需|无须|毋须|不需要|不必", r"不需|不要求|可以不|\b(?:no need|not need|not require|without)\b"),
        (r"永久|永远|\b(?:permanent(?:ly)?|forever)\b", r"无限期|\bindefinite(?:ly)?\b"),
        (r"永不|绝不|\bnever\b", r"不得|不能|不会|禁止|\b(?:not|no)\b"),
        (r"保证|确保|保障|承诺|\bguarantee[ds]?\b|\bensure[ds]?\b", r"应当|\b(?:shall|must)\b"),
        (r"绝对|完全|彻底|百分之百|\b(?:absolutely|completely|totally|fully)\b", r"全部"),
    ]
]


def absolute_terms(claim: str, evidence: str) -> list[str]:
    """The claim's absolute terms that the evidence has neither itself nor in a form as strong."""
    found = []
    for said, allowed in _ABSOLUTES:
        if (match := said.search(claim)) and not allowed.search(evidence):
            found.append(match[0])
    return found


# --- negation --------------------------------------------------------------------------------------------------------

_CHINESE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TERM = re.compile(rf"[{_CHINESE}]+|\d+(?:[.,]\d+)*|[^\W\d_{_CHINESE}]+")
_CLAUSE_END = re.compile(r"[。！？!?；;，：:\n]|[.,](?!\d)")
# Words with a negative in them that deny nothing, and bounds ("not more than five" is no denial of "five at most").
_NOT_NEGATION = re.compile(
    r"不[得能可]不|不[仅但论管断妨满足良利当]|不过|不同(?!意)|不[得能应可]?(?:超过|[少低]于|[多高大小晚迟早]于)|不可(?:避免|或缺|抗力)|不动产"
    r"|未(?:来|成年)|无(?:论|偿|线|限|形|人机)|非(?:常|法|洲|营利)|除非|是非|是否"
    r"|\bnot (?:only|just|merely|simply|exceed(?:ing)?)\b|\bwhether or not\b|\bno\.\s?\d"
    r"|\b(?:no|not) (?:more|less|fewer|later|earlier|sooner|longer) than\b|\bno (?:cost|charge)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"[不未非无没勿莫毋]|禁止|严禁"
    r"|\b(?:not|never|no|cannot|neither|nor|none|without|nothing|nobody|prohibit(?:s|ed)?|forbid(?:s|den)?)\b|n['’]t\b",
    re.IGNORECASE,
)
MOST_CLAUSES = 20  # of one claim: the rest is read as one clause, so that a huge claim costs no more than its length
LEAST_SHARED = 0.5  # of a clause's terms, or it is not about the same thing
NEARLY_AS_GOOD = 0.1  # a clause this close to the best match counts as well


def terms(text: str) -> frozenset[str]:
    """The terms of a text: Latin words (in lower case) and numbers as they are, Chinese as two-character pieces.

    >>> sorted(terms("七天内 refund"))
    ['refund', '七天', '天内']
    """
    found = set()
    for term in _TERM.findall(text):
        if len(term) > 1 and re.match(rf"[{_CHINESE}]", term):
            found.update(term[i : i + 2] for i in range(len(term) - 1))
        else:
            found.add(term.lower())
    return frozenset(found)


def _clauses(text: str, most: int = 0) -> list[tuple[frozenset[str], bool, str]]:
    """(terms beside its negations, whether it negates, text) of each clause."""
    clauses = []
    for clause in _CLAUSE_END.split(_NOT_NEGATION.sub(" ", text), maxsplit=most):
        positive, count = _NEGATION.subn(" ", clause)
        clauses.append((terms(positive), count > 0, clause.strip()))
    return clauses


def negation_on_one_side(claim: str, evidence: str) -> list[str]:
    """The claim's clauses that negate what the evidence's most similar clause affirms, or the reverse.

    Clause against clause: a long article negates somewhere. A clause that shares less than half of its terms with any
    clause of the evidence, or is as near to one that agrees, says nothing here.
    """
    evidence_clauses = _clauses(evidence)
    found = []
    for words, negates, text in _clauses(claim, most=MOST_CLAUSES):
        if len(words) < 2:
            continue
        shared = [len(words & other) / len(words) for other, _, _ in evidence_clauses]
        best = max(shared)
        near = [
            other
            for (_, other, _), share in zip(evidence_clauses, shared, strict=True)
            if share > best - NEARLY_AS_GOOD
        ]
        if best >= LEAST_SHARED and negates not in near:
            found.append(text)
    return found


def findings(claim: str, text: str) -> dict[str, list[str]]:
    """The flags that are raised ("numbers", "absolute", "negation"), each with the words of the claim that raise it."""
    found = {
        "numbers": [quantity.text for quantity in missing_numbers(claim, text)],
        "absolute": absolute_terms(claim, text),
        "negation": negation_on_one_side(claim, text),
    }
    return {flag: words for flag, words in found.items() if words}


def flags(claim: str, text: str) -> tuple[str, ...]:
    """The flags that a claim raises against the text that it cites."""
    return tuple(findings(claim, text))
