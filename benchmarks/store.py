"""What it costs to keep answers: a JSON cache and a SQLite store, one by one, and to load them again.

`python benchmarks/store.py` prints the table of the README.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import helpers

SECTIONS = helpers.split_sections(helpers.load_source())
ANSWER = {
    "choice": "supports",
    "confidence": 0.93,
    "input_tokens": 1133,
    "output_tokens": 39,
    "probabilities": {"supports": 0.95, "contradicts": 0.01, "says_nothing": 0.04},
    "seconds": 0.25,
    "model": "jev-1.12",
    "time": "2026-08-16T00:00:00+00:00",
}


def seconds_to_keep_and_load(name: str, number: int) -> tuple[float, float]:
    """Keep so many answers one by one, then open the file anew and recall each."""
    sections = list(SECTIONS.values())
    questions = [(f"Claim {n} is true.", sections[n % len(sections)]) for n in range(number)]
    with tempfile.TemporaryDirectory() as folder:
        settings = {"cache": Path(folder) / name, "model": "jev-latest", "endpoint": "http://127.0.0.1", "api_key": ""}
        ask = helpers.make_ask(**settings)
        started = time.perf_counter()
        for question in questions:
            ask.keep(*question, ANSWER)
        kept = time.perf_counter() - started
        ask = helpers.make_ask(**settings)
        started = time.perf_counter()
        assert all(ask.knows(*question) for question in questions)
        return kept, time.perf_counter() - started


if __name__ == "__main__":
    print(f"{'':<20}{'answers':>9}{'keep, s':>10}{'ms each':>10}{'load, s':>10}")
    for name, number in [("answers.json", 400), ("answers.json", 800)] + [
        ("answers.sqlite", n) for n in (800, 8_000, 80_000)
    ]:
        kept, loaded = seconds_to_keep_and_load(name, number)
        print(f"{name:<20}{number:>9,}{kept:>10.2f}{1000 * kept / number:>10.2f}{loaded:>10.2f}", flush=True)
