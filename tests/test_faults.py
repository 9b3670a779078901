"""What a server may do to us: each fault ends as a retry or as a row that says what happened, never as a verdict."""

import json
import os
import secrets
import subprocess
import sys
import time

import pytest
from conftest import ROOT
from raw_server import GOOD, RawServer, envelope, http
from typesafe_sdk import RetryPolicy

import answers
import batch
import helpers

SECTIONS = {"1": "Refunds are paid within 14 days.", "2": "Delivery costs are not refunded."}
QUOTED = {"id": "quoted", "claim": "Refunds are quick.", "quote": "paid within 14 days", "section": "1"}
INVENTED = {"id": "invented", "claim": "There is no fee.", "quote": "No fee is ever charged by us", "section": "2"}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """The retries of real life, without the pauses between them."""
    monkeypatch.setattr(batch, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(answers, "RETRY", RetryPolicy(backoff_initial=0.0))


def ask_of(server, **settings):
    settings = {"endpoint": server.url, "api_key": "key-of-the-test", "model": "jev-1.12", "cache": None} | settings
    return helpers.make_ask(**settings)


def check(reply, tmp_path) -> tuple[dict, int]:
    """The row that a server's reply leads to, and the number of requests; the other row is as it should be."""
    cache = tmp_path / "answers.json"
    with RawServer(lambda n: reply) as server:
        quoted, invented = helpers.check_citations(SECTIONS, [QUOTED, INVENTED], ask_of(server, cache=cache))
        alone = helpers.check_citation(SECTIONS, QUOTED, ask_of(server))
        requests = len(server.received)
    assert invented["verdict"] == "fabricated"
    assert (alone["verdict"], alone["auto"]) == (quoted["verdict"], quoted["auto"])
    assert quoted["verdict"] or not cache.exists()
    return quoted, requests


def test_a_good_answer_is_a_verdict(tmp_path):
    """What follows would prove little if this server could not be believed when it keeps the rules."""
    row, requests = check(http(envelope()), tmp_path)
    assert (row["verdict"], row["auto"], row["error"], requests) == ("verified", True, None, 2)


TRIES = 1 + batch.RETRIES + 1 + 2  # of the batch, then of one question asked alone


@pytest.mark.parametrize(
    "reply, requests, reason",
    [
        (http("{}", 429), TRIES, "429"),
        (http("{}", 429, "Retry-After: 0"), TRIES, "429"),
        (http("{}", 429, "Retry-After: -5"), TRIES, "429"),
        (http("{}", 429, "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT"), TRIES, "429"),
        (http("{}", 429, "Retry-After: 1e9"), 2, "asks for a pause of 1e+09 s"),
        (http("{}", 429, "Retry-After: Fri, 31 Dec 2199 23:59:59 GMT"), 2, "asks for a pause of"),
        (http('{"error": "out of order"}', 500), TRIES, "500 out of order"),
        (http("", 529), TRIES, "529"),
        (http("", 408), TRIES, "408"),
        (http("<html>Bad gateway</html>", 502), TRIES, "502 <html>Bad gateway"),
        (b"", TRIES, "Connection error"),  # cut before the answer
        (http(envelope(), length=5000), TRIES, "Connection error"),  # and in the middle of it
        (b"\x16\x03\x01 no HTTP at all\r\n\r\n", TRIES, "Connection error"),
        (http(b"\x1f\x8b\x08", 200, "Content-Encoding: gzip"), TRIES, "compressed"),
        (http(b" " * (answers.LARGEST_ANSWER + 1)), TRIES, "longer than 1,048,576 bytes"),
    ],
    ids=lambda value: value[-40:].decode(errors="replace") if isinstance(value, bytes) else None,
)
def test_a_busy_or_broken_server_is_tried_again_and_then_said_to_be_so(tmp_path, reply, requests, reason):
    row, arrived = check(reply, tmp_path)
    assert (row["verdict"], row["auto"], row["answer"]) == (None, False, None)
    assert reason in row["error"]
    assert arrived == requests


def changed(**fields) -> bytes:
    return http(envelope({**GOOD, **fields}))


@pytest.mark.parametrize(
    "reply, reason",
    [
        (http(""), "Invalid response data"),
        (http("[]"), "Invalid response data"),
        (http(json.dumps(envelope())[:-20]), "Invalid response data"),
        (http("<html><script>alert(1)</script>"), "Invalid response data"),
        (http("[" * 100_000), "Invalid response data"),
        (http('{"answers": ' * 50_000), "Invalid response data"),
        (http("[" * 100_000, 400), "400"),
        (http("", 307, "Location: https://example.org/"), "307"),
        (http("", 401), "401"),
        (http(envelope(answers={"another": GOOD})), "did not answer the question 'relation'"),
        (http(envelope({"type": "noul", "noul": 0.9})), "did not answer the question 'relation'"),
        (http(envelope(model="jev-1.13.0")), "jev-1.12 was asked, jev-1.13.0 answered"),
        (http(envelope(model="")), "does not name the model"),
        (http(envelope(usage={"input_tokens": -1})), "input_tokens is -1"),
        (http(envelope(usage={"input_tokens": 10**400})), "input_tokens is 1000"),
        (changed(choice="Supports"), "the choice 'Supports' is not among the options"),
        (
            changed(probabilities={"Supports": 0.9, "Contradicts": 0.07, "Says_nothing": 0.03}),
            "do not name the options",
        ),
        (changed(probabilities={}), "do not name the options"),
        (changed(probabilities=None), "answers.relation.probabilities"),
        (changed(probabilities=GOOD["probabilities"] | {"supports": float("nan")}), "answers.relation.probabilities"),
        (changed(probabilities={"supports": 1.1, "contradicts": -0.1, "says_nothing": 0.0}), "not between 0 and 1"),
        (changed(probabilities={"supports": 0.9, "contradicts": 0.3, "says_nothing": 0.0}), "sum to 1.20"),
        (changed(choice="contradicts"), "not the most likely"),
        (changed(confidence=1.5), "the confidence 1.5 is not between 0 and 1"),
        (changed(confidence=-0.1), "the confidence -0.1 is not between 0 and 1"),
        (changed(confidence=float("nan")), "answers.relation.confidence"),
        (changed(confidence="0.9"), "answers.relation.confidence"),
    ],
    ids=lambda value: value[-40:].decode(errors="replace") if isinstance(value, bytes) else None,
)
def test_an_answer_that_breaks_a_rule_is_not_asked_for_again_and_never_believed(tmp_path, reply, reason):
    row, arrived = check(reply, tmp_path)
    assert (row["verdict"], row["auto"], row["answer"]) == (None, False, None)
    assert reason in row["error"]
    assert arrived == 2


def test_a_fault_that_passes_is_not_seen(tmp_path):
    replies = [http("{}", 429), http("", 529), http(envelope(), length=5000), http(envelope())]
    with RawServer(lambda n: replies[n]) as server:
        (row,) = helpers.check_citations(SECTIONS, [QUOTED], ask_of(server))
        assert (row["verdict"], row["auto"], len(server.received)) == ("verified", True, 4)


def test_a_silent_or_a_dripping_server_is_left(monkeypatch):
    """Silence is the SDK's time-out; a byte now and then would never reach it."""
    monkeypatch.setattr(answers, "LONGEST_WAIT", 0.3)
    monkeypatch.setattr(batch, "RETRIES", 0)

    def drip(n):
        for byte in http(envelope()):
            yield bytes([byte])
            time.sleep(0.02)

    def silence(n):
        time.sleep(1)
        return b""

    client = answers.http_client
    monkeypatch.setattr(answers, "http_client", lambda: setattr(made := client(), "timeout", 0.3) or made)
    for reply, reason in ((drip, "not whole after 0 s"), (silence, "timed out")):
        with RawServer(reply) as server:
            started = time.monotonic()
            (row,) = helpers.check_citations(SECTIONS, [QUOTED], ask_of(server))
            assert reason in row["error"] and row["verdict"] is None
            assert time.monotonic() - started < 5


def test_claim_section_and_key_do_not_follow_a_redirect():
    with RawServer(lambda n: http(envelope())) as elsewhere:
        moved = http("", 307, f"Location: {elsewhere.url}/v1/systemone")
        with RawServer(lambda n: moved) as server:
            (row,) = helpers.check_citations(SECTIONS, [QUOTED], ask_of(server))
        assert row["verdict"] is None and "307" in row["error"]
        assert elsewhere.received == []


def test_another_definition_of_confidence_is_seen_in_a_real_answer(serve):
    """jevcompat's margin between the two most likely options, where TypeSafe's is how far the first is above chance."""
    server = serve("confidence-margin")
    source = helpers.split_sections(helpers.load_source())
    rows = helpers.check_citations(source, helpers.load_citations(), ask_of(server, api_key=server.key, model="mock"))
    for row in rows:
        if row["answer"]:
            chance, most = 1 / 3, max(row["answer"]["probabilities"].values())
            differs = abs((most - chance) / (1 - chance) - row["confidence"]) > 0.02
            assert ("confidence-definition" in row["flags"]) == differs
            assert row["verdict"] and not (differs and row["auto"])
    assert sum("confidence-definition" in row["flags"] for row in rows) >= 4


@pytest.mark.parametrize(
    "answer, reason",
    [
        (None, "it is no object"),
        ({"choice": "supports"}, "the confidence None"),
        ({"choice": ["supports"], "confidence": 0.9}, "the choice"),
        ({"choice": "supports", "confidence": 2}, "the confidence 2"),
        ({"choice": "supports", "confidence": 0.9, "probabilities": [0.9]}, "do not name the options"),
    ],
)
def test_an_ask_of_the_readers_own_is_held_to_the_rules(answer, reason):
    (row,) = helpers.check_citations(SECTIONS, [QUOTED], lambda *_: answer)
    assert row == {**helpers.check_citation(SECTIONS, QUOTED, lambda *_: answer), "id": "quoted"}
    assert (row["verdict"], row["answer"], row["auto"]) == (None, None, False)
    assert reason in row["error"]


# --- What leaves the machine, and the key ---------------------------------------------------------------------------


def test_what_is_sent_is_the_claim_and_the_section_and_nothing_else(monkeypatch):
    citation = QUOTED | {"quote": "paid within  14 days", "id": "internal-id-77", "note": "confidential"}
    with RawServer(lambda n: http(envelope())) as server:
        helpers.check_citations(SECTIONS, [citation, INVENTED], ask_of(server))
    (sent,) = server.received
    head, _, body = sent.partition(b"\r\n\r\n")
    assert json.loads(body) == {
        "state": {"claim": QUOTED["claim"], "section": SECTIONS["1"]},
        "model": "jev-1.12",
        "questions": {"relation": helpers.QUESTIONS["relation"].model_dump(exclude_none=True)},
    }
    names = {line.split(b":")[0].lower() for line in head.split(b"\r\n")[1:]}
    expected = b"host accept accept-encoding connection user-agent authorization content-type content-length"
    assert names == {*expected.split(), b"x-typesafe-sdk", b"x-typesafe-runtime"}


def test_what_is_sent_can_be_read_by_any_server_of_the_protocol(monkeypatch):
    """The SDK squeezes long bodies where Python has zstd (3.14); not every compatible server reads that."""
    compression = pytest.importorskip("typesafe_sdk._core.compression")
    monkeypatch.setitem(compression.COMPRESSORS, "zstd", lambda body: b"squeezed")
    with RawServer(lambda n: http(envelope())) as server:
        helpers.check_citations({"1": "word " * 1000}, [QUOTED | {"quote": None}], ask_of(server))
    assert b"word word" in server.received[0]


def echoes(key: str) -> list[bytes]:
    """Every place of an answer in which a server may send the key back."""
    return [
        http({"error": f"no such key: {key}"}, 400),
        http({"error": f"no such key: {key[:20]}\u2026"}, 400),
        http(key, 500),
        http({key: [key]}, 422),
        http("", 403, f"x-typesafe-request-id: {key}"),
        http(envelope(model=key)),
        http(envelope({**GOOD, "choice": key})),
        http(envelope({**GOOD, "choice": f"is it {key}?"})),
        http(envelope({**GOOD, "probabilities": {key: 1.0}})),
        http(envelope(answers={key: {"type": key}})),
        http("", 307, f"Location: https://example.org/{key}"),
        http(envelope(), 200, f"X-Echo: {key}"),
        b"HTTP/1.1 200 " + key.encode() + b"\r\nContent-Length: 1\r\n\r\n{",
        b"HTTP/9 " + key.encode() + b"\r\n\r\n",
    ]


RUN = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
import citation_check
citation_check.main(sys.argv[1:])
"""


def test_no_eight_characters_of_the_key_are_ever_written(tmp_path):
    """Output, results, cache and the log at its most talkative, of a server that echoes the key wherever it can."""
    key = secrets.token_urlsafe(30)
    replies = echoes(key)
    document, citations, folder = tmp_path / "terms.md", tmp_path / "citations.json", tmp_path / "written"
    folder.mkdir()
    text = "".join(f"# Part {n}\n\nRefund {n} is paid within 14 days.\n\n" for n in range(len(replies)))
    document.write_text(text)
    claims = [{"claim": f"Claim {n}.", "quote": None, "section": f"Part {n}"} for n in range(len(replies))]
    citations.write_text(json.dumps(claims))
    with RawServer(lambda n: replies[n % len(replies)]) as server:
        env = {**os.environ, "TYPESAFE_API_KEY": key, "TYPESAFE_ENDPOINT": server.url, "TYPESAFE_MODEL": "jev-latest"}
        env |= {"TYPESAFE_LOG_LEVEL": "debug", "PYTHONPATH": str(ROOT)}
        for cache, out in (("answers.json", "rows.csv"), ("answers.sqlite", "rows.jsonl")):
            command = [sys.executable, "-c", RUN, document, citations, "--cache", folder / cache, "--out", folder / out]
            with (folder / f"{cache}.txt").open("w") as printed:
                subprocess.run([*command, "--json"], env=env, stdout=printed, stderr=printed, check=False)
        assert key.encode() in server.received[0]
    written = [(path.name, path.read_bytes()) for path in folder.iterdir()]
    assert len(written) >= 6 and "unchecked" not in str(written[0])
    stretches = [key[start : start + 8].encode() for start in range(len(key) - 7)]
    assert [name for name, data in written for stretch in stretches if stretch in data] == []
