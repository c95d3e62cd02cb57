"""A `Result` as the text a model reads, and as the content blocks its API takes. Pure.

The wording is stable: programs and prompts may match on it, and the tests compare whole texts. What guest code wrote is
made printable, and what does not fit the budget is cut in its middle, with the number of characters that are missing;
where a step failed, the ends of its texts are favoured, because the reason stands there.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

from safeexec.common.text import estimate_tokens, head_and_tail, printable
from safeexec.results.outcomes import NEWEST_LEFT, STATES

if TYPE_CHECKING:
    from safeexec.results.outcomes import Display, ErrorInfo, FileChange, StepData

Prose = Literal["text", "markdown"]
Blocks = Literal["mistral", "openai", "anthropic", "mcp"]
FORMATS = (*get_args(Prose), *get_args(Blocks))

MIN_TOKENS = 100
MAX_IMAGES = 4
MAX_IMAGE_BYTES = 3_750_000
"""Five million characters of base64, which is what the strictest of the APIs takes for one picture."""
_FIXED_SHARE = 0.4
_NAMES = 30
_REMAINING = 20

_ENDS = {
    "error": "the code raised an exception",
    "rejected": "the policy refuses it, and no line of it ran",
    "violation": "it tried what the sandbox does not allow",
    "memory": "it needed more memory than allowed",
    "timeout": "it took more time than allowed",
    "cpu": "it took more CPU time than allowed",
    "output": "it wrote more output than allowed",
    "cancelled": "it was cancelled",
    "crashed": "its process died",
    "waiting": "a call of a tool was put off, and the step goes on when the answer is there",
}

_RESTORED = (
    "State: restored to what it was before this step; what this step did is lost, earlier variables are as they were"
)
_OLDER = (
    "State: restored to an older one than that before this step, for that one is gone; what was done since is lost."
)
_DIVERGED = "State: an older one; steps since then came out otherwise when they were repeated, and are lost"
_WAITS = "State: as it was before this step, which goes on from there; earlier variables are as they were"
_EMPTY = "State: lost; no variable of an earlier step exists any more."

_BACKTICKS = re.compile("`++")

Section = tuple[str, str, bool]
"""Label, text, and whether the text is a block of its own (code, output, a traceback)."""


def observe(result: StepData, max_tokens: int = 2000, format: Prose | Blocks = "text") -> str | list[dict[str, Any]]:
    """`result` within about `max_tokens` tokens (see `text.estimate_tokens`), pictures not counted.

    ``text`` and ``markdown`` give a str, the names of APIs a list of content blocks: one text, then up to four
    pictures. Raises ValueError for another format, or fewer than 100 tokens.
    """
    if format not in FORMATS:
        raise ValueError(f"no format {format!r}; there are {', '.join(FORMATS)}")
    if max_tokens < MIN_TOKENS:
        raise ValueError(f"max_tokens={max_tokens}: an observation needs at least {MIN_TOKENS}")
    text = _write(result, max_tokens, markdown=format != "text")
    if format in ("text", "markdown"):
        return text
    image_block = _IMAGE_BLOCKS[format]
    return [{"type": "text", "text": text}, *(image_block(mime, data) for mime, data in _pictures(result))]


# Text


def _write(result: StepData, max_tokens: int, *, markdown: bool) -> str:
    head, blocks, rest = _status(result), _blocks(result, markdown), _facts(result)
    fixed_room = int(max_tokens * _FIXED_SHARE) - estimate_tokens(head)
    if estimate_tokens("\n".join(rest)) > fixed_room:
        rest = _cut_facts(rest, fixed_room)
    room = max_tokens - estimate_tokens("\n".join((head, *rest)))
    while True:
        text = _assemble(head, blocks, rest, room, markdown=markdown, failed=not result.ok)
        over = estimate_tokens(text) - max_tokens
        if over <= 0:
            return text
        if room <= 0:
            return _fit(text, max_tokens, 0.5)
        room -= max(over, 4)


def _assemble(head: str, blocks: list[Section], rest: list[str], room: int, *, markdown: bool, failed: bool) -> str:
    """Return the whole text, with the long texts cut to `room` tokens in all; a failure's reason is served first."""
    first = {len(blocks) - 1} if failed and blocks else set()
    texts = _share([text for _, text, _ in blocks], room, first, tail=0.8 if failed else 0.5)
    parts = [head]
    for (label, _, block), text in zip(blocks, texts, strict=True):
        parts.append(_block(label, text, markdown) if block else f"{label}: {text}")
    return "\n".join([*parts, *rest])


def _status(result: StepData) -> str:
    step = f"Step {result.step}" if result.step else "Step"
    if result.ok:
        empty = not (result.stdout or result.stderr or result.text or result.displays)
        return f"{step}: ok." + (" It printed nothing and has no value." if empty else "")
    return f"{step}: {result.outcome}: {_ENDS[result.outcome]}."


def _blocks(result: StepData, markdown: bool) -> list[Section]:
    """Return the long texts, which share the budget: what was printed, shown, given back, and where it failed."""
    blocks: list[Section] = []
    if result.stdout:
        blocks.append(("Output", _guest(result.stdout), True))
    if result.stderr:
        blocks.append(("Error output", _guest(result.stderr), True))
    of_value, others = _split_displays(result)
    for number, display in enumerate(others, 1):
        blocks.append((f"Display {number}", *_display(display, markdown)))
    if of_value is not None and markdown and of_value.markdown:
        blocks.append(("Value", "\n" + _guest(of_value.markdown), False))
    elif result.text:
        text = _guest(result.text)
        blocks.append(("Value", text, "\n" in text))
    if result.error is not None:
        blocks += _error(result.error, result.outcome)
    return blocks


def _split_displays(result: StepData) -> tuple[Display | None, list[Display]]:
    """Return the display that shows the step's value, and those that show something else."""
    displays = list(result.displays)
    if displays and result.text and "image/png" not in displays[-1] and displays[-1].text == result.text:
        return displays.pop(), displays
    return None, displays


def _display(display: Display, markdown: bool) -> tuple[str, bool]:
    picture = describe_picture(display)
    if picture:
        return picture, False
    if markdown and display.markdown:
        return "\n" + _guest(display.markdown), False
    text = _guest(display.text or display.markdown or display.latex or "")
    if not text:
        return "data of type " + _said(", ".join(display)), False
    return text, "\n" in text


def describe_picture(display: Display) -> str:
    """``a picture (PNG, 640 x 480 pixels)``; empty where the display is no picture."""
    for mime, name in (("image/png", "PNG"), ("image/jpeg", "JPEG"), ("image/svg+xml", "SVG")):
        data = display.get(mime)
        if data:
            size = png_size(data) if isinstance(data, bytes) and mime == "image/png" else None
            return f"a picture ({name}, {size[0]} x {size[1]} pixels)" if size else f"a picture ({name})"
    return ""


def png_size(data: bytes) -> tuple[int, int] | None:
    """Width and height from the header of a PNG; None where the data is no PNG."""
    if len(data) < 24 or data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


_SYNTAX = ("SyntaxError: ", "IndentationError: ", "TabError: ")
"""Their messages say the place once more, which the lines above them have said."""


def _error(error: ErrorInfo, outcome: str) -> list[Section]:
    if outcome == "rejected":
        refused = error.diagnostics or (error,)
        return [("Refused", "\n".join(_diagnostic(entry) for entry in refused[:10]), True)]
    message = _guest(f"{error.type}: {error.message}" if error.message else error.type)
    traceback = _guest(error.traceback).rstrip()
    if not traceback:
        return [("Error", message, "\n" in message)]
    if message not in traceback and not traceback.rsplit("\n", 1)[-1].startswith(_SYNTAX):
        traceback = f"{traceback}\n{message}"
    return [("Error", traceback, True)]


def _diagnostic(entry: ErrorInfo) -> str:
    place = f"line {entry.line}: " if entry.line else ""
    rule = f" ({_said(entry.rule)})" if entry.rule else ""
    source = f"\n    {_guest(entry.source_line.strip())}" if entry.source_line.strip() else ""
    hint = f"\n    Instead: {_guest(entry.hint)}" if entry.hint else ""
    return f"{place}{_guest(entry.message)}{rule}{source}{hint}"


def _facts(result: StepData) -> list[str]:
    """Return the short lines at the end: hint, state, changes, files, what was cut."""
    facts = []
    error = result.error
    if error is not None and error.hint and result.outcome != "rejected":
        facts.append(f"Hint: {_said(error.hint)}")
    if error is not None and error.rule and result.outcome != "rejected":
        facts.append(f"Rule: {_said(error.rule)}")
    changes = _changes(result)
    if result.state != "kept":
        facts.append(_restored_to(result))
        if changes:
            facts.append(f"Lost: {changes}.")
    else:
        if result.outcome == "rejected":
            facts.append("State: unchanged.")
        elif not result.ok:
            facts.append("State: kept; what the step did before it ended is still there.")
        if changes:
            facts.append(f"Changes: {changes}.")
    if result.files:
        facts.append("Files: " + ", ".join(_file(entry) for entry in result.files[:_NAMES]) + ".")
    facts += [f"Refused, and caught by the code: {_said(entry.message)}" for entry in result.refusals[:5]]
    facts += [f"Note: {_said(note)}" for note in result.notes[:5]]
    if result.truncated:
        facts.append("Cut: parts of the output, the value or the displays were too large and were left out.")
    return facts


def _restored_to(result: StepData) -> str:
    if result.state == "lost":
        return _EMPTY
    if result.state != "diverged" and any(note.endswith(NEWEST_LEFT) for note in result.notes):
        return _OLDER
    restored = _WAITS if result.outcome == "waiting" else _RESTORED
    became, names = _DIVERGED if result.state == "diverged" else restored, result.remaining
    if not names:
        return f"{became}."
    more = f" and {len(names) - _REMAINING} more" if len(names) > _REMAINING else ""
    return f"{became}: {_said(', '.join(names[:_REMAINING]))}{more}."


def _changes(result: StepData) -> str:
    """``created df (DataFrame 891x12); changed x (int 3); deleted y``."""
    changes = result.changes
    kinds = []
    for word, names in (("created", changes.created), ("changed", changes.changed), ("deleted", changes.deleted)):
        if names:
            shown = [
                _name(name, changes.descriptions.get(name, "") if word != "deleted" else "") for name in names[:_NAMES]
            ]
            more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
            kinds.append(f"{word} {', '.join(shown)}{more}")
    return "; ".join(kinds)


def _name(name: str, description: str) -> str:
    description = _said(description)
    return f"{_said(name)} ({description})" if description else _said(name)


def _file(entry: FileChange) -> str:
    shown = "deleted" if entry.change == "deleted" else f"{entry.change}, {entry.size} bytes"
    return f"{_said(entry.name)} ({shown})"


_OURS = re.compile(
    r"^(?=[^\S\n]*+(?:Hint|Rule|State|Lost|Changes|Files|Note|Cut|Refused, and caught by the code|Step [0-9]++):)",
    re.MULTILINE,
)


def _guest(text: str) -> str:
    """Return what a guest has written. A line that would read as one of ours gets a mark."""
    return _OURS.sub("| ", printable(text))


def _said(text: str) -> str:
    """Return the parts that fit in one line."""
    return " ".join(printable(text).split("\n"))


def _block(label: str, text: str, markdown: bool) -> str:
    text = text.rstrip("\n")
    if not markdown:
        return f"{label}:\n{text}"
    # One longer than any in the text, found in one go.
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{label}:\n{fence}\n{text}\n{fence}"


# Budget


def _share(texts: list[str], tokens: int, first: set[int], *, tail: float) -> list[str]:
    """Return the texts cut to `tokens` in all: `first` ones get up to two thirds, short ones stay, the others share."""
    needs = [estimate_tokens(text) for text in texts]
    if sum(needs) <= tokens:
        return texts
    left, given = max(tokens, 0), {}
    for position in first:
        given[position] = min(needs[position], left * 2 // 3)
        left -= given[position]
    others = sorted((position for position in range(len(texts)) if position not in first), key=needs.__getitem__)
    for place, position in enumerate(others):
        given[position] = min(needs[position], left // (len(others) - place))
        left -= given[position]
    for position in first:
        given[position] = min(needs[position], given[position] + left)
    return [_fit(text, given[position], tail) for position, text in enumerate(texts)]


def _fit(text: str, tokens: int, tail: float) -> str:
    """Return `text` cut in its middle to `tokens`; where there is room for none of it, the number of its characters."""
    if estimate_tokens(text) <= tokens:
        return text
    room = len(text) * tokens // estimate_tokens(text)
    while room > 0:
        cut, _ = head_and_tail(text, room, tail=tail)
        if estimate_tokens(cut) <= tokens:
            return cut
        room = room * 7 // 8 - 4
    return f"({len(text)} characters left out)"


def _cut_facts(facts: list[str], tokens: int) -> list[str]:
    """Cut facts to the budget one by one: the first of them, hint and state, matter most."""
    kept = []
    for fact in facts:
        room = max(tokens // 2, min(tokens, 30))
        if room < 15:
            break
        line = _fit(fact, room, 0.0).replace("\n", " ")
        kept.append(line)
        tokens -= estimate_tokens(line) + 1
    return kept


# Content blocks


def _pictures(result: StepData) -> list[tuple[str, str]]:
    """MIME type and base64 of the last pictures that are not too large."""
    found = []
    for display in result.displays:
        for mime in ("image/png", "image/jpeg"):
            data = display.get(mime)
            if isinstance(data, bytes) and 0 < len(data) <= MAX_IMAGE_BYTES:
                found.append((mime, data))
                break
    return [(mime, base64.b64encode(data).decode("ascii")) for mime, data in found[-MAX_IMAGES:]]


_IMAGE_BLOCKS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "mistral": lambda mime, data: {"type": "image_url", "image_url": f"data:{mime};base64,{data}"},
    "openai": lambda mime, data: {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}},
    "anthropic": lambda mime, data: {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}},
    "mcp": lambda mime, data: {"type": "image", "data": data, "mimeType": mime},
}


def failure(result: StepData) -> list[str]:
    """Return why a step failed, in lines: the place, what happened, the rule, the hint, the state, the notes."""
    if result.error is None:
        return []
    lines = failure_of(result.error)
    if result.state != "kept":
        lines.append(f"state: {STATES[result.state]}")
    return lines + [f"note: {printable(note)}" for note in result.notes]


def failure_text(error: ErrorInfo | None) -> str:
    """Return `failure_of` as a text of whole lines; nothing where there is no error."""
    return "" if error is None else "\n".join([*failure_of(error), ""])


def failure_of(error: ErrorInfo) -> list[str]:
    """Return an error, or each refusal of a rejected step, in lines: the place, what happened, the rule, the hint."""
    lines: list[str] = []
    for entry in error.diagnostics or (error,):
        head = printable(f"{entry.type}: {entry.message}" if entry.message else entry.type)
        traceback = printable(entry.traceback).rstrip()
        shown, _, last = traceback.rpartition("\n")
        if not traceback or not (traceback.endswith(head) or head.startswith(last)):
            place = f"line {entry.line}: " if entry.line is not None else ""
            texts = [place + head, traceback] if entry.rule else [traceback, head]
        elif traceback.endswith(head) or head.startswith(f"{last} (<"):  # a SyntaxError, whose place stands above
            texts = [traceback]
        else:
            texts = [shown, head]
        texts += [f"{name}: {printable(text)}" for name, text in (("rule", entry.rule), ("hint", entry.hint)) if text]
        lines += [line for text in texts if text for line in text.split("\n")]
    return lines
