"""The walk of citation_check.ipynb as a command, for scripts and CI.

    python citation_check.py                                the published example
    python citation_check.py handbook.pdf citations.json    a document of your own, and citations of it
    python citation_check.py a.md b.html citations.csv      several documents

Exit code: 2 when the input cannot be read or --out cannot be written, 3 when something could not be checked, else 1
when a citation is not verified or needs a person, else 0.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import documents
import formats
import helpers
import rules

DOCUMENT, CITATIONS, CACHE = (helpers.HERE / name for name in ("rfc7519.txt", "citations.json", "json_cache.json"))


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line, with the published document, citations and cache where none are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="one or more documents, then a file of citations")
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--locate", action="store_true", help="the first gate alone: no model, no key, nothing sent")
    one.add_argument("--plan", action="store_true", help="what would be sent, and what it would cost; nothing sent")
    one.add_argument("--out", metavar="FILE", help="write the rows to a file that ends in .jsonl or .csv")
    parser.add_argument("--rules", action="store_true", help="flag numbers, absolute terms and negations that differ")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--cache", metavar="FILE", help="where answers are kept, beside the citations by default")
    parser.add_argument("--max-requests", type=int, metavar="N", help="stop after so many; run again to go on")
    args = parser.parse_args(argv)
    if len(args.files) == 1:
        parser.error("name a file of citations as well: citation_check.py DOCUMENT CITATIONS")
    if args.out and Path(args.out).suffix not in (".jsonl", ".csv"):
        parser.error("--out: name a file that ends in .jsonl or .csv")
    if args.out and not Path(args.out).parent.is_dir():
        parser.error(f"--out: there is no folder {Path(args.out).parent}")
    *args.documents, args.citations = args.files or (DOCUMENT, CITATIONS)
    args.cache = args.cache or (cache_beside(args.citations) if args.files else CACHE)
    return args


def cache_beside(citations: str | Path) -> Path:
    """Where answers are kept unless it is said: a JSON cache beside the citations if there is one, else a store."""
    cache = Path(citations).with_name("json_cache.json")
    return cache if cache.exists() else cache.with_name("answers.sqlite")


def loaded(paths: Sequence[str | Path]) -> Mapping:
    """The sections of one document, or of several by their names."""
    return documents.load_document(paths[0]) if len(paths) == 1 else documents.load_documents(paths)


def exit_code(results: Sequence[Mapping]) -> int:
    """3 where a row is unchecked, else 1 where one is not verified or needs a person, else 0."""
    if any(row["verdict"] is None for row in results):
        return 3
    return int(any(row["verdict"] != "verified" or not row["auto"] for row in results))


def locate_only(sections: Mapping, citations: list, as_json: bool) -> int:
    """Print what the first gate finds; its exit code."""
    results = helpers.locate_citations(sections, citations)
    if as_json:
        print(json.dumps(results, indent=2))
    else:
        helpers.print_located(results)
    if any(row["error"] for row in results):
        return 3
    return int(any(row["status"] == "missing" or row["flags"] for row in results))


def print_plan(planned: Mapping) -> None:
    """What a run would send, in two lines."""
    print("{citations:,} citations: {fabricated:,} fabricated, {unreadable:,} unreadable".format(**planned))
    print(
        "{questions:,} distinct questions, {answered:,} answered by the cache, {requests:,} requests to send: "
        "about {input_tokens:,} input tokens, ${dollars:.6f} at TypeSafe's price".format(**planned)
    )


def main(argv: Sequence[str] | None = None) -> int:
    for stream in sys.stdout, sys.stderr:
        stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character is no reason to stop
    args = arguments(argv)
    try:
        sections, citations = loaded(args.documents), formats.read_citations(args.citations)
        if not citations:
            raise helpers.InputError(f"{args.citations}: there is no citation in it")
        if args.locate:
            return locate_only(sections, citations, args.json)
        ask = helpers.make_ask(cache=args.cache)
        if args.plan:
            planned = helpers.plan(sections, citations, ask)
            print(json.dumps(planned, indent=2)) if args.json else print_plan(planned)
            return 0
        results = helpers.check_citations(
            sections,
            citations,
            ask,
            rules=rules.flags if args.rules else None,
            max_requests=args.max_requests,
            progress=sys.stderr.isatty(),
        )
    except helpers.InputError as error:
        print(f"citation_check: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(results, indent=2))
    else:
        helpers.print_table(results)
        print(f"\n{helpers.answers_note(results)}")
    if args.out:
        try:
            formats.write_results(results, args.out, args.documents)
            print(f"{len(results)} rows written to {args.out}", file=sys.stderr)
        except OSError as error:
            print(f"citation_check: {args.out}: the results are not written: {error.strerror}", file=sys.stderr)
            return 2
    return exit_code(results)


if __name__ == "__main__":
    sys.exit(main())
