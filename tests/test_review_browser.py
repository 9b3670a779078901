"""The queue in a real JupyterLab, in a real browser: what is clicked is what the file holds."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from conftest import ROOT

import review

pytest.importorskip("playwright", reason="playwright is not installed, so no browser can be driven")
from playwright.sync_api import expect, sync_playwright  # noqa: E402

START = """
import sys
sys.path.insert(0, {root!r})
import helpers, review
articles = helpers.split_articles(helpers.load_source({root!r} + "/data/pipl.txt"))
citations = helpers.load_citations({root!r} + "/data/citations.json")
results = helpers.check_citations(articles, citations, helpers.make_ask(**helpers.xiangxin() | {{"api_key": ""}}))
"""
PIPL = "review.Panel(review.questions(results, articles, audit=3, seed=4), 'pipl.jsonl', 'Ada')"
HOSTILE = r"""
hostile = "<script>document.title='owned'</script><img src=x onerror=alert(1)> **b** [l](javascript:a) \u202e\x1b[1m"
texts = {"<h1>1</h1>": "".join(articles.values()), "2": hostile + " quoted " + hostile}
citations = [
    {"id": "long", "claim": "个人撤回同意后，之前的处理活动也随之无效。", "section": "<h1>1</h1>",
     "quote": "不影响撤回前基于个人同意已进行的个人信息处理活动的效力"},
    {"id": hostile, "claim": hostile, "quote": "quoted", "section": "2"},
]
ask = lambda claim, section: {"choice": "says_nothing", "confidence": 0.4, "model": hostile,
                              "probabilities": {"supports": 0.3, "contradicts": 0.1, "says_nothing": 0.6}}
rows = helpers.check_citations(texts, citations, ask, rules=lambda claim, text: [hostile])
review.Panel(review.questions(rows, texts), "hostile.jsonl", hostile)
"""


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium: Playwright's own, or the machine's."""
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        found = own if os.path.exists(own) else shutil.which("chromium") or shutil.which("google-chrome")
        if not found:
            pytest.skip("no Chromium: `playwright install chromium`, or Debian's package chromium")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The folder and the address of a JupyterLab of its own, which leaves the user's settings alone."""
    folder = tmp_path_factory.mktemp("lab")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = (
        "JUPYTER_CONFIG_DIR",
        "JUPYTERLAB_SETTINGS_DIR",
        "JUPYTERLAB_WORKSPACES_DIR",
        "JUPYTER_RUNTIME_DIR",
        "IPYTHONDIR",
    )
    settings = {name: str(tmp_path_factory.mktemp("settings")) for name in places}
    options = [f"--port={port}", "--no-browser", "--allow-root", "--IdentityProvider.token=", "--LabApp.news_url="]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", *options],
        cwd=folder, env={**os.environ, **settings}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    until(lambda: server.poll() is None and asked(f"{address}/api/status"))
    yield folder, address
    server.terminate()
    server.wait(30)


def asked(address: str):
    """What the server says, None where it says nothing."""
    try:
        return json.load(urllib.request.urlopen(address))
    except OSError:
        return None


def until(true, seconds: float = 60):
    """Wait until something is true, and return it."""
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)
    return value


@pytest.fixture
def opened(browser, lab):
    """Opens a notebook of one panel and runs it."""
    folder, address = lab

    def run(code: str):
        cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in (START.format(root=str(ROOT)), code)]
        metadata = nbformat.read(ROOT / "citation_check.ipynb", 4).metadata
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), folder / "queue.ipynb")
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        page.dialogs = []
        page.on("dialog", lambda dialog: (page.dialogs.append(dialog.type), dialog.accept()))
        page.goto(f"{address}/lab/tree/queue.ipynb?reset")
        page.locator(".jp-Notebook").wait_for(timeout=60_000)
        until(lambda: [kernel["execution_state"] for kernel in asked(f"{address}/api/kernels") or []][-1:] == ["idle"])
        menu(page, "Run", "Run All Cells")
        page.locator(".ccr-claim").wait_for(timeout=60_000)
        return page

    return run


def menu(page, *names: str) -> None:
    page.locator(".lm-MenuBar-itemLabel", has_text=names[0]).first.click()
    page.locator(".lm-Menu-itemLabel", has_text=names[1]).first.click()


def lines(path) -> list[tuple[str, str]]:
    read = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    return [(line["id"], line.get("verdict", "undo")) for line in read]


def test_decisions_an_undo_and_a_reload(opened, lab):
    page, path = opened(PIPL), lab[0] / "pipl.jsonl"
    panel = page.locator(".jp-OutputArea-output", has=page.locator(".ccr-page"))
    name = panel.locator(".ccr-label span").first
    pressed = []

    def press(verdict: str, act) -> None:
        """Decide once the row has been on view for a moment, and wait until the file has it."""
        pressed.append((name.inner_text(), verdict))
        page.wait_for_timeout(1000 * review.AT_ONCE + 100)
        act()
        until(lambda: len(lines(path)) == len(pressed), 10)
        assert lines(path) == pressed
        if verdict != "undo":
            expect(name).not_to_have_text(pressed[-1][0])

    def button(label: str):
        return panel.get_by_role("button", name=label)

    press("verified", button("verified").click)
    panel.get_by_placeholder("Note").fill("第二款 <b>")
    press("contradicted", button("contradicted").dblclick)  # one decision all the same
    panel.get_by_placeholder("or type").click()
    press("unsupported", lambda: page.keyboard.type("3"))
    expect(panel.get_by_placeholder("or type")).to_have_value("")
    undone = pressed[-1][0]
    pressed.append((undone, "undo"))
    button("undo").click()
    until(lambda: lines(path) == pressed, 10)
    expect(name).to_have_text(undone)

    page.keyboard.press("Control+s")
    page.wait_for_timeout(1000)
    page.reload()
    expect(name).to_have_text(undone, timeout=60_000)  # the kernel lives: the widget is there as it was
    expect(panel.locator(".ccr-top b")).to_have_text("2 of 18")
    button("cannot tell").focus()
    press("cannot-tell", lambda: page.keyboard.press("Enter"))
    press("cannot-tell", lambda: page.keyboard.press("Space"))

    following = name.inner_text()
    menu(page, "Kernel", "Restart Kernel and Run All Cells")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(panel.locator(".ccr-top b")).to_have_text("4 of 18", timeout=60_000)
    expect(name).to_have_text(following)
    assert lines(path) == pressed
    notes = {made["id"]: made["note"] for made in review.read_decisions(path)}
    assert notes[pressed[1][0]] == "第二款 <b>" and sorted(notes.values()) == ["", "", "", "第二款 <b>"]
    assert not page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']").count()


def test_hostile_text_and_a_long_article(opened, lab):
    page = opened(HOSTILE)
    panel = page.locator(".jp-OutputArea-output", has=page.locator(".ccr-page"))
    panel.get_by_role("button", name="verified").scroll_into_view_if_needed()
    first = panel.locator(".ccr-label span").first.inner_text()
    height = panel.locator(".ccr-page").bounding_box()["height"]
    for _ in range(2):
        assert not panel.locator("script, img, h1, a, .ccr-page b").count()
        if panel.locator(".ccr-label span").first.inner_text() == "long":
            text, mark = panel.locator(".ccr-text"), panel.locator("mark")
            assert text.evaluate("box => box.scrollHeight > 2 * box.clientHeight")
            box, passage = text.bounding_box(), mark.bounding_box()
            assert box["y"] <= passage["y"] and passage["y"] + passage["height"] <= box["y"] + box["height"]
        else:
            expect(panel.locator(".ccr-claim")).to_contain_text("<script>document.title='owned'</script><img")
            expect(panel.locator(".ccr-claim")).to_contain_text(r"\u202e\x1b[1m")
        assert panel.locator(".ccr-bar").count() == 3
        assert panel.locator(".ccr-page").bounding_box()["height"] == height
        page.wait_for_timeout(1000 * review.AT_ONCE + 100)
        panel.get_by_role("button", name="skip").click()
        page.wait_for_timeout(500)
    expect(panel.locator(".ccr-label span").first).to_have_text(first)
    assert page.title().startswith("queue.ipynb") and set(page.dialogs) <= {"beforeunload"}
    assert not (lab[0] / "hostile.jsonl").exists()
