"""Each notebook re-executed in a real kernel, outside the project's folder: what it prints is what was published."""

import json

import nbformat
import papermill
import pytest
from conftest import PUBLISHED, ROOT


def text_outputs(path) -> str:
    """All that a notebook's cells print, in order."""
    notebook = nbformat.read(path, as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") + "\n" for output in outputs)


def in_order(lines: list[str], text: str) -> bool:
    """Whether all the lines but blank ones stand in the text, in this order."""
    rest = iter(text.splitlines())
    return all(line in rest for line in lines if line)


@pytest.fixture(scope="module")
def rerun(tmp_path_factory):
    """Executes a notebook of the project into a folder of its own; its text outputs."""

    def run(name: str, **parameters) -> str:
        out = tmp_path_factory.mktemp("out") / name
        settings = {"cwd": ROOT, "kernel_name": "python3", "progress_bar": False}
        papermill.execute_notebook(ROOT / name, out, parameters, **settings)
        return text_outputs(out)

    return run


def test_rfc_notebook_prints_what_was_published(rerun):
    printed = rerun("citation_check.ipynb")
    assert in_order((PUBLISHED / "citation_check.txt").read_text().splitlines(), printed)
    assert (PUBLISHED / "playground_link.txt").read_text().strip() in printed.splitlines()
    assert printed == text_outputs(ROOT / "citation_check.ipynb")


def test_pipl_notebook_prints_what_was_published(rerun):
    printed = rerun("pipl_citation_check.ipynb")
    assert (PUBLISHED / "pipl_table.txt").read_text() in printed
    assert "9,392 字，74 条，40 条引用" in printed
    assert "35 answers replayed from the cache, 0 asked live; model: xiangxin-1.0.0" in printed
    assert printed == text_outputs(ROOT / "pipl_citation_check.ipynb")


def test_evidence_notebook_prints_what_was_published(rerun):
    printed = rerun("evidence_check.ipynb")
    assert in_order(
        [
            "[(1, ['E1'], 1.0), (2, ['E2'], 0.92)] []",
            "[(1, ['E1'], 0.0), (2, ['E2'], 0.18)]",
            "L1: weak_alignment=0.00",
            "L2: weak_alignment=0.18",
            "L3: missing_citation",
        ],
        printed,
    )
    assert printed == text_outputs(ROOT / "evidence_check.ipynb")


TOUR = {
    "document": str(ROOT / "tests" / "data" / "tour.md"),
    "citations": str(ROOT / "tests" / "data" / "tour.json"),
    "check_rules": True,
    "near": 0.7,
    "section_limit": 300,
}
FLAGS = {
    "moved",
    "repeated",
    "short",
    "case",
    "accents",
    "elided",
    "negation",
    "spans",
    "near",
    "narrowed",
    "no-such-section",
}
FLAGS |= {"numbers", "absolute", "confidence-definition"}


def test_a_document_of_ones_own_without_a_key(rerun, tmp_path):
    printed = rerun("your_documents.ipynb", **TOUR, answers=str(tmp_path / "answers.sqlite"))
    assert "0 answers replayed from the cache, 0 asked live" in printed
    assert "no key, and no answer of jev-1.12 in answers.sqlite: set TYPESAFE_API_KEY to ask" in printed
    assert "missing           missing       -                  -  fabricated      auto" in printed


def test_a_document_of_ones_own_live_raises_every_status_match_and_flag(rerun, serve, monkeypatch, tmp_path):
    server = serve("confidence-margin")
    for name, value in {"API_KEY": server.key, "ENDPOINT": server.url, "MODEL": "jev-latest"}.items():
        monkeypatch.setenv(f"TYPESAFE_{name}", value)
    results = tmp_path / "results.jsonl"
    parameters = {**TOUR, "answers": str(tmp_path / "answers.sqlite"), "results_file": str(results)}
    printed = rerun("your_documents.ipynb", **parameters)
    assert "17 requests to send" in printed
    assert "0 answers replayed from the cache, 17 asked live; model: jevcompat-mock-0.1" in printed
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    assert {row["status"] for row in rows} == {"found", "missing", "section-only", "near", None}
    assert {row["match"] for row in rows} == {"verbatim", "folded", "elided", None}
    assert {flag for row in rows for flag in row["flags"]} == FLAGS
    assert all(row["action"] == "review" for row in rows if row["flags"])
    requests = server.requests
    rerun("your_documents.ipynb", **parameters)
    assert server.requests == requests == 17


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_are_clean(path):
    """Run from top to bottom in one go, no error, nothing on stderr, no metadata but the kernel's."""
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    kinds = {(output.output_type, output.get("name")) for cell in code for output in cell.outputs}
    assert kinds <= {("stream", "stdout"), ("display_data", None), ("execute_result", None)}
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
