"""The notebooks as a reader meets them: JupyterLab in a real browser, all cells run, everything on the page.

Skipped, with the reason, where there is no Chromium: `apt-get install chromium fonts-noto-cjk`, or
`playwright install chromium`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT

import helpers

lzstring = pytest.importorskip("lzstring")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

TOKEN = "token-of-the-test"
NOTEBOOKS = sorted(path.name for path in ROOT.glob("*.ipynb"))


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium: the system's, else the one that Playwright brings."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    sandbox = [] if hasattr(os, "geteuid") and os.geteuid() else ["--no-sandbox"]  # Chromium has none for root
    with sync_api.sync_playwright() as playwright:
        if not found and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("no Chromium: apt-get install chromium fonts-noto-cjk, or playwright install chromium")
        try:
            chromium = playwright.chromium.launch(executable_path=found, args=sandbox)
        except sync_api.Error as error:
            pytest.skip(f"Chromium does not start: {str(error).splitlines()[0]}")
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab and its folder: a copy of the project, with spaces and Chinese in its path."""
    base = tmp_path_factory.mktemp("lab")
    folder = base / "my 引用 check"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*", "out", "__pycache__"))
    # Settings of its own, and not those of the person who runs the tests. Cells out of sight are on the page, too.
    settings = base / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"windowingMode": "none"}')
    own = {"JUPYTER_CONFIG_DIR": "config", "JUPYTERLAB_SETTINGS_DIR": "settings"}
    own |= {"JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
    env = {**os.environ, **{name: str(base / path) for name, path in own.items()}}
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--port=0", "--allow-root", "--LabApp.news_url="]
    command += [f"--ServerApp.token={TOKEN}", f"--ServerApp.root_dir={folder}"]
    log = base / "lab.log"
    with log.open("w") as file:
        server = subprocess.Popen(command, cwd=folder, env=env, stdout=file, stderr=file)
    try:
        yield started(server, log), folder
    finally:
        server.terminate()
        server.wait()


def started(server: subprocess.Popen, log: Path) -> str:
    """The address that JupyterLab says it listens at, once it answers there."""
    for _ in range(600):
        found = re.search(r"http://(?:127\.0\.0\.1|localhost):\d+/", log.read_text(errors="replace"))
        if found:
            try:
                urllib.request.urlopen(f"{found[0]}api", timeout=5).close()
                return found[0]
            except urllib.error.URLError:
                pass
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="module", params=NOTEBOOKS)
def run(request, browser, lab):
    """(the page, the notebook's cells) of each notebook, opened in JupyterLab, all its cells run."""
    cells = json.loads((ROOT / request.param).read_text(encoding="utf-8"))["cells"]
    page = opened(browser, lab[0], request.param)
    assert page.locator(".jp-Dialog").count() == 0  # it would ask which kernel to take
    prompts = page.locator(".jp-CodeCell .jp-InputPrompt")  # [*] until a cell is done, then its number
    count = sum(cell["cell_type"] == "code" for cell in cells)
    blank = ["[ ]:"] * count
    choose(page, "Edit", "Clear Outputs of All Cells", lambda wait: wait(prompts).to_have_text(blank))
    choose(page, "Run", "Run All Cells", lambda wait: wait(prompts.first).not_to_have_text("[ ]:"))
    sync_api.expect(prompts).to_have_text([f"[{n}]:" for n in range(1, count + 1)], timeout=120_000)
    yield page, cells
    page.close()


def opened(browser, address: str, name: str):
    """The page of a notebook, its kernel ready."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(f"{address}lab/tree/{name}?reset&token={TOKEN}")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    # JupyterLab asks for a kernel where one is wanted before it has started.
    sync_api.expect(page.locator(".jp-Toolbar-kernelName")).to_have_text("Python 3 (ipykernel)", timeout=60_000)
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000)
    return page


def choose(page, menu: str, entry: str, done) -> None:
    """Choose an entry of one of JupyterLab's menus until it has done its work; a loading page may miss it."""
    for _ in range(5):
        page.locator(".lm-MenuBar-itemLabel").get_by_text(menu, exact=True).click()
        page.locator(".lm-Menu-item:not(.lm-mod-disabled) .lm-Menu-itemLabel").get_by_text(entry, exact=True).click()
        try:
            return done(sync_api.expect)
        except AssertionError:
            continue
    raise AssertionError(f"{menu} > {entry} did nothing")


def test_no_cell_fails_and_no_dialog_asks(run):
    page, _ = run
    assert page.locator(".jp-Dialog").count() == 0
    assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0


def test_what_the_committed_notebook_shows_is_on_the_page(run):
    """Diagrams drawn, tables laid out, plots with something in them, and the printed text to the letter."""
    page, cells = run
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    prose += ["".join(output.get("data", {}).get("text/markdown", "")) for output in outputs]
    printed = ["".join(output["text"]) for output in outputs if "text" in output]
    plots = sum("image/png" in output.get("data", {}) for output in outputs)
    tables = sum("".join(output.get("data", {}).get("text/html", "")).count("<table") for output in outputs)
    tables += sum(len(re.findall(r"^\|[ :|-]+\|$", text, re.MULTILINE)) for text in prose)
    diagrams = sum(text.count("```mermaid") for text in prose)
    assert diagrams or plots or tables
    sync_api.expect(page.locator(".jp-RenderedMermaid img")).to_have_count(diagrams, timeout=30_000)
    sync_api.expect(page.locator(".jp-Notebook table")).to_have_count(tables)
    sync_api.expect(page.locator(".jp-OutputArea img")).to_have_count(plots)
    for image in page.locator(".jp-OutputArea img, .jp-RenderedMermaid img").all():
        assert image.evaluate("image => image.complete && image.naturalWidth") > 100
    shown = page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stdout']").all_text_contents()
    assert "".join("".join(shown).split()) == "".join("".join(printed).split())


HOSTILE = r"""
import helpers, formats, pathlib
hostile = "$5 and $10 <script>document.title='owned'</script><img src=x onerror=alert(1)> "
hostile += "**b** [l](javascript:a) \x1b[1m \u202e | `c`"
path = pathlib.Path("hostile.txt")
path.write_text(hostile + " quoted " + hostile)
sections = {hostile: path.read_text()}
citations = [{"id": hostile + "1", "claim": hostile, "quote": hostile, "section": hostile}]
citations += [{"id": hostile + "2", "claim": hostile, "quote": None, "section": hostile}]
answer = {"choice": hostile, "confidence": 0.9, "model": hostile}
rows = helpers.check_citations(sections, citations, lambda *_: answer)
helpers.print_table(rows)
helpers.print_located(helpers.locate_citations(sections, citations))
print(helpers.answers_note(rows))
print(helpers.playground_link(hostile, hostile))
formats.results_table(rows, path)
"""


def test_hostile_text_is_shown_and_not_interpreted(browser, lab):
    address, folder = lab
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(HOSTILE.strip())])
    notebook.metadata = nbformat.read(ROOT / "citation_check.ipynb", 4).metadata
    nbformat.write(notebook, folder / "hostile.ipynb")
    page = opened(browser, address, "hostile.ipynb")
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept()))
    prompt = page.locator(".jp-CodeCell .jp-InputPrompt").first
    choose(page, "Run", "Run All Cells", lambda wait: wait(prompt).not_to_have_text("[ ]:"))
    page.locator(".jp-Notebook table").wait_for(timeout=60_000)
    page.wait_for_timeout(500)  # for a formula to be set, and a picture to fail to load
    output = page.locator(".jp-OutputArea")
    assert output.locator("script, img, b, strong, code, mjx-container, a[href^=javascript]").count() == 0
    assert "owned" not in page.title() and "alert" not in dialogs
    assert "\x1b" not in output.inner_text() and "\u202e" not in output.locator("pre").first.inner_text()
    page.close()


def test_the_links_address_is_the_question(browser, lab):
    """Playground links decode to claim, section and question; the first notebook ends with one."""
    page = opened(browser, lab[0], "citation_check.ipynb")
    link = page.locator(".jp-OutputArea a[href*='playground#share/']")
    link.wait_for(timeout=60_000)
    shared = json.loads(
        lzstring.LZString().decompressFromEncodedURIComponent(link.get_attribute("href").partition("#share/")[2])
    )
    page.close()
    sections = helpers.split_sections(helpers.load_source())
    citation = next(c for c in helpers.load_citations() if c["id"] == "exp_required")
    assert json.loads(shared["documentText"]) == {"claim": citation["claim"], "section": sections["4.1.4"]}
    question = helpers.QUESTIONS["relation"].model_dump(exclude_none=True)
    assert json.loads(shared["promptsText"]) == {"relation": question}
    assert shared["selectedModels"] == [helpers.TYPESAFE_MODEL]
