"""Find the program in a model's reply: `extract(reply)` returns code, an answer, or neither.

    tags       <execute_python>…</execute_python>, <execute_sql>…, <code>…</code>, also HTML-escaped
    fences     ```python (py, ipython, pycon …), ```sql where there are tables, then unlabelled ones that look like code
    raw code   a reply without any markup that is a program

Tags win over Python fences, those over SQL, these over unlabelled ones; all blocks of the winning kind are joined.
`<think>` is removed first.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from json import JSONDecoder
from keyword import iskeyword
from typing import Any, Literal

from safeexec.agent.blocks import Block, read_blocks
from safeexec.agent.snippets import Parser, clean
from safeexec.untrusted.json_text import loads

Kind = Literal["code", "answer", "none"]

_BARE = "code without markup"
_CALL = "a tool call or JSON printed as text"
_BROKEN = "what reads like code, but without markup and not valid Python"
_WINNING = (("tag", "tag"), ("python", "Python fence"), ("sql", "SQL fence"), ("plain", "unlabelled fence"))
_INVISIBLE = dict.fromkeys((0x200B, 0x2060, 0xFEFF))
_OPEN_THINKING = re.compile(r"[ \t]*+<(think|thinking)>", re.IGNORECASE)
_OPEN_THINKING_LINE = re.compile(r"^[ \t]*+<(think|thinking)>", re.IGNORECASE | re.MULTILINE)
_CLOSE_THINKING = {name: re.compile(f"</{name}>", re.IGNORECASE) for name in ("think", "thinking")}
_THINKING_TAG = re.compile(r"<(?P<slash>/?)(?P<name>think|thinking)>", re.IGNORECASE)
_STATEMENT = re.compile(
    r"import\s+[A-Za-z_]"
    r"|from\s+[\w.]+\s+import\b"
    r"|(?:async\s+)?(?:def|class|if|elif|else|for|while|try|except|finally|with|match|case)\b.*:(?:\s*\#.*)?$"
    r"|return\b"
    r"|[A-Za-z_]\w*\s*(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)"
    r"|[A-Za-z_][\w.]*\("
)
_TOOL_MARK = re.compile(r"\s*(?:\[TOOL_CALLS\]|<tool_call>)\s*", re.IGNORECASE)
_TOOL_MARK_END = "</tool_call>"
_REST_OF_LINE = re.compile(r"[^\S\n]*+(?:\n|\Z)")
_JSON_START = re.compile(
    r"^[ \t]*(?:\[TOOL_CALLS\][ \t]*|<tool_call>[ \t]*)?(?=\{\s*+\"|\[)", re.MULTILINE | re.IGNORECASE
)
_DECODER = JSONDecoder(parse_int=str, parse_float=str)  # str: no quadratic conversion of endless digits
_NAME_KEYS = ("name", "function", "tool", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "input", "args", "action_input")
_ARGUMENTS_MARK = "[ARGS]"
"""The mark of Mistral's own notation: ``weather[ARGS]{"city": "Rome"}``."""
_FENCE = "```"
_OTHER_TAG = re.compile(r"<execute_(?P<language>[a-z]{1,20})>.*</execute_(?P=language)>", re.DOTALL)
"""A reply that is one block of a language for which there is no tag, as `<execute_bash>`."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """The content of a reply. `code` is set for kind `code` alone; `found` says in words what the reply was made of."""

    kind: Kind
    code: str | None = None
    text: str = ""
    """The reply without its thinking."""
    found: str = ""

    @property
    def bare(self) -> bool:
        """Return True if the code came without tags or fences."""
        return self.kind == "code" and self.found == _BARE

    @property
    def unmarked(self) -> bool:
        """Return True if the reply has text and no block."""
        return self.found in (_BARE, _CALL, _BROKEN)


def extract(reply: str, *, sql: bool = False) -> Extraction:
    """Find the program in `reply`, or tell an answer to the user from nothing of use; with `sql` a fence of SQL is part
    of the program. Never raises for any string.
    """
    text = without_thinking(reply)
    parser = Parser(len(text))
    blocks = read_blocks(text, parser, sql=sql)
    code, found = _winning_blocks(blocks, parser)
    if code:
        return Extraction("code", code, text, found)
    if not text.strip():
        return Extraction("none", None, text, "nothing but white space")
    if _is_printed_tool_call(text):
        return Extraction("none", None, text, _CALL)
    if not blocks and (other := _OTHER_TAG.fullmatch(text.strip())):
        return Extraction("none", None, text, _of_another_language([other["language"]]))
    if not blocks:
        return _without_markup(text, parser)
    ends = [0, *(block.end for block in blocks)]
    starts = [*(block.start for block in blocks), len(text)]
    if any(text[end:start].strip() for end, start in zip(ends, starts, strict=True)):
        return Extraction("answer", None, text, "prose")
    return Extraction("none", None, text, _describe_unused(blocks))


def without_thinking(reply: str) -> str:
    """Return the reply as it is read: line ends are LF, invisible marks and thinking are gone."""
    text = reply.translate(_INVISIBLE).replace("\r\n", "\n").replace("\r", "\n")
    kept: list[str] = []
    position = 0
    while opener := _OPEN_THINKING_LINE.search(text, position):
        kept.append(text[position : opener.start()])
        while opener:  # another one right behind the closing tag is still the first thing on its line
            closer = _CLOSE_THINKING[opener[1].lower()].search(text, opener.end())
            position = closer.end() if closer else len(text)
            opener = _OPEN_THINKING.match(text, position)
    kept.append(text[position:])
    return _drop_before_orphan("".join(kept))


def _drop_before_orphan(text: str) -> str:
    """Drop what stands before a lone closing tag at the end of a line: chat templates often supply `<think>`."""
    opened = {"think": 0, "thinking": 0}
    start = 0
    for tag in _THINKING_TAG.finditer(text):
        name = tag["name"].lower()
        if not tag["slash"]:
            opened[name] += 1
        elif opened[name]:
            opened[name] -= 1
        elif _REST_OF_LINE.match(text, tag.end()):
            start = tag.end()
    return text[start:]


def _winning_blocks(blocks: list[Block], parser: Parser) -> tuple[str, str]:
    for kind, noun in _WINNING:
        chosen = [block for block in blocks if block.kind == kind and block.code]
        if kind == "plain":
            chosen = [block for block in chosen if parser.looks_like_code(block.code)]
        if chosen:
            steps = [*(block.shown for block in chosen[:-1]), chosen[-1].code]
            return "\n\n".join(steps), f"{len(chosen)} {noun}{'s' if len(chosen) > 1 else ''}"
    return "", ""


def _without_markup(text: str, parser: Parser) -> Extraction:
    code = clean(text)
    if parser.looks_like_code(code):
        return Extraction("code", code, text, _BARE)
    lines = [line.strip() for line in code.split("\n") if line.strip()]
    reads_like_code = 2 * sum(1 for line in lines if _STATEMENT.match(line)) > len(lines)
    if reads_like_code and not parser.parses(code):
        return Extraction("none", None, text, _BROKEN)
    return Extraction("answer", None, text, "prose")


def _describe_unused(blocks: list[Block]) -> str:
    labels = sorted({block.label for block in blocks if block.kind == "other"})
    if labels:
        return _of_another_language(labels)
    return "empty blocks" if not any(block.code for block in blocks) else "an unlabelled block that is not Python"


def _of_another_language(labels: list[str]) -> str:
    return "blocks of another language (" + ", ".join(labels[:5]) + ")"


def _without_marks(text: str) -> str:
    """Return the text without the marks that models put around a call."""
    body = text.strip()
    if mark := _TOOL_MARK.match(body):
        body = body[mark.end() :].rstrip()
        if body[-len(_TOOL_MARK_END) :].lower() == _TOOL_MARK_END:
            body = body[: -len(_TOOL_MARK_END)]
    return body


def _is_printed_tool_call(text: str) -> bool:
    body = _without_marks(text)
    if _marked_name(body):
        return True
    if body[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            value = _DECODER.decode(body)
            if isinstance(value, dict) or (value and all(isinstance(item, dict) for item in value)):
                return True
    if not any(f'"{key}"' in text for key in _NAME_KEYS) or not any(f'"{key}"' in text for key in _ARGUMENT_KEYS):
        return False
    return _has_call_at_line_start(text)


def _has_call_at_line_start(text: str) -> bool:
    budget, position = 8 * len(text) + 4096, 0
    while budget > 0 and (start := _JSON_START.search(text, position)):
        try:
            value, end = _DECODER.raw_decode(text, start.end())
        except RecursionError:
            return False
        except ValueError as error:
            value, end = None, getattr(error, "pos", len(text))
            budget -= end // 64  # the error itself counts the lines before it
        budget -= end - start.end()
        position = start.end() + 1  # a call may stand inside another object, on a line of its own
        if any(_is_call(item) for item in (value if isinstance(value, list) else (value,))):
            return True
    return False


def _is_call(value: object) -> bool:
    return isinstance(value, dict) and all(any(key in value for key in keys) for keys in (_NAME_KEYS, _ARGUMENT_KEYS))


def printed_call(text: str) -> tuple[str, str] | None:
    """Return name and arguments of the one call that a reply prints as JSON; None where it prints none or several."""
    first, _, rest = text.strip().partition("\n")
    fenced = first.startswith(_FENCE) and rest.endswith(f"\n{_FENCE}")
    body = _without_marks(rest.removesuffix(_FENCE) if fenced else text)
    if name := _marked_name(body):
        return name, body.partition(_ARGUMENTS_MARK)[2]
    try:
        value = loads(body)
    except ValueError:
        return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    inner = value["function"] if isinstance(value, dict) and isinstance(value.get("function"), dict) else value
    if not isinstance(inner, dict) or not _is_call(inner):
        return None
    called = next((inner[key] for key in _NAME_KEYS if isinstance(inner.get(key), str)), None)
    arguments: Any = next((inner[key] for key in _ARGUMENT_KEYS if key in inner), {})
    return None if called is None else (called, arguments if isinstance(arguments, str) else json.dumps(arguments))


def _marked_name(body: str) -> str:
    """Return the name before ``[ARGS]{``; empty where the text does not begin with it."""
    name, mark, rest = body.partition(_ARGUMENTS_MARK)
    return name if mark and name.isidentifier() and rest.lstrip()[:1] == "{" else ""


def call_source(name: str, arguments: dict[str, Any]) -> str:
    """Return the call of a host's tool as a line of Python."""
    if all(key.isidentifier() and not iskeyword(key) for key in arguments):
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    return f"{name}(**{arguments!r})"
