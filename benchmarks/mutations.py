"""Random damage to bytes: what becomes of citations, caches and a server's answers that are broken at random places.

    python benchmarks/mutations.py [NUMBER [SEED]]

NUMBER (10,000) damaged copies, a third each of citations.json, json_cache.json and a server's answer to one question:
bytes changed, removed, doubled, moved, cut off, or taken from another place. Each is walked as a notebook walks it, and
each must end in rows or in an InputError. A row with a verdict must rest on what keeps the rules: a citation without a
problem, an answer that may be believed. No file may be changed. Prints how the walks ended, and each that broke a rule.
"""

import collections
import contextlib
import io
import json
import random
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from raw_server import RawServer, envelope, http  # noqa: E402

import formats  # noqa: E402
import helpers  # noqa: E402
from answers import answer_problem, model_problem  # noqa: E402

SECTIONS = helpers.split_sections(helpers.load_source())
CITATIONS = helpers.load_citations()
OPTIONS = list(helpers.RELATION_TO_VERDICT)
LITERALS = (
    b"null",
    b"NaN",
    b"-1",
    b"1e999",
    b"true",
    b'""',
    b"[]",
    b"{}",
    b"\\ud800",
    b"\xff",
    b"\0",
    b"0.5",
    b"9" * 9,
)


def damaged(data: bytes, luck: random.Random) -> bytes:
    """The bytes with one to three of them, or of their stretches, damaged."""
    for _ in range(luck.choice((1, 1, 1, 2, 3))):
        at = luck.randrange(len(data) + 1)
        end = min(len(data), at + luck.choice((1, 1, 1, 4, 20, 200)))
        other = luck.randrange(len(data) + 1)
        data = luck.choice(
            (
                data[:at] + luck.randbytes(end - at) + data[end:],
                data[:at] + bytes([luck.randrange(256)]) + data[at:],
                data[:at] + data[end:],
                data[:at] + data[at:end] * 2 + data[end:],
                data[:at] + data[other : other + end - at] + data[end:],
                data[:at] + luck.choice(LITERALS) + data[end:],
                data[:at] if luck.random() < 0.3 else data,
                data[:at] + bytes(b ^ 1 << luck.randrange(7) for b in data[at:end]) + data[end:],
                one_value_changed(data, luck),
            )
        )
    return data


def one_value_changed(data: bytes, luck: random.Random) -> bytes:
    """The bytes with one JSON value replaced, so that the damage gets past the parser."""
    places = [at for at, byte in enumerate(data) if byte in b":,[" and at + 1 < len(data)]
    if not places:
        return data
    at = luck.choice(places) + 1
    end = min((found for mark in b",}]\n" if (found := data.find(mark, at)) >= 0), default=len(data))
    return data[:at] + b" " + luck.choice(LITERALS) + data[end:]


def shown(rows: list[dict], folder: Path) -> None:
    """Print and write the rows in every way there is."""
    with contextlib.redirect_stdout(io.StringIO()):
        helpers.print_table(rows)
        print(helpers.answers_note(rows), helpers.usage(rows))
        json.dumps(rows)
        for name in ("rows.csv", "rows.jsonl"):
            formats.write_results(rows, folder / name, ROOT / "rfc7519.txt")


def faults_of(rows: list[dict], citations: list, model: str) -> list[str]:
    """The rules that the rows break."""
    faults = []
    for row, citation in zip(rows, citations, strict=True):
        answer = row["answer"]
        if row["verdict"] is None and (not row["error"] or row["auto"]):
            faults.append("unchecked without a reason, or auto")
        if row["verdict"] and helpers.citation_problem(citation):
            faults.append("a verdict on a malformed citation")
        if answer and (answer_problem(answer, OPTIONS) or model_problem(model, answer["model"])):
            faults.append("an answer that breaks its rules was believed")
        if row["verdict"] not in (None, "fabricated") and not answer:
            faults.append("a verdict without an answer")
    return faults


def walk_citations(data: bytes, folder: Path, _) -> tuple[list[dict], list]:
    path = folder / "citations.json"
    path.write_bytes(data)
    read = formats.read_citations(path)
    with contextlib.redirect_stdout(io.StringIO()):
        helpers.print_located(helpers.locate_citations(SECTIONS, read))
    return helpers.check_citations(SECTIONS, read, helpers.make_ask()), read


def walk_cache(data: bytes, folder: Path, _) -> tuple[list[dict], list]:
    path = folder / "json_cache.json"
    path.write_bytes(data)
    return helpers.check_citations(SECTIONS, CITATIONS, helpers.make_ask(cache=path)), CITATIONS


def walk_answer(data: bytes, _, server) -> tuple[list[dict], list]:
    server.sent = http(data)
    ask = server.ask
    citation = {"claim": "c", "quote": None, "section": "4.1.4"}
    return helpers.check_citations(SECTIONS, [citation], ask, requests_per_minute=None), [citation]


class Sending(RawServer):
    """A server that sends what it is told to."""

    def __init__(self):
        super().__init__(lambda _: self.sent)
        settings = {"endpoint": self.url, "api_key": "key-of-the-benchmark", "model": helpers.TYPESAFE_MODEL}
        self.ask = helpers.make_ask(cache=None, **settings)


def main(number: int = 10_000, seed: int = 1) -> int:
    luck = random.Random(seed)
    walks = (
        (walk_citations, (ROOT / "citations.json").read_bytes()),
        (walk_cache, (ROOT / "json_cache.json").read_bytes()),
        (walk_answer, json.dumps(envelope()).encode()),
    )
    ends: collections.Counter = collections.Counter()
    broken = 0
    with tempfile.TemporaryDirectory() as name, Sending() as server:
        folder = Path(name)
        for n in range(number):
            walk, whole = walks[n % 3]
            data = damaged(whole, luck)
            try:
                rows, citations = walk(data, folder, server)
                shown(rows, folder)
                faults = faults_of(rows, citations, helpers.TYPESAFE_MODEL)
                end = "all rows checked" if all(row["verdict"] for row in rows) else "some rows unchecked"
            except helpers.InputError:
                faults, end = [], "InputError"
            except Exception:
                faults, end = [traceback.format_exc(limit=-3)], "another exception"
            for file in ("citations.json", "json_cache.json"):
                if (folder / file).exists() and walk.__name__[5:9] in file and (folder / file).read_bytes() != data:
                    faults.append(f"{file} was changed")
            ends[walk.__name__.removeprefix("walk_"), end] += 1
            if faults:
                broken += 1
                print(f"{n} {walk.__name__}: {data[:300]!r}: {faults}")
    for (kind, end), count in sorted(ends.items()):
        print(f"{kind:<10}{end:<22}{count:>7,}")
    print(f"{number:,} mutations, seed {seed}: {broken} broke a rule")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
