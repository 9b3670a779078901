"""citation_check.py as a shell runs it: output and exit code."""

import json
import subprocess
import sys

import pytest
from conftest import PUBLISHED, ROOT

RFC = ROOT / "rfc7519.txt"
TABLE = (PUBLISHED / "citation_check.txt").read_text().splitlines()[-9:]


def run(*args, cwd=ROOT) -> subprocess.CompletedProcess:
    command = [sys.executable, ROOT / "citation_check.py", *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8")


def test_the_published_table_from_any_folder(tmp_path):
    done = run(cwd=tmp_path)
    assert done.stdout.splitlines()[:9] == TABLE
    assert "7 answers replayed from the cache, 0 asked live" in done.stdout
    assert (done.returncode, done.stderr) == (1, "")


def test_locate_needs_no_model():
    done = run("--locate")
    assert done.stdout.splitlines()[2] == "sig_reporting     missing       not in the source"
    assert done.returncode == 1


@pytest.fixture
def citations(tmp_path):
    """Writes citations of RFC 7519 into a file of their own, with no cache beside it."""

    def write(*citations) -> str:
        path = tmp_path / "mine.json"
        path.write_text(json.dumps(citations))
        return path

    return write


def test_exit_codes(citations):
    real = {"claim": "c", "quote": "Use of this claim is OPTIONAL.", "section": "4.1.4"}
    unchecked = run(RFC, citations(real))
    assert unchecked.returncode == 3 and "set TYPESAFE_API_KEY to ask" in unchecked.stdout
    assert run("--locate", RFC, citations(real)).returncode == 0
    assert run("--locate", RFC, citations(real | {"quote": "Use of this claim is REQUIRED."})).returncode == 1
    assert run("--locate", RFC, citations({"claim": "c"})).returncode == 3
    assert run(RFC, citations(real | {"quote": "Use of this claim is REQUIRED."})).returncode == 1


def test_zero_when_all_is_verified(citations):
    path = citations(
        *[c for c in json.loads((ROOT / "citations.json").read_text()) if c["id"] in ("aud_reject", "clock_skew")]
    )
    assert run(RFC, path, "--cache", ROOT / "json_cache.json").returncode == 0


@pytest.mark.parametrize("document, content", [("no-such-file.txt", "[]"), (RFC, '{"id": 1}'), (RFC, "[")])
def test_input_that_cannot_be_read_is_two_and_one_sentence(tmp_path, document, content):
    (tmp_path / "mine.json").write_text(content)
    done = run(document, tmp_path / "mine.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("citation_check: ") and done.stderr.count("\n") == 1


def test_no_citation_and_no_folder_are_bad_input(tmp_path, citations):
    assert run(RFC, citations()).returncode == 2
    done = run("--out", tmp_path / "none" / "rows.csv")
    assert done.returncode == 2 and "there is no folder" in done.stderr


def test_answers_are_kept_beside_the_citations_and_only_when_there_are_any(citations):
    path = citations({"claim": "c", "quote": "Use of this claim is OPTIONAL.", "section": "4.1.4"})
    run(RFC, path)
    assert not list(path.parent.glob("answers*"))
    assert "7 answers replayed" in run(RFC, ROOT / "citations.json").stdout


def test_one_citation_as_json():
    rows = json.loads(run("--json").stdout)
    assert rows[4]["id"] == "exp_required" and rows[4]["verdict"] == "contradicted"
    assert rows[4]["answer"]["replay"] is True
