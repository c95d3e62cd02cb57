"""What a notebook's page gets of results: all that can be shown, and nothing that runs, loads or leads away."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from hypothesis import given

from safeexec import Display, ErrorInfo, Policy, Result
from safeexec.results import Rows, Variable
from safeexec.results.mimebundle import of_display, of_rows
from safeexec.untrusted.latex import plain_latex
from safeexec.untrusted.markup import CONTENT_SECURITY_POLICY
from tests.untrusted.hostile import texts
from tests.untrusted.test_markup import tags

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
TABLE = (
    '<table border="1" class="dataframe"><tr><th>a</th></tr>'
    '<tr><td onclick="x()">1<script>y()</script></td></tr></table>'
)
HOSTILE = '<script>fetch("/api")</script><img src="//evil/x" onerror="z()"><b>bold</b>'
ALLOWED = {"div", "pre", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption", "iframe", "img", "progress"}
ATTRIBUTES = {"class", "sandbox", "style", "srcdoc", "alt", "src", "colspan", "rowspan", "max", "value"}


def assert_harmless(bundle: Any) -> None:
    """Whatever a page does with it: it sees tags of ours, a frame that can do nothing, and pictures."""
    assert bundle.keys() <= {"text/plain", "text/html", "text/latex", "image/png", "image/jpeg"}
    for tag, attributes in tags(bundle.get("text/html", "")):
        assert tag in ALLOWED
        assert attributes.keys() <= ATTRIBUTES
        if tag == "iframe":
            assert attributes["sandbox"] == ""
            first = f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'
            assert (attributes["srcdoc"] or "").startswith(first)
        if tag == "img":
            assert re.match(r"data:image/(png|jpeg|svg\+xml);base64,[A-Za-z0-9+/=]*\Z", attributes["src"] or "")
    "".join(bundle.values()).encode()  # no lone surrogates: it becomes JSON


@pytest.mark.parametrize(
    ("mime", "markup", "shown"),
    [
        ("text/html", TABLE, ["div", "table", "tr", "th", "tr", "td"]),
        ("text/html", HOSTILE, ["div", "iframe"]),
        ("image/svg+xml", f"<svg onload='a()'>{HOSTILE}</svg>", ["div", "img"]),
    ],
)
def test_tables_are_the_pages_own_and_other_markup_can_do_nothing(mime: str, markup: str, shown: list[str]) -> None:
    bundle = of_display(Display({mime: markup, "text/plain": "x"}))
    assert [tag for tag, _ in tags(bundle["text/html"])] == shown
    assert ("<td>1</td>" in bundle["text/html"]) is (markup is TABLE)
    assert_harmless(bundle)


def test_pictures_begin_as_one_and_formulas_of_plain_commands_pass() -> None:
    assert of_display(Display({"image/png": PNG, "text/plain": "x"}))["image/png"] == base64.b64encode(PNG).decode()
    assert of_display(Display({"image/png": b"<html>", "text/plain": "x"})) == {"text/plain": "x"}
    formula = r"$\displaystyle \frac{x^{2}}{2} < \left[\begin{matrix}1 & 2\\3 & \alpha_{1}\end{matrix}\right]$"
    shown = of_display(Display({"text/latex": formula, "text/plain": "x"}))
    assert shown["text/latex"] == formula.replace("<", r"\lt ")


@pytest.mark.parametrize(
    "mime",
    [
        "text/markdown", "application/javascript", "application/vnd.jupyter.widget-view+json",
        "application/vnd.vegalite.v5+json",
    ],
)  # fmt: skip
def test_what_a_page_would_run_is_text(mime: str) -> None:
    assert of_display(Display({mime: HOSTILE, "text/plain": "x"})) == {"text/plain": "x"}


@pytest.mark.parametrize(
    "formula",
    [
        r"\href{javascript:alert(1)}{x}", r"\style{background:url(//evil)}{x}", r"\def\a{\hr}\a", r"\require{html}",
        r"\bbox[red]{x}", "\\hr\x1b[0mef{a}{b}", "x\r\\href{a}{b}",
        r"\begin{html}x\end{html}", r"\unicode{60}", "a" * 30_000,
    ],
)  # fmt: skip
def test_formulas_that_do_more_are_text(formula: str) -> None:
    assert plain_latex(formula) is None


@given(texts())
def test_whatever_a_guest_displays(text: str) -> None:
    for mime in ("text/html", "image/svg+xml", "text/latex", "text/markdown", "text/plain"):
        assert_harmless(of_display(Display({mime: text})))
    assert_harmless(of_display(Display({"text/html": f'<table class="dataframe">{text}'})))


@given(texts())
def test_whatever_a_step_says(text: str) -> None:
    error = ErrorInfo(type="E", message=text, traceback=text, rule="p.yaml:1", hint=text)
    result = Result("error", stdout=text, stderr=text, text=text, error=error, notes=(text,))
    assert_harmless(result._repr_mimebundle_())
    assert_harmless(of_rows(["name"], [[text]]))


def test_a_result_shows_all_of_it_rows_a_table_and_policies_their_card() -> None:
    display = Display({"image/png": PNG, "text/plain": "fig"})
    result = Result("ok", stdout="out\n", stderr="err\n", text="'v'", displays=(display,))
    markup = result._repr_mimebundle_()["text/html"]
    places = [markup.index(part) for part in ("out", "err", "data:image/png", "&#x27;v&#x27;")]
    assert places == sorted(places)
    shown = Rows([Variable("x", "int", text="1 < 2")])._repr_mimebundle_()
    assert "<td>1 &lt; 2</td>" in shown["text/html"]
    assert shown["text/plain"].splitlines()[0].split() == ["name", "type", "shape", "size", "text"]
    assert Rows([])._repr_mimebundle_()["text/plain"] == "nothing"
    assert_harmless(shown)
    assert "calculator" in Policy.load("calculator")._repr_mimebundle_()["text/plain"]
