"""The page in Chromium: people read, move, find and compare in it, and nothing of a guest's runs."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from safeexec.playback.page.nodes import Node, RunPage
from safeexec.playback.page.of_file import page_of
from safeexec.playback.page.render import render
from safeexec.untrusted.markup import frame, picture

DATA = Path(__file__).parents[2] / "recordings" / "data"
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.modules("playwright"),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here"),
]


@contextmanager
def browser(**options: Any) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # With a profile (""): what `launch` opens are private windows, which connect to no server ahead of need.
        chromium = playwright.chromium.launch_persistent_context(
            "", executable_path=CHROMIUM, args=["--no-sandbox"], **options
        )
        try:
            yield chromium.new_page()
        finally:
            chromium.close()


def written(tmp_path: Path, page: RunPage) -> str:
    path = tmp_path / "run.html"
    path.write_text(render(page), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1300])
def test_a_person_reads_it(tmp_path: Path, scheme: str, width: int) -> None:
    requests: list[str] = []
    problems: list[str] = []
    pictures = Path(os.environ.get("SAFEEXEC_SCREENSHOTS", str(tmp_path)))
    with browser(viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(written(tmp_path, page_of(DATA / "analysis.jsonl")))
        page.get_by_role("listbox").wait_for()
        page.keyboard.press("/")
        page.keyboard.type("plt")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Code").wait_for()
        assert page.locator(".details img").count() == 1
        page.screenshot(path=pictures / f"page-{scheme}-{width}.png")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.getAttribute('role')") == "listbox"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert problems == []


def test_nothing_of_a_guest_runs(tmp_path: Path) -> None:
    evil = "</pre><img src=x onerror=\"document.title='gone'\"><script>document.title='gone'</script>"
    from safeexec.playback.page.of_recording import display_html
    from safeexec.recordings.format import DisplayText

    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    outside = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    fetching = (
        f"<style>@import '{outside}a'; * {{ background: url({outside}b) !important }}</style><img src={outside}c>"
        f"<link rel=stylesheet href={outside}d><link rel=preconnect href={outside}>"
        f"<iframe src={outside}e></iframe><base href={outside}>"
        f'<meta http-equiv=refresh content="0;url={outside}f"><svg><image href="{outside}g"/></svg>'
        "<div style='position:fixed;inset:0;z-index:9999'>over everything</div>"
    )
    display = display_html(DisplayText({"text/html": f"{evil}{fetching}<script>parent.document.title='gone'</script>"}))
    texts: Any = dict.fromkeys(("title", "source", "stdout", "value"), evil)
    node = Node(kind="step", **texts, described={evil: evil}, created=[evil], displays=[display])
    with listening, browser() as page:
        page.goto(written(tmp_path, RunPage(title="kept", facts=[(evil, evil)], nodes=[node])) + "#0")
        page.get_by_role("heading", name="Shown").wait_for()
        page.wait_for_timeout(300)
        assert page.title() == "kept"
        page.get_by_role("button", name="Compare").click()  # nothing lies over the page
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_a_frame_calls_no_server(tmp_path: Path) -> None:
    """The last frame of the page is not guarded and calls another server: by then the others had called theirs."""
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as called:
        silent.setblocking(False)
        called.settimeout(60)
        outside, control = (f"http://127.0.0.1:{server.getsockname()[1]}/" for server in (silent, called))
        link = f'<link rel="preconnect" href="{outside}">'
        hints = [
            *(link, f'<LINK/href="{outside}"/rel="x PreConnect">', f'<link rel=preload as=image href="{outside}">'),
            *(f"<svg><foreignObject>{link}", f"<math><mtext>{link}", f"<svg>{link}</svg>", f"<svg:{link[1:]}"),
            *(f"<div><template shadowrootmode=open>{link}</template></div>", f"<noscript>{link}</noscript>"),
            f'<meta http-equiv=Link content="<{outside}>; rel=preconnect">',
            f'<math href="{outside}"><mi>x</mi></math><svg><a href="{outside}"><text y=9>x</text></a></svg>',
            f'<style>@import "{outside}"; * {{ cursor: url({outside}) }}</style><body background="{outside}">',
        ]
        drawing = (
            f'<svg xmlns="http://www.w3.org/2000/svg"><link xmlns="http://www.w3.org/1999/xhtml"{link[5:-1]}/></svg>'
        )
        unguarded = f"<iframe sandbox srcdoc='<link rel=preconnect href={control}>'></iframe>"
        path = tmp_path / "frames.html"
        path.write_text("".join([*(frame(hint, "1em") for hint in hints), picture(drawing), unguarded]))
        with browser() as page:
            page.goto(path.as_uri())
            called.accept()[0].close()
            with pytest.raises(BlockingIOError):
                silent.accept()


def test_two_rows_are_compared(tmp_path: Path) -> None:
    with browser(viewport={"width": 1300, "height": 800}) as page:
        page.goto(written(tmp_path, page_of(DATA / "errand.jsonl")))
        rows = page.get_by_role("option")
        rows.filter(has_text="total = round(total)").click()
        page.get_by_role("button", name="Compare").click()
        rows.filter(has_text="math.ceil").click()
        page.get_by_role("heading", name="Variables that differ").wait_for()
        assert "total" in page.locator(".details table").first.inner_text()


def test_what_was_not_undone_is_shown_alone(tmp_path: Path) -> None:
    nodes = [
        Node(kind="step", title=f"x = {n}", parent=min(n - 1, 0), step=n, source="x", undone=n > 1) for n in range(4)
    ]
    run = RunPage(title="t", facts=[], nodes=nodes)
    with browser() as page:
        page.goto(written(tmp_path, run))
        page.get_by_text("○ 2 undone").wait_for()
        page.get_by_role("combobox").select_option("kept")
        assert page.get_by_role("option", name="x = ").count() == 2


def test_of_ten_thousand_steps_those_are_drawn_that_are_seen(tmp_path: Path) -> None:
    count = 10_000
    nodes = [
        Node(kind="step", title=f"x = {n}", parent=n - 1, step=n, source=f"x = {n}\n" * 20, created=["x"])
        for n in range(count)
    ]
    many = RunPage(title="many", facts=[], nodes=nodes)
    with browser() as page:
        page.goto(written(tmp_path, many))
        page.get_by_role("listbox").focus()
        page.keyboard.press("End")
        page.get_by_role("heading", name=f"x = {count - 1}", exact=False).wait_for()
        assert page.locator(".row").count() < 100
        for _ in range(20):
            page.keyboard.press("ArrowUp")
        page.get_by_role("heading", name=f"x = {count - 21}", exact=False).wait_for()
        page.keyboard.press("/")
        page.keyboard.type("x = 7777")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="x = 7777", exact=False).wait_for()
        assert page.locator(".row").count() == 1
