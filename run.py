"""Run every notebook on the committed answers, into out/, and print the first one's table."""

import sys
from pathlib import Path

import papermill

import citation_check

HERE = Path(__file__).parent


def run_notebooks(out: Path) -> None:
    """Execute each notebook of this folder into ``out``, which is made; an error in a cell stops the run."""
    out.mkdir(exist_ok=True)
    for notebook in sorted(HERE.glob("*.ipynb")):
        print(f"{notebook.name} -> {out / notebook.name}")
        papermill.execute_notebook(notebook, out / notebook.name, cwd=HERE, kernel_name="python3", progress_bar=False)


if __name__ == "__main__":
    run_notebooks(Path("out"))
    print()
    citation_check.main([])
    sys.exit()
