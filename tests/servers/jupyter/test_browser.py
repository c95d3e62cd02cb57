"""The kernel in JupyterLab, in a real browser: what people do with it, and that no display acts in the page."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from safeexec.cli import main
from tests.footprint import pause

pytestmark = [
    pytest.mark.slow,
    pytest.mark.modules("jupyterlab", "playwright", "ipykernel", "pandas", "matplotlib", "tqdm"),
    pytest.mark.timeout(1200),
]
CHROMIUM = shutil.which("chromium")
PATIENCE = 300.0
TOKEN = "a-token-that-no-cell-may-read"
HOSTILE = """\
class Hostile:
    def __init__(self, mime, text): self.mime, self.text = mime, text
    def _repr_mimebundle_(self, include=None, exclude=None): return {self.mime: self.text, "text/plain": "plain form"}
run = "fetch('/api/contents?guest').then(() => 0); top.guest = 1; parent.guest = 1; window.guest = 1;"
html = f'''<p id=seen>framed words</p><script>{run}</script><img src=x:y onerror="{run}"><svg onload="{run}"></svg>
<img src="/api/contents?guest-picture"><link rel=stylesheet href="/api/contents?guest-style">
<iframe src="/lab?guest-frame"></iframe><iframe srcdoc="<script>{run}</script>"></iframe>
<meta http-equiv=refresh content="0;url=/lab?guest-refresh">
<form action="/lab?guest-form"><input autofocus onfocus="{run}"></form>'''
display(Hostile("text/html", html))
display(Hostile("text/html", '<table class="dataframe">' + html + "</table>"))
display(Hostile("image/svg+xml", f"<svg xmlns='http://www.w3.org/2000/svg'><script>{run}</script></svg>"))
display(Hostile("text/markdown", html))
display(Hostile("application/javascript", run))
display(Hostile("text/latex", "$\\\\href{javascript:" + run + "}{x}$"))
display(Hostile("application/vnd.jupyter.widget-view+json", '{"model_id": "x", "version_major": 2}'))
"""
CELLS = (
    "print('hello from a step')",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "from tqdm.auto import tqdm\nfor _ in tqdm(range(5), desc='working'): pass",
    "x = 1",
    "x = 2\nimport time\nprint('to be interrupted')\ntime.sleep(3600)",
    "print('x is', x)\nx / 0",
    "%rollback",
    HOSTILE,
    "from IPython.display import clear_output\nimport asyncio\nfor i in range(3):\n    clear_output(wait=True)\n"
    "    print('count', i)\n    await asyncio.sleep(0.1)\nprint('all is', 'done')",
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab that has the kernel."""
    home = tmp_path_factory.mktemp("lab")
    assert main(["jupyter", "install", "--prefix", str(home)]) == 0
    metadata = {"kernelspec": {"name": "safeexec", "display_name": "safeexec", "language": "python"}}
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for n, source in enumerate(CELLS)
    ]
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (home / "work").mkdir()
    (home / "work" / "tried.ipynb").write_text(json.dumps(notebook))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "HOME": str(home), "JUPYTER_PATH": str(home / "share/jupyter")}
    server = subprocess.Popen(
        [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
            f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={home / 'work'}", "--expose-app-in-browser",
        ],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        deadline = monotonic() + PATIENCE
        while not _answers(f"{address}/api?token={TOKEN}"):
            assert monotonic() < deadline and server.poll() is None
            pause()
        yield address
    finally:
        server.terminate()
        server.wait()


def _answers(address: str) -> bool:
    with suppress(OSError):
        return bool(urllib.request.urlopen(address).status == 200)
    return False


@contextmanager
def browser() -> Iterator[Any]:
    """A page of Chromium."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        pytest.skip("no chromium here")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1300, "height": 1500})
        page.set_default_timeout(PATIENCE * 1000)
        try:
            yield page
        finally:
            chromium.close()


def test_people_work_and_displays_do_nothing(lab: str, tmp_path: Path) -> None:
    requests: list[Any] = []
    screenshots = os.environ.get("SAFEEXEC_SCREENSHOTS", str(tmp_path))
    with browser() as page:
        page.on("request", lambda request: requests.append(request))
        page.goto(f"{lab}/lab/tree/tried.ipynb?token={TOKEN}")
        page.wait_for_selector(".jp-CodeCell .cm-content")
        page.get_by_text("| Idle").wait_for()
        cells = page.locator(".jp-CodeCell")

        def run(number: int, expected: str) -> str:
            """Run one cell, and wait until its output has what is expected."""
            cells.nth(number).locator(".cm-content").click()
            page.keyboard.press("Control+Enter")
            output = cells.nth(number).locator(".jp-OutputArea")
            output.filter(has_text=re.compile(expected, re.DOTALL)).wait_for()
            page.screenshot(path=screenshots + f"/cell-{number}.png")
            return str(output.inner_text())

        run(0, "hello from a step")
        cells.nth(1).locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        cells.nth(1).locator(".jp-OutputArea img").first.wait_for()
        run(2, "working: *100% 5/5")
        cells.nth(3).locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        cells.nth(4).locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        cells.nth(4).locator(".jp-OutputArea").filter(has_text="to be interrupted").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("i")
        page.keyboard.press("i")
        cells.nth(4).locator(".jp-OutputArea").filter(has_text="state: restored").wait_for()
        assert "x is 1" in run(5, "hint: ")
        run(6, "back to before the last step")
        run(7, "plain form")
        run(8, "all is done")
        assert cells.nth(8).locator(".jp-OutputArea").inner_text().split() == ["count", "2", "all", "is", "done"]
        page.wait_for_timeout(2000)  # time for what a display might try
        page.screenshot(path=screenshots + "/end.png")
        assert page.frame_locator(".jp-OutputArea iframe").first.locator("#seen").inner_text() == "framed words"
        assert page.evaluate("window.guest") is None
        for frame in page.frames[1:]:
            assert frame.evaluate("self.origin") == "null"
        asked = [request.url for request in requests if request.failure != "csp"]  # those are refused, and never sent
    assert any("/api/" in address for address in asked)
    assert not [address for address in asked if "guest" in address]
