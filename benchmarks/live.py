"""Many live calls against a local server that takes 100 ms: one after the other, and with check_citations.

`python benchmarks/live.py` prints the table of the README; `--quick` leaves out the 10,000. The ideal is the larger of
requests x delay / workers and requests / limit.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from slow_server import SlowServer

import helpers

DELAY = 0.1
SECTIONS = helpers.split_sections(helpers.load_source())


def citations(number: int) -> list[dict]:
    """So many different claims, spread over the 45 sections of RFC 7519."""
    labels = list(SECTIONS)
    return [
        {"id": str(n), "claim": f"Claim {n} is true.", "quote": None, "section": labels[n % 45]} for n in range(number)
    ]


def run(
    name: str, number: int, workers: int, limit: int = 0, claims_per_request: int = 1, **settings
) -> tuple[float, dict]:
    """One line of the table."""
    with SlowServer(DELAY, limit) as server:
        ask = helpers.make_ask(endpoint=server.url, api_key="benchmark", cache=None, model="jev-latest")
        work = citations(number)
        pace = {"requests_per_minute": limit * 60 or None, "tokens_per_minute": None}
        started = time.perf_counter()
        if workers == 1:
            rows = [helpers.check_citation(SECTIONS, citation, ask) for citation in work]
        else:
            rows = helpers.check_citations(
                SECTIONS, work, ask, workers, claims_per_request=claims_per_request, **pace, **settings
            )
        seconds = time.perf_counter() - started
        counts = server.counts()
    answered = sum(row["verdict"] is not None for row in rows)
    needed = counts["requests"] - counts["refused"]
    ideal = max(needed * DELAY / workers, needed / limit if limit else 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:<44}{answered:>9,}{seconds:>9.1f}{seconds / ideal:>8.2f}{counts['requests']:>10,}{counts['refused']:>9}"
        f"{counts['bytes'] / 1e6:>9.2f}{peak:>10.0f}",
        flush=True,
    )
    return seconds, counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the run of 10,000")
    quick = parser.parse_args().quick
    header = (
        ("answered", 9),
        ("seconds", 9),
        ("ratio", 8),
        ("requests", 10),
        ("refused", 9),
        ("MB sent", 9),
        ("MB memory", 10),
    )
    print(f"{'':<44}" + "".join(f"{name:>{width}}" for name, width in header))
    one_by_one, alone = run("800, one request after the other", 800, 1)
    for workers in 8, 32, 64:
        seconds, _ = run(f"800, {workers} workers", 800, workers)
        print(f"    {one_by_one / seconds:.1f} times as fast as one after the other")
    if not quick:
        run("10,000, 64 workers", 10_000, 64)
    run("800, 100 a second allowed, 32 workers", 800, 32, limit=100)
    _, together = run("800, 45 sections, 16 claims a request", 800, 8, claims_per_request=16)
    print(f"    {together['bytes'] / alone['bytes']:.2f} of the bytes")
