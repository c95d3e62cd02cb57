"""What strangers wrote in HTML: which markup survives, and that the work is linear."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeexec.untrusted.markup import escape, frame, framed_html, plain_tables, unescape
from tests.untrusted.doubling import SLACK, growth

ALLOWED = re.compile(r'<(/?)(table|thead|tbody|tfoot|tr|th|td|caption)((?: (?:col|row)span="[0-9]{1,3}")*)>')
PIECES = [
    *("<", ">", "</", "<!--", "-->", "<!", "<?", "<![CDATA[", "]]>", "&", "&#", "&#60;", "&lt;", "&#9999999999;"),
    *('"', "'", "=", "/", "<table", "<tr>", "<td", "</td>", "</table>", "<script>", "</script>", "<style>"),
    *("<svg onload=a()>", "<textarea>", "a ", " ", " colspan=2", " rowspan='77'", " onclick=a()", "javascript:"),
    *("\0", "\x1b[2J", "\u202e", "\ud800", "\n", "`", "|", "---", "$", "\\"),
]
words = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=40).map("".join)


def test_tables_survive_and_nothing_that_runs_does() -> None:
    markup = (
        '<table onclick="x()" class="dataframe"><tr><th colspan="2">a&lt;b</th></tr>'
        "<tr><td>1<script>alert(1)</script></td>"
        '<td><img src=x onerror=alert(2)>2<style>*{}</style></td></tr></table><iframe src="//evil"></iframe>'
    )
    assert plain_tables(markup) == '<table><tr><th colspan="2">a&lt;b</th></tr><tr><td>1</td><td>2</td></tr></table>'


@given(words)
def test_no_tag_survives_but_those_of_tables_and_they_are_closed(markup: str) -> None:
    shown = plain_tables(markup)
    assert "<" not in ALLOWED.sub("", shown) and ">" not in ALLOWED.sub("", shown)
    stack: list[str] = []
    for slash, name, _ in ALLOWED.findall(shown):
        if slash:
            assert stack.pop() == name
        else:
            stack.append(name)
    assert not stack
    assert not set(shown) & {"\x1b", "\0", "\u202e", "\ud800"}


def tags(markup: str) -> list[tuple[str, dict[str, str | None]]]:
    found: list[tuple[str, dict[str, str | None]]] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attrs: found.append((tag, dict(attrs)))  # type: ignore[method-assign]
    reader.feed(markup)
    return found


@pytest.mark.parametrize("before", ["<b>", "<svg><foreignObject>", "<math><mtext>", "<template shadowrootmode=open>"])
@pytest.mark.parametrize("rest", [" src=//a.b>", "/rel=preconnect href=//a.b>", "\n http-equiv=refresh>", "\0>", ">"])
@pytest.mark.parametrize(
    "name", ["iframe", "IFrame", "object", "embed", "frame", "fencedframe", "link", "LiNK", "meta", "META"]
)
def test_a_frame_holds_no_tag_that_calls_a_server(name: str, rest: str, before: str) -> None:
    ((outside, attributes),) = tags(frame(f"{before}<{name}{rest}", "1em"))
    assert outside == "iframe" and [tag for tag, _ in tags(attributes["srcdoc"] or "")] == [
        *("meta", "meta"),
        *(tag for tag, _ in tags(before)),
    ]


def test_a_frame_looks_up_no_names_of_links() -> None:
    ((_, attributes),) = tags(frame("<a href=//a.b>x</a>", "1em"))
    assert [held.get("http-equiv") for tag, held in tags(attributes["srcdoc"] or "") if tag == "meta"] == [
        "Content-Security-Policy",
        "x-dns-prefetch-control",
    ]


@given(words)
def test_a_page_is_one_frame_whatever_it_holds(markup: str) -> None:
    found = tags(framed_html(markup))
    assert [tag for tag, _ in found] == ["meta", "meta", "title", "iframe"]
    assert found[-1][1]["sandbox"] == ""


@pytest.mark.parametrize("reference", ["&#" + "9" * 10_000 + ";", "&#x" + "f" * 10_000, "&#" + "1" * 10_000])
def test_a_reference_of_ten_thousand_digits_is_one_strange_character(reference: str) -> None:
    assert unescape(f"a{reference}!") == "a\N{REPLACEMENT CHARACTER}!"
    assert unescape("&lt;&#60;&#x3c;&eacute;") == "<<<é"


REPEATED = [
    *PIECES,
    *("<a ", "</a", "<a b='", "<a/ ", "<script></", "<svg></svg", "<td>", "<table><tr>", "</tr>", "9", "&#9", "<!-->"),
]


@pytest.mark.parametrize("work", [plain_tables, unescape, escape])
def test_work_grows_no_faster_than_the_input(work: Callable[[str], str]) -> None:
    makers: list[Callable[[int], str]] = [lambda n, piece=piece: piece * (n // len(piece)) for piece in REPEATED]  # type: ignore[misc]
    makers += [lambda n, piece=piece: f"| a |\n<a {piece * (n // len(piece))}" for piece in REPEATED]  # type: ignore[misc]
    slow = {make(8): ratio for make in makers if (ratio := growth(work, make, 1 << 11, 1 << 14)) > SLACK}
    assert not slow
