"""The deterministic flags: numbers as values, absolute terms, negation on one side."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rules
from helpers import load_citations, load_source, split_articles

ROOT = Path(__file__).parent.parent
PAIRS = json.loads((ROOT / "tests" / "data" / "number_pairs.json").read_text(encoding="utf-8"))


def test_every_labelled_pair_of_numbers_is_decided_right():
    assert len(PAIRS) >= 100 and sum(pair["flagged"] for pair in PAIRS) >= 30
    wrong = [pair for pair in PAIRS if bool(rules.missing_numbers(pair["claim"], pair["evidence"])) != pair["flagged"]]
    assert not wrong


def test_rates_on_the_law():
    """What the notebook prints: the fine is caught, and few of the accurate citations are sent to a person."""
    articles = split_articles(load_source(ROOT / "data" / "pipl.txt"))
    results = (ROOT / "tests" / "data" / "published" / "pipl_results.tsv").read_text(encoding="utf-8")
    expected = {line.split("\t")[0]: line.split("\t")[-1] for line in results.splitlines()}
    flags = {
        citation["id"]: rules.flags(citation["claim"], articles[citation["section"]])
        for citation in load_citations(ROOT / "data" / "citations.json")
    }
    assert len(flags) == 40 and Counter(expected[name] for name in flags)["verified"] == 20
    assert "numbers" in flags["fine_five_million"] and "numbers" in flags["breach_72h"]
    accurate = [found for name, found in flags.items() if expected[name] == "verified" and found]
    assert not any("numbers" in found for found in accurate)
    assert len(accurate) <= 5


@pytest.mark.parametrize(
    "claim, text, expected",
    [
        ("退款申请不需要在七天内提交", "退款申请应在订单完成后七天内提交。", ("absolute", "negation")),
        ("会员可以免费获得全部服务", "会员可以获得服务。", ("absolute",)),
        ("处理敏感个人信息必须取得单独同意", "处理敏感个人信息应当取得个人的单独同意", ()),
        ("Refunds are guaranteed.", "Refunds are possible.", ("absolute",)),
        ("Not all refunds are paid.", "Some refunds are not paid.", ()),
        ("应当采取一定的措施", "应当采取措施", ()),
        ("记录永久保存", "记录不得转让", ("absolute",)),
        ("全部退款", "每年公布退款", ("absolute",)),
        ("不能不退款给用户", "应当退款给用户", ()),
        (
            "The token must be accepted after it expires.",
            "The token MUST NOT be accepted after it expires.",
            ("negation",),
        ),
        ("The claim isn't optional.", "The claim is optional.", ("negation",)),
        ("The claim is not only optional.", "The claim is optional.", ()),
        ("不满十四周岁未成年人的信息属于敏感信息", "敏感信息包括十四周岁以下未成年人的信息", ()),
        ("罚款不超过五千万元", "处五千万元以下罚款", ()),
        ("受托人不得转委托他人", "受托人应当删除；未经同意，受托人不得转委托他人处理", ()),
        ("", "", ()),
    ],
)
def test_absolute_terms_and_negation(claim, text, expected):
    assert rules.flags(claim, text) == expected


def test_terms_are_words_numbers_and_pairs_of_characters():
    assert rules.terms("JWT 七天内, 3.5%") == {"jwt", "七天", "天内", "3.5"}


HOSTILE = (
    "五千万元 第六条 百分之 3.5% 2021年11月1日 1, 点 、 。 不 must all one hundred and - RMB [E1] 亿 ٣ \ud800 \0 \n"
)
PIECES = HOSTILE.split(" ")


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=20).map("".join))
def test_no_text_raises_a_flag_against_itself(text):
    assert rules.flags(text, text) == ()


@given(
    st.integers(1, 9999),
    st.sampled_from([("元", "yuan", "USD 5"), ("天", "days", "5 hours"), ("%", "percent", "5 days")]),
)
def test_a_number_is_its_value_in_whatever_form(number, units):
    chinese, english, other = units
    written = f"{number}万{chinese}"
    assert not rules.missing_numbers(written, f"{number * 10_000:,} {english}")
    assert not rules.missing_numbers(f"{number * 10_000} {english}", written)
    assert rules.missing_numbers(written, f"{number + 1}万{chinese}")
    assert rules.missing_numbers(written, other)


@pytest.mark.parametrize(
    "piece", ["一", "1", "1,111", "三日、", "第一、", "[E1, ", "one and ", "不行，", "a1-", "Sections 5 and "]
)
def test_time_grows_with_the_text_only(piece):
    text = piece * (30_000 // len(piece))
    start = time.perf_counter()
    rules.flags(text, text + "。")
    assert time.perf_counter() - start < 6  # about 0.5 s; anything quadratic takes minutes
