"""The pipeline of helpers.py against what was published, and each fault of an input once."""

import hashlib
import json
import subprocess
import sys

import pytest
from conftest import PUBLISHED, ROOT
from wcwidth import wcswidth

import answers
import helpers

SECTIONS = helpers.split_sections(helpers.load_source())
CITATIONS = {citation["id"]: citation for citation in helpers.load_citations()}
PUBLISHED_LINES = (PUBLISHED / "citation_check.txt").read_text().splitlines()


def table(capsys, *args) -> list[str]:
    helpers.print_table(*args)
    return capsys.readouterr().out.splitlines()


def row(citation, ask=None, sections=SECTIONS) -> dict:
    return helpers.check_citation(sections, citation, ask or helpers.make_ask())


def test_published_split():
    assert len(helpers.load_source()) == 58_365
    assert len(SECTIONS) == 45
    assert [*SECTIONS][:3] == ["1", "1.1", "2"] and [*SECTIONS][-1] == "13.2"
    assert {"Abstract", "A.1", "Appendix B", "Authors' Addresses"} <= set(SECTIONS.outside)


def test_every_line_of_the_source_is_under_some_label():
    under_labels = "".join("".join(SECTIONS.text(label).split()) for label in SECTIONS.order)
    assert under_labels == "".join(helpers.load_source().split())


def test_published_outputs_and_link(capsys):
    results = helpers.check_citations(SECTIONS, [*CITATIONS.values()], helpers.make_ask())
    assert table(capsys, results) == PUBLISHED_LINES[-9:]
    helpers.print_located(helpers.locate_citations(SECTIONS, [*CITATIONS.values()]))
    assert capsys.readouterr().out.splitlines() == PUBLISHED_LINES[-18:-10]
    assert helpers.answers_note(results) == "7 answers replayed from the cache, 0 asked live; model: jev-1.12"
    claim = CITATIONS["exp_required"]["claim"]
    assert helpers.playground_link(claim, SECTIONS["4.1.4"]) == (PUBLISHED / "playground_link.txt").read_text().strip()


def test_usage_is_counted_from_the_answers():
    used = helpers.usage(helpers.check_citations(SECTIONS, [*CITATIONS.values()], helpers.make_ask()))
    assert (used["requests"], used["input_tokens"], used["output_tokens"]) == (7, 4420, 281)
    assert used["dollars"] == pytest.approx(0.000186, abs=1e-6)


def test_a_plain_dict_serves_as_sections():
    assert row(CITATIONS["exp_required"], sections=dict(SECTIONS)) == row(CITATIONS["exp_required"])
    assert helpers.find_quote(dict(SECTIONS), CITATIONS["aud_reject"]["quote"]) == "4.1.3"


def test_sections_are_read_only():
    with pytest.raises(TypeError, match="read-only"):
        SECTIONS["1"] = "changed"


@pytest.mark.parametrize(
    "model, endpoint, questions",
    [
        ("jev-1.13.0", None, None),
        (None, "http://127.0.0.1:9", None),
        (
            None,
            None,
            {
                "relation": {
                    "type": "choice",
                    "instructions": "?",
                    "criteria": dict.fromkeys(helpers.RELATION_TO_VERDICT),
                }
            },
        ),
    ],
)
def test_another_model_server_or_question_gets_none_of_the_old_answers(model, endpoint, questions):
    ask = helpers.make_ask(questions or helpers.QUESTIONS, model=model, endpoint=endpoint)
    with pytest.raises(helpers.Unchecked, match="TYPESAFE_API_KEY"):
        ask(CITATIONS["exp_required"]["claim"], SECTIONS["4.1.4"])


def test_a_bar_in_the_claim_shares_no_answer(tmp_path):
    answer = {"choice": "supports", "confidence": 0.9, "probabilities": None}
    (tmp_path / "cache.json").write_text(json.dumps({"ask|a|b|c": answer}))
    ask = helpers.make_ask(cache=tmp_path / "cache.json")
    assert ask("a", "b|c")["choice"] == "supports"
    with pytest.raises(helpers.Unchecked):
        ask("a|b", "c")


BELIEVED = {
    "choice": "supports",
    "confidence": 0.85,
    "probabilities": {"supports": 0.9, "contradicts": 0.07, "says_nothing": 0.03},
}


@pytest.mark.parametrize(
    "change, problem",
    [
        ({}, None),
        ({"probabilities": None}, None),
        ({"choice": "Supports"}, "not among the options"),
        ({"choice": "contradicts"}, "not the most likely"),
        ({"confidence": 1.5}, "not between 0 and 1"),
        ({"confidence": float("nan")}, "not between 0 and 1"),
        ({"confidence": True}, "not between 0 and 1"),
        ({"confidence": None}, "not between 0 and 1"),
        ({"probabilities": {"supports": 1.0}}, "do not name the options"),
        ({"probabilities": {"supports": 0.9, "contradicts": 0.2, "says_nothing": 0.1}}, "sum to 1.20"),
        ({"probabilities": {"supports": 1.1, "contradicts": -0.1, "says_nothing": 0.0}}, "a probability is not"),
    ],
)
def test_an_answer_is_believed_only_if_it_keeps_its_own_rules(tmp_path, change, problem):
    """A cached answer is held to them as a live one is: a broken one is an unchecked row that says why."""
    (tmp_path / "cache.json").write_text(json.dumps({"ask|c|s": {**BELIEVED, **change}}))
    checked = row(
        {"claim": "c", "quote": None, "section": "1"}, helpers.make_ask(cache=tmp_path / "cache.json"), {"1": "s"}
    )
    if problem is None:
        assert (checked["verdict"], checked["auto"], checked["error"]) == ("verified", True, None)
    else:
        assert (checked["verdict"], checked["auto"]) == (None, False)
        assert problem in checked["error"]


def test_a_kept_answer_of_another_model_is_not_believed(tmp_path):
    """Nor one whose model is no name: the file may have been edited, or merged."""
    for model in ("jev-1.13.0", "", 7):
        (tmp_path / "cache.json").write_text(json.dumps({"ask|c|s": {**BELIEVED, "model": model}}))
        ask = helpers.make_ask(cache=tmp_path / "cache.json")
        checked = row({"claim": "c", "quote": None, "section": "1"}, ask, {"1": "s"})
        assert (checked["verdict"], checked["answer"]) == (None, None)
        assert "jev-1.13.0 answered" in checked["error"] or "does not name the model" in checked["error"]


@pytest.mark.parametrize(
    "answer",
    [
        None, "yes", {}, {"choice": "supports"}, {"choice": ["supports"], "confidence": 0.9},
        *({"choice": "supports", "confidence": c} for c in ("0.9", True, None, 1.5, float("nan"))),
        {"choice": "supports", "confidence": 0.9, "probabilities": {"supports": "x"}},
    ],
)  # fmt: skip
def test_an_ask_of_ones_own_that_answers_badly_is_a_row_that_says_so(answer):
    citations = [{"claim": claim, "quote": None, "section": "1"} for claim in "ab"]
    rows = helpers.check_citations({"1": "s"}, citations, lambda claim, _: BELIEVED if claim == "b" else answer)
    assert [row["verdict"] for row in rows] == [None, "verified"]
    assert rows[0]["error"].startswith("ask gave an answer that cannot be believed") and not rows[0]["auto"]


def test_another_definition_of_confidence_goes_to_a_person():
    checked = row({"claim": "c", "quote": None, "section": "1"}, lambda *_: {**BELIEVED, "confidence": 0.9}, {"1": "s"})
    assert (checked["verdict"], checked["flags"], checked["auto"]) == ("verified", ["confidence-definition"], False)


def test_verdict_thresholds_and_relations_of_ones_own():
    sure = {"choice": "partly", "confidence": 0.8}
    assert helpers.verdict("found", sure) == {"verdict": None, "confidence": 0.8, "auto": False}
    assert helpers.verdict("found", sure, relation_to_verdict={"partly": "unsupported"})["auto"]
    lines = {"verified": 0.9}
    assert not helpers.verdict("found", sure | {"choice": "supports"}, auto_accept=lines)["auto"]
    assert not helpers.verdict("found", sure | {"choice": "contradicts"}, auto_accept=lines)["auto"]


@pytest.mark.parametrize(
    "citation, error",
    [
        ("4.1.4", "not an object"),
        ({"quote": None, "section": "1"}, '"claim" is missing'),
        ({"claim": " ", "quote": None, "section": "1"}, '"claim" is not a text'),
        ({"claim": "c", "section": "1"}, '"quote" is missing: write null'),
        ({"claim": "c", "qoute": "q", "section": "1"}, 'write "quote"'),
        ({"claim": "c", "quote": "exp", "Section": "1"}, 'write "section"'),
        ({"claim": "c", "quote": " “…” ", "section": "1"}, '"quote" is blank'),
        ({"claim": "c", "quote": 7, "section": "1"}, '"quote" is of the type int'),
        ({"claim": "c", "quote": None, "section": {"a": 1}}, '"section" is not a label'),
        ({"claim": "c", "quote": None}, "nothing to check the claim against"),
        ({"claim": "\ud800", "quote": None, "section": "1"}, "surrogate"),
        ({"claim": "c", "quote": "N/A", "section": "1"}, "write null where nothing is quoted"),
        ({"claim": "c", "quote": None, "Quote": "never said", "section": "1"}, 'write "quote"'),
        ({"claim": "c", "quote": None, "cited_text": "never said", "section": "1"}, 'write "quote"'),
        ({"claim": "c", "quote": None, "section": "4.1.99"}, "the source has no section '4.1.99'"),
    ],
)
def test_a_malformed_citation_is_one_row_that_says_so(capsys, citation, error):
    results = helpers.check_citations(SECTIONS, [citation, CITATIONS["aud_reject"]], helpers.make_ask())
    assert (results[0]["verdict"], results[0]["auto"]) == (None, False)
    assert error in results[0]["error"]
    assert results[1]["verdict"] == "verified"
    assert results[0]["id"] == "#1"
    assert f"unchecked: #1: {results[0]['error']}" in table(capsys, results)


@pytest.mark.parametrize(
    "content, error",
    [
        (b"[{]", "not JSON at line 1, column 3"),
        (b'{"id": "a"}', "a dict where a list"),
        ("[]".encode("utf-16"), "not UTF-8 at byte 0"),
        (b"[" * 100_000, "not JSON"),
        (b'[{"id": "a"}, {"id": "b"}, {"id": "a"}]', "citations 1 and 3 have the same id, 'a'"),
    ],
)
def test_a_file_that_holds_no_citations_stops_the_run(tmp_path, content, error):
    path = tmp_path / "mine.json"
    path.write_bytes(content)
    with pytest.raises(helpers.InputError) as caught:
        helpers.load_citations(path)
    assert str(path) in str(caught.value) and error in str(caught.value) and "\n" not in str(caught.value)


def test_a_byte_order_mark_is_fine(tmp_path):
    (tmp_path / "mine.json").write_bytes(b"\xef\xbb\xbf[]")
    assert helpers.load_citations(tmp_path / "mine.json") == []


@pytest.mark.parametrize("content", ["<<<<<<< HEAD\n{}", "[]", '{"a": '])
def test_a_broken_cache_is_named(tmp_path, content):
    (tmp_path / "cache.json").write_text(content)
    with pytest.raises(helpers.InputError, match="cache.json"):
        helpers.make_ask(cache=tmp_path / "cache.json")


def test_hostile_text_keeps_the_columns(capsys):
    rows = helpers.check_citations(
        {"1": "s"},
        [
            {"id": "\x1b[31mred\nline", "claim": "c", "quote": "not there at all", "section": "1"},
            {"id": "第一条引用", "claim": "c", "quote": "not there at all", "section": "1"},
            {"id": "\u202eevil" + "x" * 99, "claim": "c", "quote": "not there at all", "section": "1"},
        ],
        helpers.make_ask(cache=None),
    )
    lines = table(capsys, rows)
    assert len(lines) == 4
    assert "\x1b" not in "".join(lines) and "\u202e" not in "".join(lines)
    assert {wcswidth(line[: line.index("missing")]) for line in lines[1:]} == {42}


def test_a_server_that_echoes_the_key_does_not_get_it_printed():
    key = "sk-0123456789abcdef"
    masked = answers.without_key(f"Bearer {key} and {key[3:14]}", key)
    assert not any(key[i : i + 8] in masked for i in range(len(key) - 7))


def test_import_draws_in_no_plots_and_no_notebook_server():
    heavy = "pandas", "matplotlib", "IPython", "jupyter_server"
    code = f"import sys, helpers; sys.exit(', '.join(m for m in {heavy} if m in sys.modules) or 0)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


@pytest.mark.parametrize(
    "path, digest",
    [
        ("rfc7519.txt", "fecd930e9ccf2276b95c0017c6c4ff5d09352e4bc3c7629946447894e0f97248"),
        ("citations.json", "5f87f8f5475bcf9cf9e869952df3a264edc2a9c0dac573652a54b5707ff15fd7"),
        ("json_cache.json", "3145143227a502ac3c32e3b33db09165f547e4f2333332b26de7f698255029b8"),
    ],
)
def test_the_data_is_the_published_one_to_the_byte(path, digest):
    assert hashlib.sha256((ROOT / path).read_bytes()).hexdigest() == digest
