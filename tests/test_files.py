"""What the file system may do to the answers that were paid for: they stay whole, and the error says which file."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import pytest
from conftest import PUBLISHED, ROOT
from filelock import FileLock
from raw_server import GOOD, RawServer, envelope, http

import answers
import citation_check
import helpers

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals, limits and permissions are those of Linux and macOS")

STORES = ["answers.json", "answers.sqlite"]
ANSWER = {**GOOD, "model": "jev-1.12"}


def name(number: int, size: int = 0) -> tuple[str, str, str]:
    return "ask", f"claim {number}", "s" * size


def read_back(path: Path, number: int, size: int = 0) -> int:
    """How many of so many answers a store gives back, opened anew."""
    store = answers.open_store(path)
    return sum(store.get(name(n, size)) == ANSWER for n in range(number))


WRITER = f"""
import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "tests")!r}]
import answers
from test_files import ANSWER, name
store = answers.open_store(sys.argv[1])
for n in range(int(sys.argv[2]), int(sys.argv[3])):
    store.put(name(n), ANSWER)
    print(n, flush=True)
"""


def writer(path: Path, first: int, last: int, **settings) -> subprocess.Popen:
    """A process that puts answers into a store, one by one, and says which it has."""
    command = [sys.executable, "-c", WRITER, str(path), str(first), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)


@pytest.mark.parametrize("file", STORES)
def test_two_processes_that_write_at_once_lose_nothing(tmp_path, file):
    runs = [writer(tmp_path / file, 0, 30), writer(tmp_path / file, 30, 60)]
    assert [run.communicate()[1] for run in runs] == ["", ""]
    assert read_back(tmp_path / file, 60) == 60


def test_a_process_waits_while_another_writes(tmp_path):
    path = tmp_path / "answers.json"
    store = answers.open_store(path)
    with FileLock(f"{path}.lock"):
        waiting = threading.Thread(target=store.put, args=(name(0), ANSWER))
        waiting.start()
        time.sleep(0.3)
        assert waiting.is_alive() and not path.exists()
        path.write_text(json.dumps({f"ask|claim 1|{name(1)[2]}": ANSWER}))
    waiting.join()
    assert read_back(path, 2) == 2


@pytest.mark.parametrize("file", STORES)
def test_a_kill_in_the_middle_of_a_write_loses_nothing(tmp_path, file):
    path = tmp_path / file
    store = answers.open_store(path)
    if file == "answers.json":  # a file of 4 MB takes a while to write
        store.cache._data.update({f"older {n}": ANSWER | {"note": "x" * 2_000} for n in range(2000)})
    store.put(name(0), ANSWER)
    written = 1
    for _ in range(3):
        run = writer(path, written, 10_000)
        written = 1 + int(run.stdout.readline())
        whole = path.stat().st_size
        if file == "answers.json":  # until the next write has begun, be it beside the file or in its place
            while not list(tmp_path.glob("*.tmp")) and path.stat().st_size == whole:
                pass
        run.send_signal(signal.SIGKILL)
        written += len(run.communicate()[0].split())
        assert read_back(path, written) == written
        if file == "answers.json":
            assert len(json.loads(path.read_text())) >= 2000 + written


@contextlib.contextmanager
def full_disk():
    """A folder on a disk of 64 kB, where that can be had."""
    with tempfile.TemporaryDirectory() as folder:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True)
        if mounted.returncode:
            pytest.skip("a disk of 64 kB needs the right to mount one")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


@contextlib.contextmanager
def read_only_folder():
    """A folder in which nothing can be written, for root neither."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            if root:
                os.seteuid(0)


def check_with(path: Path, number: int) -> tuple[list[dict], list[str]]:
    """The rows of so many citations asked with a store in ``path``, and the warnings."""
    sections = {"1": "Refunds are paid within 14 days."}
    citations = [{"claim": f"claim {n} " + "x" * 900, "quote": None, "section": "1"} for n in range(number)]
    with RawServer(lambda n: http(envelope())) as server, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask = helpers.make_ask(endpoint=server.url, api_key="key-of-the-test", model="jev-1.12", cache=path)
        rows = helpers.check_citations(sections, citations, ask, 2, requests_per_minute=None, tokens_per_minute=None)
        assert len(server.received) == number
    return rows, [str(warning.message) for warning in caught if warning.category is UserWarning]


@pytest.mark.parametrize("file", STORES)
def test_a_full_disk_keeps_the_old_file_whole_and_every_row(file):
    with full_disk() as folder:
        rows, said = check_with(folder / file, 300)
        assert all(row["verdict"] == "verified" for row in rows)
        assert 0 < len(said) < 300
        assert all(f"{folder / file}: the answer is used but not kept: " in line for line in said)
        assert not list(folder.glob("*.tmp"))
        if file == "answers.json":
            kept = len(json.loads((folder / file).read_text()))
        else:
            kept = sqlite3.connect(folder / file).execute("SELECT count(*) FROM answers").fetchone()[0]
        assert kept == 300 - len(said)


def test_a_full_disk_costs_no_answer_that_finds_room_later(tmp_path, monkeypatch):
    """What could not be written is in the next write that succeeds."""
    store = answers.open_store(tmp_path / "answers.json")
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        store.put(name(0), ANSWER)
    monkeypatch.setattr(os, "replace", real)
    store.put(name(1), ANSWER)
    assert read_back(tmp_path / "answers.json", 2) == 2


def test_a_read_only_folder_is_named_before_or_after_but_no_answer_is_lost():
    with read_only_folder() as folder:
        rows, said = check_with(folder / "answers.json", 3)
        assert all(row["verdict"] == "verified" for row in rows)
        assert said and all(f"{folder / 'answers.json'}: the answer is used but not kept" in line for line in said)
        with pytest.raises(helpers.InputError, match="answers.sqlite"):  # before anything is paid for
            answers.open_store(folder / "answers.sqlite")


@pytest.mark.parametrize("broken", ["<<<<<<< HEAD\n{}\n=======\n", '{"a": ', "[]", "", "\0"])
def test_a_cache_that_breaks_while_it_is_used_is_left_as_it_is_and_named(tmp_path, broken):
    """A merge, a sync or an editor may do so; the broken file may hold what was paid for, so it is not written over."""
    path = tmp_path / "answers.json"
    ask = helpers.make_ask(cache=path)
    ask.keep("claim", "section", ANSWER)
    path.write_text(broken)
    with pytest.warns(UserWarning, match="answers.json: the answer is used but not kept"):
        ask.keep("another claim", "section", ANSWER)
    assert path.read_text() == broken
    assert ask.knows("claim", "section") and ask.knows("another claim", "section")


@pytest.mark.parametrize("broken", [b"\xef\xbb\xbf{}", b"\xff\xfe{\0}\0", b"[" * 100_000, b"{}}", b"5"])
def test_a_cache_that_cannot_be_read_stops_the_run_before_it_costs(tmp_path, broken):
    (tmp_path / "answers.json").write_bytes(broken)
    with pytest.raises(helpers.InputError, match="answers.json"):
        helpers.make_ask(cache=tmp_path / "answers.json")
    assert (tmp_path / "answers.json").read_bytes() == broken


def test_a_damaged_sqlite_file_is_said_to_be_so_and_gives_no_verdict(tmp_path):
    """Cut, overwritten, or another program's: an error at the start, or unchecked rows; never an answer made up."""
    whole = tmp_path / "whole.sqlite"
    ask = helpers.make_ask(cache=whole)
    claims = [f"claim {n}" for n in range(300)]
    for claim in claims:
        ask.keep(claim, "section", ANSWER)
    ask.store.file.close()
    data, luck, named = whole.read_bytes(), random.Random(3), 0
    citations = [{"claim": claim, "quote": None, "section": "1"} for claim in claims]
    for n in range(40):
        broken = bytearray(data)
        if n % 4 == 0:
            broken = broken[: luck.randrange(len(broken))]
        else:
            start = luck.choice([0, 100, luck.randrange(len(broken))])
            broken[start : start + 2000] = luck.randbytes(2000)
        path = tmp_path / f"broken{n}.sqlite"
        path.write_bytes(broken)
        try:
            rows = helpers.check_citations({"1": "section"}, citations, helpers.make_ask(cache=path))
        except helpers.InputError as error:
            assert path.name in str(error)
            named += 1
            continue
        assert all(row["verdict"] == "verified" or row["error"] for row in rows)
        named += any(path.name in (row["error"] or "") for row in rows)
    assert named >= 20


def test_a_kept_answer_that_is_nested_without_end_is_a_row_that_says_so(tmp_path):
    path = tmp_path / "answers.sqlite"
    ask = helpers.make_ask(cache=path)
    ask.keep("claim", "section", ANSWER)
    ask.store.file.execute("UPDATE answers SET answer = ?", ["[" * 100_000])
    (row,) = helpers.check_citations({"1": "section"}, [{"claim": "claim", "quote": None, "section": "1"}], ask)
    assert row["verdict"] is None and "answers.sqlite cannot be read" in row["error"]


def test_results_that_cannot_be_written_are_printed_all_the_same(tmp_path, capsys):
    (tmp_path / "rows.csv").mkdir()
    assert citation_check.main(["--out", str(tmp_path / "rows.csv")]) == 2
    printed = capsys.readouterr()
    assert printed.out.splitlines()[:9] == (PUBLISHED / "citation_check.txt").read_text().splitlines()[-9:]
    assert "rows.csv: the results are not written: Is a directory" in printed.err
