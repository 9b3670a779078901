"""A machine that is not ours: another locale, line ends, folder and home; nothing but the clone and Python."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import PUBLISHED, ROOT

TABLE = (PUBLISHED / "citation_check.txt").read_text().splitlines()[-9:]
DATA = ("rfc7519.txt", "citations.json", "json_cache.json")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The project in a folder with spaces and Chinese in its name, every data file with Windows' line ends."""
    folder = tmp_path_factory.mktemp("fresh") / "my 引用 (copy)"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*", "out", "__pycache__"))
    for path in [folder / name for name in DATA] + [path for path in (folder / "data").iterdir() if path.is_file()]:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return folder


OFFLINE = """
import socket
def refuse(*_): raise OSError("the network is not there")
socket.socket.connect = socket.getaddrinfo = refuse
"""


def run(copy, tmp_path, code: str, **settings) -> list[str]:
    """The lines that a piece of Python prints with the copy's modules, in a bare environment, from another folder."""
    (tmp_path / "run.py").write_text(OFFLINE + code)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(copy), **settings}
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, env=env, capture_output=True, encoding="utf-8")
    assert done.stderr == "" and done.returncode in (0, 1)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "settings",
    [{"LANG": "C", "LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"HOME": "/no"}],
    ids=lambda value: " ".join(value),
)
def test_the_published_table_anywhere(copy, tmp_path, settings):
    """No HOME in the first two, one that does not exist in the last."""
    assert run(copy, tmp_path, "import citation_check; citation_check.main([])", **settings)[:9] == TABLE


def test_the_chinese_replay_anywhere(copy, tmp_path):
    code = (
        "import helpers; s = helpers.split_articles(helpers.load_source(helpers.HERE / 'data' / 'pipl.txt'))\n"
        "c = helpers.load_citations(helpers.HERE / 'data' / 'citations.json')\n"
        "helpers.print_table(helpers.check_citations(s, c, helpers.make_ask(**helpers.xiangxin())))\n"
    )
    lines = run(copy, tmp_path, code, LANG="C", PYTHONUTF8="0")
    assert len(lines) == 41 and not any("unchecked" in line for line in lines)
