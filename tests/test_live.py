"""The live path against a real server over HTTP: `jevcompat mock`, with a key, and with one rule broken at a time."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT

import batch
import helpers

SECTIONS = helpers.split_sections(helpers.load_source())
CITATIONS = helpers.load_citations()


def check(server, cache=None, **settings) -> list[dict]:
    """The eight citations, asked of a server."""
    settings = {"model": "jev-latest", "endpoint": server.url, "api_key": server.key, "cache": cache} | settings
    return helpers.check_citations(SECTIONS, CITATIONS, helpers.make_ask(**settings))


def all_unchecked(results: list[dict]) -> set[str]:
    """The reasons of the seven rows that asked, none of which may have a verdict or an answer."""
    asked = [row for row in results if row["status"] != "missing"]
    assert len(asked) == 7
    assert all((row["verdict"], row["answer"], row["auto"]) == (None, None, False) for row in asked)
    assert [row["verdict"] for row in results if row["status"] == "missing"] == ["fabricated"]
    return {row["error"] for row in asked}


def test_seven_requests_and_none_the_second_time(serve, tmp_path):
    server, cache = serve(), tmp_path / "answers.json"
    first = check(server, cache)
    assert server.requests == 7
    assert len(first) == 8 and all(row["verdict"] for row in first)
    assert {row["answer"]["model"] for row in first if row["answer"]} == {"jevcompat-mock-0.1"}
    assert not any(row["answer"]["replay"] for row in first if row["answer"])
    second = check(server, cache)
    assert server.requests == 7
    assert [row["verdict"] for row in second] == [row["verdict"] for row in first]
    assert all(row["answer"]["replay"] for row in second if row["answer"])
    assert server.key not in cache.read_text()


@pytest.mark.parametrize(
    "fault, reason",
    [
        ("choice-second", "is not the most likely option"),
        ("choice-sum", "the probabilities sum to"),
        ("confidence-over", "the confidence 1.5 is not between 0 and 1"),
        ("choice-no-confidence", "answers.relation.confidence"),
        ("choice-key-case", None),
        ("wrong-route", "404"),
        ("xssi-200", "Invalid response data"),
    ],
)
def test_a_server_that_breaks_a_rule_gets_unchecked_rows(serve, tmp_path, fault, reason):
    cache = tmp_path / "answers.json"
    results = check(serve(fault), cache)
    if reason is None:  # our options are in small letters anyway, so that this fault changes nothing
        assert all(row["verdict"] for row in results)
        return
    assert all(reason in error for error in all_unchecked(results))
    assert not cache.exists()


def test_a_pinned_model_answered_by_another_is_unchecked(serve):
    (error,) = all_unchecked(check(serve(), model="jev-1.13.0"))
    assert "jev-1.13.0 was asked, jevcompat-mock-0.1 answered" in error


def test_a_wrong_key_and_an_unknown_model_say_so(serve):
    server = serve()
    (error,) = all_unchecked(check(server, api_key="wrong-key-0123456789"))
    assert "401" in error and "wrong-key" not in error
    (error,) = all_unchecked(check(server, model="jev-1.12"))
    assert "Unknown model: jev-1.12" in error


def test_no_server_is_unchecked(serve, monkeypatch):
    monkeypatch.setattr(batch, "FIRST_PAUSE", 0.0)
    server = serve()
    server.process.terminate()
    server.process.wait()
    assert all(server.url in error for error in all_unchecked(check(server)))


def test_without_a_key_nothing_is_sent(serve, tmp_path):
    server = serve()
    (error,) = all_unchecked(check(server, tmp_path / "answers.json", api_key=""))
    assert "set TYPESAFE_API_KEY to ask, or put the cache back" in error
    assert server.requests == 0


def test_an_answer_that_cannot_be_kept_is_used_all_the_same(serve, tmp_path):
    (tmp_path / "file").write_text("where a folder should be")
    with pytest.warns(UserWarning, match="answers.json: the answer is used but not kept"):
        results = check(serve(), tmp_path / "file" / "answers.json")
    assert all(row["verdict"] for row in results)


def test_the_command_live(serve, tmp_path):
    """As a user runs it: settings from the environment, the cache named, twice."""
    server = serve()
    env = {
        **os.environ,
        "TYPESAFE_API_KEY": server.key,
        "TYPESAFE_ENDPOINT": server.url,
        "TYPESAFE_MODEL": "jev-latest",
    }
    command = [sys.executable, ROOT / "citation_check.py", "--cache", tmp_path / "answers.json", "--json"]
    for _ in range(2):
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert done.returncode == 1 and len(json.loads(done.stdout)) == 8
        assert server.key not in done.stdout + done.stderr
    assert server.requests == 7
