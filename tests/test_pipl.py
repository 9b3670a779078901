"""The 40 labelled citations of the Personal Information Protection Law, and their replay."""

import csv
import json
from pathlib import Path

import pytest
from conftest import PUBLISHED, ROOT

import helpers

ARTICLES = helpers.split_articles(helpers.load_source(ROOT / "data" / "pipl.txt"))
CITATIONS = helpers.load_citations(ROOT / "data" / "citations.json")
CACHE = ROOT / "data" / "json_cache.json"
with (PUBLISHED / "pipl_results.tsv").open(encoding="utf-8", newline="") as file:
    PUBLISHED_ROWS = list(csv.DictReader(file, delimiter="\t"))


def bare(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def test_the_citations_are_those_of_the_article():
    assert [citation["id"] for citation in CITATIONS] == [row["id"] for row in PUBLISHED_ROWS]
    assert [citation["expected"] for citation in CITATIONS] == [row["expected"] for row in PUBLISHED_ROWS]
    assert all(bool(citation["corruption"]) == (citation["expected"] != "verified") for citation in CITATIONS)


@pytest.mark.parametrize(
    "citation, published", [*zip(CITATIONS, PUBLISHED_ROWS, strict=True)], ids=lambda row: row["id"]
)
def test_a_found_quote_is_verbatim_where_it_is_cited_and_a_missing_one_is_nowhere(citation, published):
    holders = [label for label, text in ARTICLES.items() if citation["quote"] and bare(citation["quote"]) in bare(text)]
    assert holders == {"found": [citation["section"]], "missing": [], "section-only": []}[published["quote"]]
    located = helpers.locate(ARTICLES, citation)
    assert located.status == published["quote"]
    assert located.section == (None if located.status == "missing" else citation["section"])
    assert located.flags == ()


def test_the_replay_holds_what_was_published_and_nothing_made_up():
    answers = json.loads(CACHE.read_text())
    assert len(answers) == 35
    results = helpers.check_citations(ARTICLES, CITATIONS, helpers.make_ask(**helpers.xiangxin()))
    for row, published in zip(results, PUBLISHED_ROWS, strict=True):
        if published["relation"] == "-":
            assert row["answer"] is None and row["verdict"] == "fabricated"
            continue
        answer = row["answer"]
        assert (answer["choice"], f"{answer['confidence']:.2f}") == (published["relation"], published["confidence"])
        assert (row["verdict"], "auto" if row["auto"] else "review") == (published["verdict"], published["action"])
        assert answer["replay"] and answer["input_tokens"] is answer["seconds"] is None
        known = (
            {"supports": 0.76, "contradicts": 0.11, "says_nothing": 0.13} if row["id"] == "fine_five_million" else None
        )
        assert answer["probabilities"] == known


def test_a_changed_claim_is_unchecked():
    changed = [
        {**citation, "claim": citation["claim"] + "！"} if n == 3 else citation for n, citation in enumerate(CITATIONS)
    ]
    results = helpers.check_citations(ARTICLES, changed, helpers.make_ask(**helpers.xiangxin()))
    assert [row["id"] for row in results if row["verdict"] is None] == ["withdraw_channel"]
    assert "XIANGXIN_API_KEY" in results[3]["error"]


def test_a_live_run_sends_35_requests_with_the_variables_of_xiangxins_sdk(serve, monkeypatch, tmp_path):
    server = serve()
    monkeypatch.setenv("XIANGXIN_BASE_URL", server.url)
    monkeypatch.setenv("XIANGXIN_API_KEY", server.key)
    monkeypatch.setenv("XIANGXIN_DEFAULT_MODEL", "jev-latest")
    settings = helpers.xiangxin() | {"cache": tmp_path / "answers.json"}
    results = helpers.check_citations(ARTICLES, CITATIONS, helpers.make_ask(**settings))
    assert server.requests == 35
    assert all(row["verdict"] for row in results)
    assert Path(tmp_path / "answers.json").exists()


def test_a_key_of_typesafes_is_not_sent_to_another_vendor(serve, monkeypatch, tmp_path):
    server = serve()
    monkeypatch.setenv("TYPESAFE_API_KEY", server.key)
    monkeypatch.setenv("XIANGXIN_BASE_URL", server.url)
    settings = helpers.xiangxin() | {"cache": tmp_path / "answers.json"}
    assert all(
        row["answer"] is None for row in helpers.check_citations(ARTICLES, CITATIONS, helpers.make_ask(**settings))
    )
    assert server.requests == 0
