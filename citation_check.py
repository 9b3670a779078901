"""The walk of citation_check.ipynb as a command, for scripts and CI.

Exit code: 2 when the input cannot be read, 3 when something could not be checked, else 1 when a citation is not
verified or needs a person, else 0.
"""

import argparse
import json
import sys
from pathlib import Path

import helpers

PUBLISHED = helpers.HERE / "rfc7519.txt", helpers.HERE / "citations.json", helpers.HERE / "json_cache.json"


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """The command line, with the published document, citations and cache where none are named."""
    parser = argparse.ArgumentParser(
        description="Check the citations of a document: is the quote there, and does its section support the claim?"
    )
    parser.add_argument("document", nargs="?", help="the source (default: RFC 7519)")
    parser.add_argument("citations", nargs="?", help='a JSON list of {"id", "claim", "quote" or null, "section"}')
    parser.add_argument("--locate", action="store_true", help="the first gate alone: no model, no key")
    parser.add_argument("--json", action="store_true", help="print the rows as a JSON list")
    parser.add_argument("--cache", help="where answers are kept (default: json_cache.json beside the citations)")
    args = parser.parse_args(argv)
    if args.document and not args.citations:
        parser.error("name the citations as well: citation_check.py DOCUMENT CITATIONS")
    if not args.document:
        args.document, args.citations, cache = PUBLISHED
    else:
        cache = Path(args.citations).with_name("json_cache.json")
    args.cache = args.cache or cache
    return args


def exit_code(results: list[dict]) -> int:
    """3 where a row is unchecked, else 1 where one is not verified or needs a person, else 0."""
    if any(row["verdict"] is None for row in results):
        return 3
    return int(any(row["verdict"] != "verified" or not row["auto"] for row in results))


def sections_of(path: str | Path) -> helpers.Sections:
    """A document's sections: articles of a statute, numbered sections of an RFC, or the whole text as one."""
    source = helpers.load_source(path)
    if not source.strip():
        raise helpers.InputError(f"{path}: there is no text in it")
    return (
        helpers.split_articles(source)
        or helpers.split_sections(source)
        or helpers.Sections({"document": source.strip()})
    )


def locate_only(sections: helpers.Sections, citations: list, as_json: bool) -> int:
    """Print what the first gate finds; its exit code."""
    located = [None if helpers.citation_problem(c) else helpers.locate(sections, c) for c in citations]
    if as_json:
        rows = [
            {"id": name, "status": None, "error": helpers.citation_problem(citation)}
            if found is None
            else {"id": name, "status": found.status, "match": found.match, "section": found.section,
                  "start": found.start, "end": found.end, "flags": list(found.flags), "error": None}
            for name, citation, found in zip(helpers.citation_ids(citations), citations, located, strict=True)
        ]  # fmt: skip
        print(json.dumps(rows, indent=2))
    else:
        helpers.print_located(citations, located)
    if any(found is None or "no-such-section" in found.flags and found.text is None for found in located):
        return 3
    return int(any(found.status == "missing" or found.flags for found in located))


def main(argv: list[str] | None = None) -> int:
    for stream in sys.stdout, sys.stderr:
        stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character is no reason to stop
    args = arguments(argv)
    try:
        sections, citations = sections_of(args.document), helpers.load_citations(args.citations)
        if args.locate:
            return locate_only(sections, citations, args.json)
        results = helpers.check_citations(sections, citations, helpers.make_ask(cache=args.cache))
    except helpers.InputError as error:
        print(f"citation_check: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(results, indent=2))
    else:
        helpers.print_table(results)
        print(f"\n{helpers.answers_note(results)}")
    return exit_code(results)


if __name__ == "__main__":
    sys.exit(main())
