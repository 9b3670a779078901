"""Quotations as people and models write them: what must be found, and the neighbour that must not."""

# ruff: noqa: E501 (the tables of kinds are easier to compare in one line each)

import json
import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import helpers
from folding import fold, normalize, without_markup
from quotes import Index, locate

ROOT = Path(__file__).resolve().parent.parent


DOCUMENTS = {
    "rfc7519": helpers.split_sections(helpers.load_source()).index,
    "pipl": helpers.split_articles(helpers.load_source(ROOT / "data" / "pipl.txt")).index,
}
DOCUMENTS["pages"] = Index({f"Page {n}": f"Text {n}." for n in (1, 2, 3)})
DOCUMENTS["headings"] = Index({label: "Its text." for label in ("1. Scope", "2. Pay", "2.1 Costs", "1. Fees")})
CASES = json.loads((ROOT / "tests" / "data" / "quotes.json").read_text(encoding="utf-8"))["cases"]


def found_in(text: str, quote: str):
    return locate(Index({"1": text}), quote, "1")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_shared_case(case):
    source, expect = case["source"], case["expect"]
    index = DOCUMENTS[source] if isinstance(source, str) else Index(source)
    located = locate(index, case["citation"]["quote"], case["citation"]["section"])
    assert located.status == expect["status"]
    assert expect["match"] in (None, located.match)
    assert expect["section"] in (None, located.section)
    assert set(expect["flags"]) <= set(located.flags)
    assert not (expect["clean"] and located.flags)


# Every row: what the source says, an honest quotation of it, and a dishonest neighbour.
PAIRS = {
    "Markdown link": ("as [the guide](https://a.b/c_d) says of it", "as the guide says of it", "as the guides say of it"),
    "Markdown image": ("press ![start](a.png \"go\") to begin now", "press start to begin now", "press stop to begin now"),
    "Markdown heading": ("it ends here.\n\n## Next part\n\nIt begins", "ends here. Next part It begins", "ends. Next part It"),
    "Markdown list": ("- take one tablet\n- drink some water", "take one tablet drink some water", "take one drink water"),
    "Chinese Markdown list": ("- 应当公开处理规则\n- 应当明示目的", "应当公开处理规则应当明示目的", "应当公开规则应当明示目的"),
    "Markdown table": ("| Saw | required | 6 euro |\n|---|:--|---|\n| Drill | no | - |", "Saw required 6 euro Drill no", "Saw 6 euro Drill no"),
    "Markdown quotation": ("> it was said\n> by the court", "it was said by the court", "it was said at the court"),
    "link in the quote": ("as the guide says of it", "as [the guide](https://a.b) says of it", "as [a guide](https://a.b) says"),
    "ligature": ("the ﬁnal oﬃce aﬀairs", "the final office affairs", "the fnal office affairs"),
    "œ and æ": ("the œuvre of Cæsar in full", "the oeuvre of Caesar in full", "the ouvre of Cesar in full"),
    "accents": ("the naïve résumé was read", "the nai\u0308ve resume\u0301 was read", "the knave résumé was read"),
    "Cyrillic й": ("мой дом и твой сад", "мои\u0306 дом и твои\u0306 сад", "мои дом и твои сад"),
    "soft hyphen": ("an admini\u00adstrator acts here", "an administrator acts here", "an admin acts here"),
    "zero width": ("the out\u200bstanding token is used", "the outstanding token is used", "the standing token is used"),
    "broken word": ("it fails valida-\n   tion at once", "it fails validation at once", "it fails valuation at once"),
    "broken compound": ("a case-\n  sensitive match", "a case-sensitive match", "a case sensitive match"),
    "broken in the quote": ("the validation of a token", "the valida-\ntion of a token", "the valida-tion of a token"),
    "flattened line end": ("the validation of a token", "the valida- tion of a token", "the valida -tion of a token"),
    "hyphen": ("they recover the token", "they  recover the token", "they re-cover the token"),
    "hyphen left out": ("they re-cover the seats", "they re‑cover the seats", "they recover the seats"),
    "break in a number": ("on 2015-05-\n20 it was issued", "on 2015-05-20 it was issued", "on 2015-0520 it was issued"),
    "dashes": ("pages 10–20 of a well–known text", "pages 10-20 of a well-known text", "pages 1020 of a well-known text"),
    "spaced dash": ("the token — a string — is sent", "the token—a string—is sent", "the token a string is sent"),
    "minus": ("it fell to −14 degrees", "it fell to -14 degrees", "it fell to 14 degrees"),
    "minus at the start": ("it fell to −14 degrees there", "-14 degrees there", "14 degrees there"),
    "plus for minus": ("from 14 degrees there", "14 degrees there", "-14 degrees there"),
    "guillemets": ("the «aud» claim is there", "the „aud“ claim is there", "the „sub“ claim is there"),
    "apostrophe": ("we’re sure the issuer’s key fits", "we're sure the issuer's key fits", "were sure the issuers key fits"),
    "Cyrillic": ("the password must be kept", "the pаsswоrd must be kept", "the pаsswоrt must be kept"),
    "Greek": ("the token store is open", "the tοken stοre is open", "the tοken stοve is open"),
    "Greek word": ("the α decay of a nucleus", "the α decay of a nucleus", "the alpha decay of a nucleus"),
    "emphasis": ("it MUST be rejected here", "it **MUST** be _rejected_ here", "it **MAY** be _rejected_ here"),
    "underscore": ("use AES_128_CBC for it", "use `AES_128_CBC` for it", "use AES128CBC for it"),
    "product": ("it holds 2 * 3 tokens each", "it holds 2*3 tokens each", "it holds 2 3 tokens each"),
    "power operator": ("it holds 2**3 tokens each", "it holds **2**3 tokens each", "it holds 2*3 tokens each"),
    "outer marks": ("it must be kept secret.", "“it must be kept secret,”", "“it may be kept secret,”"),
    "reference left out": ("as JSON [RFC7159] objects are", "as JSON objects are", "as JSON [RFC7158] objects are"),
    "footnote left out": ("the study[^1] shows it all", "the study shows it all", "the study[^2] shows it all"),
    "footnote as shown": ("the study[^1] shows it all", "the study[1] shows it all", "the study[2] shows it all"),
    "reference kept": ("as in the study [3, 5] before", "as in the study [3, 5] before", "as in the study [3, 6] before"),
    "reference at the end": ("defined in the study [3].", "defined in the study.", "defined in the study [4]."),
    "bracketed not": ("it shall [not] be kept secret", "it shall [not] be kept secret", "it shall be kept secret"),
    "bracketed NOT": ("it SHALL [NOT] be kept secret", "it SHALL [NOT] be kept secret", "it SHALL be kept secret"),
    "width": ("共计１２３个，（含）税款", "共计123个,(含)税款", "共计124个,(含)税款"),
    "comma for 、": ("收集、存储、使用个人信息", "收集,存储,使用个人信息", "收集存储使用个人信息"),
    "traditional": ("个人有权撤回其同意", "個人有權撤回其同意", "個人無權撤回其同意"),
    "著 and 着": ("随着个人信息的处理", "隨著個人信息的處理", "隨後個人信息的處理"),
    "Chinese spacing": ("自2021年11月1日起施行", "自 2021 年 11 月 1 日起\n施行", "自 2021 年 11 月 11 日起施行"),
    "Chinese marks": ("所称“个人信息”是指信息", "所称「个人信息」是指信息", "所称「匿名信息」是指信息"),
    "superscript": ("about 10⁵ cells per plate", "about 10⁵ cells  per plate", "about 105 cells per plate"),
    "superscript written": ("about 105 cells per plate", "about １０５ cells per plate", "about 10⁵ cells per plate"),
    "fraction": ("takes ½ day of the work", "takes ½ day of the  work", "takes 12 day of the work"),
    "square metres": ("a plot of 20 ㎡ of land", "a plot of 20 ㎡ of land,", "a plot of 20 m2 of land"),
    "circled": ("as in step ① of the plan", "as in  step ① of the plan", "as in step 1 of the plan"),
    "decimal point": ("a rate of 3.5 percent", "a rate of 3.5 percent", "a rate of 35 percent"),
    "thousands": ("in 1,000 cases of ten", "in 1,000 cases of ten", "in 1, 000 cases of ten"),
    "list of numbers": ("the values 3, 5 and 7", "the values 3,  5 and 7", "the values 3,5 and 7"),
    "percent sign": ("a share of 35% of all", "a share of 35% of all", "a share of 35 of all"),
    "percent cut": ("has a share of 35%", "has a share of 35%", "has a share of 35"),
    "percent cut, spaced": ("has a share of 35 %", "has a share of 35 %", "has a share of 35"),
    "negation": ("it is not permitted here", "it is not permitted here", "it is permitted here"),
    "hedge": ("it may usually be kept here", "it may usually be kept here", "it may be kept here"),
    "acronym": ("a JWT is sent to them", "a  JWT is sent to them", "a JSON Web Token is sent to them"),
    "inner punctuation": ("stop, clubbing is hard work", "stop, clubbing is hard work", "stop clubbing is hard work"),
    "number cut at the start": ("a fine of 11 million euros", "11 million euros", "1 million euros"),
    "decimal cut at the start": ("it grew by 13.5 points", "13.5 points", "3.5 points"),
    "decimal cut at its point": ("it grew by 13.5 points", "13.5 points", "5 points"),
    "decimal cut at the end": ("it grew by 13.5 points", "it grew by 13.5", "it grew by 13."),
    "word cut": ("an unlawful act of theirs", "unlawful act of theirs", "lawful act of theirs"),
    "word cut at the end": ("the act is permissible", "the act is permissible", "the act is permiss"),
    "can't": ("a court can't decide that", "a court can't", "a court can"),
    "range cut": ("pages 10-20 are missing there", "10-20 are missing there", "20 are missing there"),
    "date cut": ("until 1970-01-01 they wait", "until 1970-01-01", "until 1970-01"),
    "grouped number cut at the start": ("a fine of 2 500 000 euros", "2 500 000 euros is the fine"[:15], "500 000 euros"),
    "grouped number cut at the end": ("a fine of 2 500 000 euros", "a fine of 2 500 000", "a fine of 2"),
    "number words cut at the start": ("within twenty-five days of it", "twenty-five days of it", "five days of it"),
    "number words cut at the end": ("a fine of twenty five", "a fine of twenty five", "a fine of twenty"),
    "hundred and": ("in a hundred and five days of it", "hundred and five days of it", "five days of it"),
    "a year and a number": ("in 2015 300 members joined", "300 members joined", "30 members joined"),
    "Chinese numeral cut": ("处三千五百万元以下罚款", "三千五百万元以下罚款", "五百万元以下罚款"),
    "Chinese numeral cut at the end": ("罚款上限为五百万", "罚款上限为五百万", "罚款上限为五百"),
    "after a Chinese full stop": ("自本日起施行。2004年8月28日的决定废止", "2004年8月28日的决定废止", "004年8月28日的决定废止"),
    "before a Chinese full stop": ("本法所称成员共3。2004年通过", "本法所称成员共3", "本法所称成员共4"),
    "Chinese per cent": ("上一年度营业额百分之五以下", "百分之五以下", "五以下"),
    "Chinese multiplier": ("罚款上限为5万", "罚款上限为5万", "罚款上限为5"),
    "case": ("then it MUST be rejected", "then it must be rejected", "then it may be rejected"),
    "closing mark": ("it must be kept secret; or", "it must be kept secret.", "it must be kept secret or"),
    "control characters": ("it must be kept secret", "it must\x02 be kept\x00 secret", "it must\x02 be\x00 secret"),
}  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
def test_honest_is_found_and_its_neighbour_is_not(kind):
    source, honest, dishonest = PAIRS[kind]
    located = found_in(source, honest)
    assert located.status == "found"
    assert ("case" in located.flags) == (kind == "case")
    assert found_in(source, dishonest).status == "missing"


ELIDED = {
    "dots": ("the tenant shall pay the rent in full on time", "the tenant shall ... on time", {"elided"}),
    "sic": ("the tenant shall pay the rents on time", "the tenant shall pay the rents [sic] on time", {"elided"}),
    "略": ("承租人应当按时足额支付租金并保持房屋清洁", "承租人应当按时（略）并保持房屋清洁", {"elided"}),
    "six dots": ("承租人应当按时足额支付租金并保持房屋清洁", "承租人应当按时……并保持房屋清洁", {"elided"}),
    "words": ("it must pay the rent in full on time", "[the tenant] must pay the rent in full on time", {"elided"}),
    "name": ("it must pay the rent in full on time", "[Alice] must pay the rent in full on time", {"elided"}),
    "letter": ("Then the tenant shall pay the rent", "[t]hen the tenant shall pay the rent", {"elided", "case"}),
    "around": ("that the tenant shall pay the rent here", "... the tenant shall pay the rent ...", {"elided"}),
    "n't": ("the tenant doesn't have to pay the rent", "the tenant ... have to pay the rent", {"elided", "negation"}),
    "without": ("pay the rent without delay or a fee at all", "pay the rent ... delay or a fee", {"negation"}),
    "不": ("承租人应当按时支付租金但不包括清洁费用", "承租人应当按时支付租金……包括清洁费用", {"negation"}),
    "not put in": ("the tenant shall pay the rent in full", "the tenant shall [not] pay the rent", {"negation"}),
    "tiny pieces": ("the tenant shall pay the rent in full", "tenant ... rent", {"short"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", ELIDED)
def test_marked_omission_or_insertion(kind):
    source, quote, flags = ELIDED[kind]
    located = found_in(source, quote)
    assert (located.status, located.match) == ("found", "elided")
    assert flags <= set(located.flags) and "elided" in located.flags


@pytest.mark.parametrize(
    "quote",
    [
        "shall pay the rent in full ... the tenant of the house",  # reversed
        "the tenant of the house ... may leave it at any time",  # of two sections
        "the tenant of the house ... leaves a deposit of 300 euros",  # too far apart
        "the tenant of the house may ... pay the rent in full",  # a word put in
        "the ... of ... in",  # pieces that say nothing
        "shall pay the rent [30] euros in full",  # an inserted number
        "shall pay the rent in full [5] ... 300 euros",
    ],
)
def test_no_marked_omission(quote):
    far = (
        "The tenant of the house shall pay the rent in full [4]. "
        + "So it is. " * 60
        + "He leaves a deposit of 300 euros."
    )
    index = Index({"1": far, "2": "The owner may leave it at any time."})
    assert locate(index, quote, "1").status == "missing"


@pytest.mark.parametrize(
    ("source", "quote"),
    [
        ("das ist schon lange her gewesen", "das ist schön lange her gewesen"),
        ("le vendeur paie où l'acheteur veut", "le vendeur paie ou l'acheteur veut"),
    ],
)
def test_other_accents_are_for_a_person(source, quote):
    assert found_in(source, quote).flags == ("accents",)
    assert found_in(source + ", naïve", source.upper() + ", NAI\u0308VE").flags == ("case",)


def test_a_piece_or_a_quotation_of_nothing_but_a_mark():
    assert found_in("the result of it all is this", "the result of it all ... [RFC7159]").status == "missing"
    assert found_in("the result is as in [RFC7159] there", "[RFC7159]").flags == ("short",)


RFC_LIST = "The steps are:\n\n   o  Verify that the token is\n      valid.\n\n   o  Reject it otherwise.\n"
NUMBERED = "The steps are:\n\n   1.   Verify that it is valid.\n\n   2.   Reject it otherwise.\n"
TABLE = "| Name | Age |\n|------|-----|\n| Alice Smith | 24 years |"
# Every row: what the source says, an honest quotation, a dishonest neighbour, and whether a person is to look.
MARKUP = {
    "bullets left out": (RFC_LIST, "The steps are: Verify that the token is valid. Reject it otherwise.", "The steps are: Verify the token is valid. Reject it otherwise.", False),
    "bullets to dashes": (RFC_LIST, "The steps are:\n- Verify that the token is valid.\n- Reject it otherwise.", "The steps are:\n- Verify that the token is valid.\n- Accept it otherwise.", False),
    "bullets to dots": (RFC_LIST, "token is valid. • Reject it otherwise.", "token is valid. • Reject them otherwise.", False),
    "dots left out": ("• take one tablet\n• drink some water", "take one tablet drink some water", "take no tablet drink some water", False),
    "a Spanish or": ("es de color rojo\no verde, no es azul", "rojo o verde, no es azul", "rojo verde, no es azul", False),
    "a minus": ("it fell to\n- 5 degrees there", "it fell to - 5 degrees there", "it fell to 5 degrees there", False),
    "dash in a line": ("it is so. - It is not so there", "It is so. - it is not so there", "it is so. - it is so there", False),
    "escaped underscore": ("The max\\_retries option is set", "The max_retries option is set", "The maxretries option is set", False),
    "escape in the quote": ("Use the max_retries option", "Use the max\\_retries option", "Use the min\\_retries option", False),
    "escaped marks": ('The "aud" claim is there', 'The \\"aud\\" claim is there', 'The \\"sub\\" claim is there', False),
    "entity": ("Tom & Jerry are in the house", "Tom &amp; Jerry are in the house", "Tom &lt; Jerry are in the house", False),
    "entity in the source": ("the house of&nbsp;cards &lt; 5", "the house of cards < 5", "the house of cards > 5", False),
    "autolink": ("see <https://a.example/b> for it all", "see https://a.example/b for it all", "see https://a.example/c for it all", False),
    "reference link": ("as [the guide][1] says of it", "as the guide says of it", "as the guides say of it", False),
    "inline tag": ("a <b>bold</b> word is here", "a bold word is here", "a bald word is here", False),
    "numbers left out": (NUMBERED, "Verify that it is valid. Reject it otherwise.", "Verify that it is valid. 3. Reject it otherwise.", True),
    "numbers put in": ("Wash your hands.\n\nDry your hands.", "1. Wash your hands. 2. Dry your hands.", "1. Wash your hands. 2 dry your hands.", True),
    "Chinese numbers": ("（一）取得个人的同意；\n（二）为订立合同所必需", "取得个人的同意；为订立合同所必需", "（三）取得个人的同意；为订立合同所必需", True),
    "table": (TABLE, "Alice Smith 24 years", "Alice Smith 25 years", True),
    "footnote": ("The study³ shows an effect.", "The study shows an effect.", "The study⁴ shows an effect.", True),
}  # fmt: skip


@pytest.mark.parametrize("kind", MARKUP)
def test_lists_tables_and_markup(kind):
    source, honest, dishonest, flagged = MARKUP[kind]
    for index, cited in ((Index({"1": source}), "1"), (Index({"0": "Nothing.", "1": source}), None)):
        located = locate(index, honest, cited)
        assert located.status == "found"
        assert ("elided" in located.flags) == flagged
        assert located.text[located.start : located.end] in source
        assert locate(index, dishonest, cited).status == "missing"


def test_text_that_is_cut_out_of_a_negation_is_for_a_person():
    text = "个人信息处理者不得公开其处理的个人信息，取得个人单独同意的除外。"
    assert found_in(text, "得公开其处理的个人信息").flags == ("negation",)
    assert found_in(text, "取得个人单独同意的除外").flags == ()
    assert found_in("The landlord is not permitted to end it.", "permitted to end it").flags == ("negation",)
    assert found_in("Do not rush. The landlord is permitted to end it.", "is permitted to end it").flags == ()
    assert found_in("it is in-\n  valid to end it early", "valid to end it early").flags == ("negation",)
    assert found_in("A non-compliant token is refused.", "compliant token is refused").flags == ("negation",)


def test_where_the_passage_is_read():
    index = Index(
        {
            "4": "4. Claims\n\nAll claims are optional here.",
            "4.1": "4.1. Names\n\nA name is a string of text.",
            "4.1.1": "4.1.1. Issuer\n\nIts use is entirely optional.",
            "4.1.2": "4.1.2. Subject\n\nIts use is entirely optional. It is local.",
            "5": "5. Header\n\nThe header describes the token.",
        },
        {"Chapter 4": ["4", "4.1", "4.1.1", "4.1.2"]},
    )
    repeated = "Its use is entirely optional"

    def where(quote, cited):
        located = locate(index, quote, cited)
        return located.section, located.flags

    assert where(repeated, "4.1.2") == ("4.1.2", ())
    assert where(repeated, None) == ("4.1.1", ("repeated",))
    assert where(repeated, "5") == ("4.1.1", ("moved", "repeated"))
    assert where(repeated, "4.1") == ("4.1.1", ("repeated",))  # the cited section's own subsections, and one is read
    assert where("It is local", "4.1") == ("4.1.2", ("short",))
    assert where(repeated, "Chapter 4") == ("4.1.1", ())
    assert where("The header describes the token", "9.9") == ("5", ("moved", "no-such-section"))
    assert where("The header describes a token", "9.9") == (None, ())
    assert where("The header describes the token", "4, 5") == ("5", ())
    assert where("the token", "5") == ("5", ("short",))

    spans = locate(index, "It is local. 5. Header The header describes", "5")
    assert (spans.section, spans.flags) == ("4.1.2", ("spans",))
    assert spans.text == index.texts["4.1.2"] + "\n\n" + index.texts["5"]
    assert spans.text[spans.start : spans.end] == "It is local.\n\n5. Header\n\nThe header describes"

    both = locate(index, "The header describes the token", ["5", "4.1"])
    assert both.text == index.texts["4.1"] + "\n\n" + index.texts["5"]
    assert both.text[both.start : both.end] == "The header describes the token"

    chapter = locate(index, None, "chapter 4")
    assert (chapter.status, chapter.section) == ("section-only", "Chapter 4")
    assert chapter.text == "\n\n".join(index.texts[label] for label in ("4", "4.1", "4.1.1", "4.1.2"))
    assert locate(index, None, "4, 9.9").flags == ("no-such-section",)


@pytest.mark.parametrize(
    ("document", "cited", "named"),
    [
        ("rfc7519", form, "4.1.6")
        for form in ["Section 4.1.6", "section 4.1.6 ", "§4.1.6", "§ 4.1.6", "4.1.6.", "Sec. 4.1.6", "4．1．6", "(4.1.6)"]
        + ['4.1.6 ("iat" claim)', "RFC 7519, Section 4.1.6", "Section 4.1.6 of RFC 7519", "RFC 7519 §4.1.6"]
    ]
    + [
        ("rfc7519", "4.1", "4.1"),
        ("rfc7519", "Appendix A.1", "A.1"),
        ("rfc7519", "appendix b", "Appendix B"),
        ("rfc7519", "abstract", "Abstract"),
        ("rfc7519", "4.1.3, 4.1.4", "4.1.3, 4.1.4"),
        ("rfc7519", "Sections 4.1.3 and 4.1.4", "4.1.3, 4.1.4"),
        ("rfc7519", "4.1.3-4.1.5", "4.1.3, 4.1.4, 4.1.5"),
        ("rfc7519", "4.1.3 to 4.1.4", "4.1.3, 4.1.4"),
        ("rfc7519", "4.1.9", None),
        ("rfc7519", "4.10", None),
        ("rfc7519", "41", None),
        ("rfc7519", "see there", None),
    ]
    + [
        ("pipl", form, "第十五条")
        for form in ["第15条", "第 15 条", "第十五条", "第十五条第二款", "15", "Article 15", "art. 15", "《个人信息保护法》第十五条"]
    ]
    + [
        ("pipl", "第十五条、第十六条", "第十五条, 第十六条"),
        ("pipl", "第十五条至第十七条", "第十五条, 第十六条, 第十七条"),
        ("pipl", "第廿五条", "第二十五条"),
        ("pipl", "Article 15(2)", "第十五条"),
        ("pipl", "Chapter II, Section 1", None),
        ("pages", "p. 2", "Page 2"),
        ("pages", "pp. 2-3", "Page 2, Page 3"),
        ("pages", "第2-3页", "Page 2, Page 3"),
        ("pages", "pages 1 and 3", "Page 1, Page 3"),
        ("pages", "Section 2", None),
        ("pages", "2", None),
        ("headings", "1", "1. Scope, 1. Fees"),
        ("headings", "Section 1", "1. Scope, 1. Fees"),
        ("headings", "2.1", "2.1 Costs"),
        ("pipl", "第2章", "第二章"),
        ("pipl", "第十五、十六条", "第十五条, 第十六条"),
        ("pipl", "第十五条之一", None),
        ("pipl", "第二款", None),
        ("pipl", "第一百五十条", None),
    ],
)  # fmt: skip
def test_label(document, cited, named):
    located = locate(DOCUMENTS[document], None, cited)
    assert located.section == named
    assert located.status == ("section-only" if named else "missing")
    assert located.flags == (() if named else ("no-such-section",))


@pytest.mark.parametrize(
    ("document", "own", "other"),
    [
        ("rfc7519", "RFC 7519 Section 4.1.3", "Section 4.1.3 of RFC 7515"),
        ("pipl", "《中华人民共和国个人信息保护法》第十五条", "《网络安全法》第十五条"),
    ],
)
def test_a_section_of_another_document(document, own, other):
    assert locate(DOCUMENTS[document], None, own).flags == ()
    assert locate(DOCUMENTS[document], None, other).flags == ("no-such-section",)


def test_the_subsections_of_a_numbered_heading():
    index = Index({"3.3. Calls": "3.3. Calls", "3.3.1. Init": "It prepares the whole stream.", "3.4. Files": "Others."})
    assert locate(index, "It prepares the whole stream", "Section 3.3").flags == ()


def test_what_a_caller_gets_wrong():
    for blank in ("", " \n", "“…”", "***"):
        with pytest.raises(ValueError, match="the quote is blank"):
            found_in("Some text.", blank)
    with pytest.raises(ValueError, match="neither a quote nor a section"):
        locate(DOCUMENTS["pipl"], None, None)


def test_near_shows_what_differs():
    quote = "个人信息处理者处理不满十六周岁未成年人个人信息的"
    assert locate(DOCUMENTS["pipl"], quote, "第三十一条").status == "missing"
    near = locate(DOCUMENTS["pipl"], quote, "第三十一条", near=0.9)
    assert (near.status, near.match, near.section, near.flags) == ("near", None, "第三十一条", ("near",))
    assert 0.9 <= near.similarity < 1
    assert "[-十四-]{+十六+}" in near.difference
    assert locate(DOCUMENTS["pipl"], quote, "第三十一条", near=0.99).status == "missing"
    assert locate(DOCUMENTS["rfc7519"], "each day has exactly 84600 seconds", "2", near=0.95).status == "missing"


# ---------------------------------------------------------------------------------------------- properties


def sentences(name: str) -> list[tuple[str, str, str]]:
    found = []
    for label, text in DOCUMENTS[name].texts.items():
        for m in re.finditer(
            r"[^。；\n]{14,120}[。；]" if name == "pipl" else r"\b[A-Z][a-z][^.\[\]]{40,250}[a-z]\.(?=\s)",
            text,
        ):
            if normalize(text).count(normalize(m[0])) == 1:
                found.append((name, label, m[0]))
    return found


SENTENCES = [*sentences("rfc7519"), *sentences("pipl")]

# Each takes the quotation and says the same in another writing.
PRESENTATIONS = {
    "one line": lambda q: " ".join(q.split()),
    "other lines": lambda q: re.sub(r"(.{17,23}) ", "\\1\r\n\t", q),
    "no-break spaces": lambda q: q.replace(" ", "\u00a0"),
    "ligatures": lambda q: q.replace("fi", "ﬁ").replace("fl", "ﬂ"),
    "soft hyphens": lambda q: re.sub(r"([a-z]{3})(?=[a-z]{3})", "\\1\u00ad", q),
    "zero width": lambda q: re.sub(r"([a-z])(?=[a-z] )", "\\1\u200b", q),
    "line-end hyphens": lambda q: re.sub(r"\b([a-z]{4})(?=[a-z]{3})", r"\1-\n  ", q, count=2),
    "dashes": lambda q: q.replace("-", "–"),
    "curly": lambda q: re.sub(r'"([^"]*)"', "“\\1”", q),
    "guillemets": lambda q: re.sub(r'"([^"]*)"', "«\\1»", q),
    "corner brackets": lambda q: q.replace("“", "「").replace("”", "」"),
    "upper": lambda q: q.upper(),
    "Cyrillic": lambda q: re.sub(r"\b\w*[bdfghklmnqrtuvwz]\w*", lambda m: m[0].replace("a", "а").replace("o", "о"), q),
    "bold": lambda q: re.sub(r"(?<=[a-z] )([A-Za-z]{5,})(?=\s)", r"**\1**", q, count=1),
    "outer": lambda q: f"“{q}”",
    "closing": lambda q: re.sub(r"[.。；]$", ",", q),
    "full width": lambda q: q.translate({ord(c): ord(c) + 0xFEE0 for c in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ(),;"}),
    "half width": lambda q: q.translate(str.maketrans("，。；：（）、", ",.;:(),")),
    "Chinese spacing": lambda q: re.sub(r"(?<=[一-龥])(?=[，\d])|(?<=\d)(?=[一-龥])", " ", q),
    "traditional": lambda q: q.translate(str.maketrans("个信处应当开规权", "個信處應當開規權")),
}  # fmt: skip


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(SENTENCES),
    st.permutations(list(PRESENTATIONS)).flatmap(lambda p: st.integers(0, 6).map(lambda n: p[:n])),
)
def test_any_mix_of_presentation_is_found_at_its_place(sentence, kinds):
    name, label, quote = sentence
    written = quote
    for kind in kinds:
        written = PRESENTATIONS[kind](written)
    located = locate(DOCUMENTS[name], written, label)
    assert located.status == "found", (kinds, written)
    assert located.section == label
    assert set(located.flags) <= {"case"}
    text = DOCUMENTS[name].texts[label]
    assert located.text == text
    assert abs(located.start - text.index(quote)) <= 1 and abs(located.end - text.index(quote) - len(quote)) <= 1
    assert quote.strip("“”.。；") in text[located.start : located.end]


def one_digit(q: str, dice: random.Random) -> str:
    places = [m.start() for m in re.finditer(r"[0-9二三四五六七八九]", q)]
    if not places:
        return q
    i = dice.choice(places)
    digits = "0123456789" if q[i].isascii() else "二三四五六七八九"
    return q[:i] + dice.choice(digits.replace(q[i], "")) + q[i + 1 :]


def one_negation(q: str, dice: random.Random) -> str:
    gone = re.sub(r"\s(?:not|NOT|no)\b|不(?=得|能|需|宜|应)", "", q, count=1)
    if gone != q and dice.random() < 0.5:
        return gone
    return (
        re.sub(r"\b(is|are|be|MUST|SHOULD|MAY|can)\b", r"\1 not", q, count=1)
        if q.isascii()
        else q.replace("应当", "不应当", 1)
    )


def one_word(q: str, dice: random.Random) -> str:
    places = list(re.finditer(r"\b[a-z]{4,}\b|个人|处理|信息|同意|部门|规定|提供|公开", q))
    if not places:
        return q
    m = dice.choice(places)
    other = dice.choice(
        ["certificate", "password", "always", "banana"] if q.isascii() else ["企业", "删除", "商品", "拒绝"]
    )
    return q[: m.start()] + other + q[m.end() :]


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(SENTENCES),
    st.sampled_from([one_digit, one_negation, one_word]),
    st.randoms(use_true_random=False),
)
def test_one_change_of_meaning_is_not_found(sentence, change, dice):
    name, label, quote = sentence
    altered = change(quote, dice)
    if normalize(altered) not in normalize(DOCUMENTS[name].source):
        for written in (altered, " ".join(altered.split()), altered.upper()):
            assert locate(DOCUMENTS[name], written, label).status == "missing"


ANY_TEXT = st.text(st.sampled_from("ab1 .2,-–\"'“[]*_()ﬁœéе\u0301\u00ad\u200b中一不²½й。，:/Aİßς…\n"), max_size=40)


@settings(max_examples=600, deadline=None)
@given(ANY_TEXT, ANY_TEXT, st.integers(0, 40), st.integers(1, 20))
def test_offsets_are_valid_and_the_passage_folds_to_the_quotation(text, other, start, length):
    index = Index({"1": text, "2": other})
    for quote in (text[start : start + length], other):
        if not any(map(str.isalnum, fold(quote).text)):
            continue
        located = locate(index, quote)
        if located.status == "found":
            assert 0 <= located.start < located.end <= len(located.text)
            if located.match != "elided":
                passage = located.text[located.start : located.end]
                assert core(passage) == core(quote)


def core(text: str) -> str:
    return fold(without_markup(text)).text.casefold().strip(" .,;:!?")


WORDS = st.lists(
    st.text(st.sampled_from("ab1.2,-–\"'“*_()ﬁœéей中一不²½。，:/Aß…"), min_size=1, max_size=7),
    min_size=1,
    max_size=12,
)


@settings(max_examples=400, deadline=None)
@given(WORDS, st.data())
def test_whole_words_of_any_text_are_found(words, data):
    first = data.draw(st.integers(0, len(words) - 1))
    quote = " ".join(words[first : data.draw(st.integers(first + 1, len(words)))])
    if any(map(str.isalnum, quote)):
        assert found_in("\n ".join(words), quote).status == "found"


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_normalize_is_what_the_index_holds(text):
    assert Index({"1": text.strip()}).spaced.text == normalize(text)


@pytest.mark.parametrize(
    "repeated", ["a", " ", "-", "[", "[1]", "[a, ", "a ", "a-", "ﬁ", "é", "\u0301", "中", "1", '"', "…"]
)
def test_repetitive_text_takes_linear_time(repeated):
    text = repeated * (1_000_000 // len(repeated))
    start = time.perf_counter()
    index = Index({"1": text})
    for quote in (text[:100_000] + "x", repeated * 3 + " the token"):
        assert locate(index, quote, "1").status == "missing"
    assert time.perf_counter() - start < 10
