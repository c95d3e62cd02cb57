"""Find the blocks of a reply: tags such as `<execute_python>`, `<execute_sql>` and `<code>`, and Markdown fences, each
with its content. An SQL block becomes the step that runs it: a call of `sql`.

Reading goes from left to right. What opens first is a block and its content is opaque until it closes, so a tag
inside a fence is text and a fence inside a tag belongs to the tag. All candidates are indexed once, so that many
openers stay linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from safeexec.agent.snippets import Parser, clean
from safeexec.untrusted.markup import unescape

BlockKind = Literal["tag", "python", "sql", "plain", "other"]

_MAX_CLOSERS = 10  # candidates tried before the first one is taken
_MAX_RUN = 64  # longer fences are not told apart, which bounds the search for a closer

_NAMES = "execute_python|execute_sql|execute_ipython|execute|python|code"
"""The tags that a prompt names, and those that models write in their place."""
_OPEN_TAG = re.compile(
    rf"<(?P<name>{_NAMES})(?:(?:[ \t][^<>\n]*)?>|(?=[ \t]*\n))"
    rf"|&lt;(?P<escaped>{_NAMES})(?:[ \t](?>(?:(?!&[lg]t;)[^<>\n])*))?&gt;",
    re.IGNORECASE,
)
_CLOSE_TAG = re.compile(
    rf"<\\?/ ?(?P<name>{_NAMES})\s*+>|&lt;/(?P<escaped>{_NAMES})\s*+&gt;",
    re.IGNORECASE,
)
_CUT_CLOSE_TAG = re.compile(
    rf"</?(?P<name>{_NAMES})\b(?![ \t]*>)[ \t]*(?=\n|\Z)|</?\w{{0,20}}\Z|<(?:{_NAMES})>\s*\Z",
    re.IGNORECASE,
)
"""A closing tag without its last characters, or without its slash: taken only where there is no whole one."""
_OPEN_FENCE = re.compile(r"^[ \t]*+(?P<run>`{3,}+(?=[^`\n]*+$)|~{3,}+)(?P<info>[^\n]*+)$", re.MULTILINE)
_FENCE_AFTER_PROSE = re.compile(r"(?<=[^`~\n])(?P<run>`{3,}+|~{3,}+)(?P<info>[^`~\n]*+)$", re.MULTILINE)
_CLOSE_FENCE = re.compile(r"^[ \t]*+(?P<run>`{3,}+|~{3,}+)[ \t]*+$", re.MULTILINE)
_CROWDED_FENCE = re.compile(r"^[ \t]*+(?P<run>`{3,}+)(?P<rest>[^`\n]*+)$", re.MULTILINE)
"""The end of a fence with text behind it: taken only where what stands before it is a program."""
_LABEL = re.compile(r"[^\W_][\w+#.\-]*")
_LABEL_ALONE = re.compile(r"[ \t]*+\{?\.?[^\W_][\w+#.\-]*+\}?[ \t]*+(?:$|\{|\w++=)")
_BEFORE_TAG = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?$")
_SQL = "execute_sql"
_PROMPTED = ("execute_python", _SQL)
_SQL_LABEL = "sql"
_HAS_RESULT = re.compile(r"sql\(['\"]+(?:select|with|from|values|describe|show|summarize|pivot)\b", re.IGNORECASE)
_SQL_FENCE = re.compile(r"\s*+(`{3,}+|~{3,}+)[^\n]*+\n")
_PYTHON_LABELS = frozenset({"py", "py3", "ipython", "ipython3", "pycon", "tool_code", "execute_python"})


@dataclass(frozen=True, slots=True)
class Block:
    """One block: `text[start:end]` is all of it, `code` its cleaned content (empty: nothing to run)."""

    kind: BlockKind
    code: str
    start: int
    end: int
    label: str = ""

    @property
    def shown(self) -> str:
        """The code of a block with others behind it: of a step, only the last value is shown by itself."""
        return f"display({self.code})" if self.label == _SQL_LABEL and _HAS_RESULT.match(self.code) else self.code


@dataclass(frozen=True, slots=True)
class _Opener:
    start: int
    content: int
    tag: str = ""
    escaped: bool = False
    inline: bool = False
    run: str = ""
    label: str = ""


def read_blocks(text: str, parser: Parser, *, sql: bool = False) -> list[Block]:
    """Return the blocks of `text` in order; with `sql`, a fence of SQL is a block to run. Line ends must be LF."""
    return _BlockReader(text, parser, sql).read(with_tags=True)


class _BlockReader:
    def __init__(self, text: str, parser: Parser, sql: bool = False) -> None:
        self._text = text
        self._parser = parser
        self._sql = sql
        self._index = _index_of_closers(text)

    def read(self, *, with_tags: bool) -> list[Block]:
        openers = list(_fence_openers(self._text))
        if with_tags:
            openers.extend(_tag_openers(self._text))
        openers.sort(key=lambda opener: opener.start)
        blocks: list[Block] = []
        position = 0
        for opener in openers:
            if opener.start < position:
                continue
            block = self._read_tag(opener) if opener.tag else self._read_fence(opener)
            if block is not None:
                blocks.append(block)
                position = block.end
        return blocks

    def _read_tag(self, opener: _Opener) -> Block | None:
        closers = self._closers(opener)
        if opener.inline and not (closers and self._parser.afford(closers[0][0] - opener.content)):
            return None
        cut = (found.span() for found in _CUT_CLOSE_TAG.finditer(self._text, opener.content))
        content, end = (
            self._close(opener, closers)
            or self._parsed(opener, self._behind_something(opener, cut))
            or (self._text[opener.content :], len(self._text))
        )
        code = self._code_of(opener, content)
        if opener.inline and not self._parser.looks_like_code(code):
            return None
        return Block("tag", code, opener.start, end, _SQL_LABEL if opener.tag == _SQL else "")

    def _read_fence(self, opener: _Opener) -> Block:
        closers = self._closers(opener)
        kind: BlockKind = "plain" if not opener.label else "python" if _is_python(opener.label) else "other"
        if kind == "other":
            found = self._close(opener, closers[:1])
        else:
            crowded = self._behind_something(opener, self._crowded_closers(opener, closers))
            found = self._parsed(opener, crowded) or self._close(opener, closers)
        content, end = found or (_cut_run(self._text[opener.content :], opener.run[0]), len(self._text))
        if self._sql and opener.label == _SQL_LABEL:
            return Block("sql", _call_of_sql(content), opener.start, end, _SQL_LABEL)
        return Block(kind, clean(content), opener.start, end, opener.label)

    def _close(self, opener: _Opener, closers: list[tuple[int, int]]) -> tuple[str, int] | None:
        """Return content and end at the first closer whose content parses, else at the first one; None without one."""
        if len(closers) > 1 and (parsed := self._parsed(opener, closers)):
            return parsed
        return (self._text[opener.content : closers[0][0]], closers[0][1]) if closers else None

    def _parsed(self, opener: _Opener, closers: Iterable[tuple[int, int]]) -> tuple[str, int] | None:
        """Return content and end at the first closer whose content parses; None where none of the first ones does."""
        for start, end in islice(closers, _MAX_CLOSERS):
            if not self._parser.afford(start - opener.content):
                break
            content = self._text[opener.content : start]
            if self._parser.parses(self._code_of(opener, content)):
                return content, end
        return None

    def _behind_something(self, opener: _Opener, closers: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield those of uncertain closers that have more than blanks before them: nothing is no program."""
        return (closer for closer in closers if self._text[opener.content : closer[0]].strip())

    def _crowded_closers(self, opener: _Opener, closers: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield the ends of a fence that have text behind them, before the first proper one."""
        last = closers[0][0] if closers else len(self._text)
        for found in _CROWDED_FENCE.finditer(self._text, opener.content, last):
            if rest := found["rest"].strip():
                opens = _is_python(_label(rest)) and _LABEL_ALONE.match(found["rest"])
                yield found.start(), found.start() if opens else found.end("run")

    def _code_of(self, opener: _Opener, content: str) -> str:
        """Return the program in the content of a fence or a tag, which may hold fences of its own."""
        if not opener.tag:
            return clean(content)
        if opener.escaped:
            content = unescape(content)
        if opener.tag == _SQL:
            return _call_of_sql(content)
        if not content.lstrip().startswith(("```", "~~~")):
            return clean(content)
        fences = _BlockReader(content, self._parser).read(with_tags=False)
        if not fences or content[: fences[0].start].strip():
            return clean(content)
        wanted = [block for block in fences if block.code and block.kind in ("python", "plain")]
        sure = [block for block in wanted if block.kind == "python" or self._parser.looks_like_code(block.code)]
        return "\n\n".join(block.code for block in sure or wanted)

    def _closers(self, opener: _Opener) -> list[tuple[int, int]]:
        """Return the first closers behind an opener: of its name, or of as many of its characters."""
        spans = self._index.get((opener.tag or opener.run[0], opener.escaped), [])
        behind = (spans[place] for place in range(bisect_left(spans, (opener.content, 0, 0)), len(spans)))
        needed = min(len(opener.run), _MAX_RUN)
        return list(islice(((start, end) for start, end, length in behind if length >= needed), _MAX_CLOSERS))


def _index_of_closers(text: str) -> dict[tuple[str, bool], list[tuple[int, int, int]]]:
    """Return the closers by what they close and whether that is escaped: start, end, and the length of a fence."""
    index: dict[tuple[str, bool], list[tuple[int, int, int]]] = {}
    for tag in _CLOSE_TAG.finditer(text):
        key = (tag["escaped"] or tag["name"]).lower(), tag["escaped"] is not None
        index.setdefault(key, []).append((*tag.span(), 0))
    for fence in _CLOSE_FENCE.finditer(text):
        length = min(len(fence["run"]), _MAX_RUN)
        index.setdefault((fence["run"][0], False), []).append((*fence.span(), length))
    return index


def _tag_openers(text: str) -> Iterator[_Opener]:
    for match in _OPEN_TAG.finditer(text):
        if match.start() and text[match.start() - 1] == "`":
            continue  # a mention: `<code>`
        name = (match["name"] or match["escaped"]).lower()
        inline = not _stands_at_line_edge(text, match)
        if inline and name not in _PROMPTED:
            continue  # HTML in prose
        yield _Opener(match.start(), match.end(), tag=name, escaped=match["escaped"] is not None, inline=inline)


def _stands_at_line_edge(text: str, match: re.Match[str]) -> bool:
    line_start = text.rfind("\n", max(0, match.start() - 200), match.start()) + 1
    line_start = line_start or max(0, match.start() - 200)  # blanks and marker before a tag fit in 200 characters
    at_start = line_start == 0 or text[line_start - 1] == "\n"
    if at_start and _BEFORE_TAG.match(text, line_start, match.start()):
        return True
    rest = text[match.end() : match.end() + 200].split("\n", 1)
    return not rest[0].strip() and (len(rest) == 2 or match.end() + 200 >= len(text))


def _fence_openers(text: str) -> Iterator[_Opener]:
    for match in _OPEN_FENCE.finditer(text):
        yield _Opener(match.start("run"), match.end() + 1, run=match["run"], label=_label(match["info"]))
    for match in _FENCE_AFTER_PROSE.finditer(text):
        label = _label(match["info"])
        if _is_python(label) and _LABEL_ALONE.match(match["info"]):
            yield _Opener(match.start("run"), match.end() + 1, run=match["run"], label=label)


def _call_of_sql(content: str) -> str:
    """Return the step that runs an SQL block, without the fence that some put around the query; empty for no query."""
    if fence := _SQL_FENCE.match(content):
        content = _cut_run(content[fence.end() :], fence[1][0])
    query = clean(content)
    if not query:
        return ""
    if "\\" in query or '"""' in query or query.endswith('"') or "\0" in query:
        return f"sql({query!r})"
    return f'sql("""{query}""")'


def _label(info: str) -> str:
    match = _LABEL.search(info)
    return match.group().lower() if match else ""


def _is_python(label: str) -> bool:
    return label.startswith("python") or label in _PYTHON_LABELS


def _cut_run(content: str, character: str) -> str:
    """Return the content without a run of three or more fence characters at its end (`print(1)```` on one line)."""
    stripped = content.rstrip()
    bare = stripped.rstrip(character)
    return bare if len(stripped) - len(bare) >= 3 else content
