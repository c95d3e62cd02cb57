"""What a model reads of a result: whole texts, content blocks, and the budget."""

from __future__ import annotations

import base64
import random
import zlib
from typing import Any

import pytest
from msgspec.structs import replace

from safeexec.common.text import estimate_tokens
from safeexec.results import Changes, Display, ErrorInfo, FileChange, Result
from safeexec.results.observation import MIN_TOKENS
from tests.untrusted.doubling import SLACK, growth


def png(width: int, height: int) -> bytes:
    header = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes((8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4, "big") + header + zlib.crc32(header).to_bytes(4, "big")


PICTURE = Display({"image/png": png(640, 480), "text/plain": b"<Figure size 640x480 with 1 Axes>"})
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "<step 4>", line 2, in <module>\n'
    "    math.squrt(2)\n"
    "    ^^^^^^^^^^\n"
    "AttributeError: module 'math' has no attribute 'squrt'\n"
)


def text(result: Result, **options: Any) -> str:
    found = result.observation(**options)
    assert isinstance(found, str)
    return found


ERROR = ErrorInfo("AttributeError", "module 'math' has no attribute 'squrt'", line=2, traceback=TRACEBACK)
REFUSED = ErrorInfo(
    *("PolicyViolation", "import os is refused"), line=1, source_line="import os", rule="calculator.yaml:12",
    hint="read files with the tool load().",
)  # fmt: skip
STOPPED = Result(
    "timeout",
    step=2,
    state="restored",
    error=ErrorInfo("TimeoutError", "5 s have passed; it was at line 7", hint="Do less per step."),
)
WHOLE = {
    "it did everything": (
        Result(
            "ok",
            value=5,
            text="5",
            stdout="one\n\x1b[31mtwo\x1b[0m\n",
            stderr="a warning\n",
            step=3,
            changes=Changes(("df",), ("x",), ("y",), {"df": "DataFrame 891x12", "x": "int 5"}),
            displays=(PICTURE, Display({"text/html": b"<b>hi</b>", "text/plain": b"hi"})),
            files=(FileChange("out.csv", "created", 120, "text/csv"), FileChange("old.csv", "deleted")),
            truncated=True,
            notes=("a generator could not be kept",),
        ),
        "Step 3: ok.\n"
        "Output:\n"
        "one\n"
        "two\n"
        "Error output:\n"
        "a warning\n"
        "Display 1: a picture (PNG, 640 x 480 pixels)\n"
        "Display 2: hi\n"
        "Value: 5\n"
        "Changes: created df (DataFrame 891x12); changed x (int 5); deleted y.\n"
        "Files: out.csv (created, 120 bytes), old.csv (deleted).\n"
        "Note: a generator could not be kept\n"
        "Cut: parts of the output, the value or the displays were too large and were left out.",
    ),
    "it left no trace": (Result("ok", step=1), "Step 1: ok. It printed nothing and has no value."),
    "it failed, with a hint": (
        Result(
            "error",
            stdout="start\n",
            step=4,
            error=replace(ERROR, hint="Use math.sqrt."),
            changes=Changes(("a",), descriptions={"a": "int 1"}),
        ),
        "Step 4: error: the code raised an exception.\n"
        "Output:\n"
        "start\n"
        "Error:\n"
        f"{TRACEBACK}"
        "Hint: Use math.sqrt.\n"
        "State: kept; what the step did before it ended is still there.\n"
        "Changes: created a (int 1).",
    ),
    "it was rejected": (
        Result(
            "rejected",
            step=2,
            error=replace(REFUSED, diagnostics=(REFUSED, ErrorInfo("PolicyViolation", "eval is refused", line=3))),
        ),
        "Step 2: rejected: the policy refuses it, and no line of it ran.\n"
        "Refused:\n"
        "line 1: import os is refused (calculator.yaml:12)\n"
        "    import os\n"
        "    Instead: read files with the tool load().\n"
        "line 3: eval is refused\n"
        "State: unchanged.",
    ),
    "it was stopped": (
        STOPPED,
        "Step 2: timeout: it took more time than allowed.\n"
        "Error: TimeoutError: 5 s have passed; it was at line 7\n"
        "Hint: Do less per step.\n"
        "State: restored to what it was before this step; what this step did is lost, "
        "earlier variables are as they were.",
    ),
    "it left nothing to go back to": (
        Result(
            "crashed",
            step=2,
            state="lost",
            error=ErrorInfo("StepKilled", "signal 11"),
            notes=("no checkpoint was left: the session starts empty",),
        ),
        "Step 2: crashed: its process died.\n"
        "Error: StepKilled: signal 11\n"
        "State: lost; no variable of an earlier step exists any more.\n"
        "Note: no checkpoint was left: the session starts empty",
    ),
}


@pytest.mark.parametrize(("result", "told"), WHOLE.values(), ids=WHOLE)
def test_what_is_told_of_a_step(result: Result, told: str) -> None:
    assert text(result) == told


def test_a_restored_state_names_its_variables() -> None:
    names = tuple(f"x{number}" for number in range(23))
    assert "earlier variables are as they were: x0.\n" in f"{text(replace(STOPPED, remaining=names[:1]))}\n"
    assert text(replace(STOPPED, remaining=names)).endswith(", x18, x19 and 3 more.")


def test_markdown_fences_hold_what_they_hold() -> None:
    table = "|  | a |\n| --- | ---: |\n| 0 | 1 |"
    shown = Display({"text/markdown": table.encode(), "text/html": b"<table>", "text/plain": b"   a\n0  1"})
    result = Result("ok", stdout="```\ncode\n```\n", text="   a\n0  1", displays=(shown,), step=1)
    assert text(result, format="markdown") == (f"Step 1: ok.\nOutput:\n````\n```\ncode\n```\n````\nValue: \n{table}")
    assert text(result) == "Step 1: ok.\nOutput:\n```\ncode\n```\nValue:\n   a\n0  1"


@pytest.mark.parametrize(
    ("format", "image"),
    [
        ("mistral", {"type": "image_url", "image_url": "data:image/png;base64,DATA"}),
        ("openai", {"type": "image_url", "image_url": {"url": "data:image/png;base64,DATA"}}),
        ("anthropic", {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "DATA"}}),
        ("mcp", {"type": "image", "data": "DATA", "mimeType": "image/png"}),
    ],
)
def test_content_blocks(format: Any, image: dict[str, Any]) -> None:
    data = base64.b64encode(png(640, 480)).decode()
    blocks = Result("ok", step=1, displays=(PICTURE,)).observation(format=format)
    told = "Step 1: ok.\nDisplay 1: a picture (PNG, 640 x 480 pixels)"
    assert [str(block).replace(data, "DATA") for block in blocks] == [str({"type": "text", "text": told}), str(image)]


def test_at_most_four_pictures_travel_and_none_that_is_too_large() -> None:
    huge = Display({"image/png": png(9000, 9000) + bytes(4_000_000)})
    blocks = Result("ok", displays=(huge, *[PICTURE] * 6)).observation(format="mcp")
    assert len(blocks) == 5


def test_the_end_is_favoured_where_a_step_failed_and_left_out_characters_are_counted() -> None:
    lines = "".join(f"line {number}\n" for number in range(5000))
    failed = text(Result("error", stdout=lines, step=1, error=replace(ERROR, hint="Use math.sqrt.")), max_tokens=300)
    assert TRACEBACK in failed and "Hint: Use math.sqrt." in failed and "line 4999" in failed
    good = text(Result("ok", stdout=lines, step=1), max_tokens=300)
    before, _, after = good.partition("characters left out")
    assert abs(len(before) - len(after)) < len(good) / 4
    kept = good.removeprefix("Step 1: ok.\nOutput:\n")
    before, middle, after = kept.partition("... ")[0], kept.partition("... ")[2], kept.rpartition(" ...\n")[2]
    left_out = int(middle.split(" ", 1)[0])
    assert len(before) + left_out + len(after) + len("\n") == len(lines)


@pytest.mark.parametrize("seed", range(8))
def test_the_budget_holds_whatever_the_result(seed: int) -> None:
    random_ = random.Random(seed)

    def some() -> str:
        return "".join(random_.choices("ab \n`é漢\x1b\ud800", k=random_.choice([0, 10, 1000, 20_000])))

    result = Result(
        random_.choice(["ok", "error", "rejected", "timeout"]),
        text=some(),
        stdout=some(),
        stderr=some(),
        error=ErrorInfo("E", some(), traceback=some(), hint=some()),
        changes=Changes(tuple(some() for _ in range(9)), descriptions={"a": some()}),
        notes=(some(), some()),
        displays=(Display({"text/plain": some().encode("utf-8", "surrogatepass")}),) * random_.choice([0, 1, 30]),
    )
    for budget in (MIN_TOKENS, 250, 2000):
        for format in ("text", "markdown"):
            shown = text(result, max_tokens=budget, format=format)
            assert estimate_tokens(shown) <= budget
            assert "\x1b" not in shown
            shown.encode()


def test_a_format_or_a_budget_that_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="no format 'html'; there are text, markdown, mistral"):
        Result("ok").observation(format="html")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_tokens=5"):
        Result("ok").observation(max_tokens=5)


DRAWN = Result(outcome="ok", stdout="drawn\n", displays=(PICTURE,))


def test_content_blocks_are_what_the_sdk_of_mistral_takes() -> None:
    models = pytest.importorskip("mistralai.client").models
    blocks = DRAWN.observation(format="mistral")
    for message in (
        models.UserMessage.model_validate({"role": "user", "content": blocks}),
        models.ToolMessage.model_validate({"role": "tool", "content": blocks, "tool_call_id": "a"}),
    ):
        assert [type(chunk).__name__ for chunk in message.content] == ["TextChunk", "ImageURLChunk"]


@pytest.mark.parametrize(
    ("format", "module", "name", "message"),
    [
        ("openai", "openai.types.chat", "ChatCompletionUserMessageParam", {"role": "user"}),
        ("anthropic", "anthropic.types", "MessageParam", {"role": "user"}),
        ("anthropic", "anthropic.types", "ToolResultBlockParam", {"type": "tool_result", "tool_use_id": "a"}),
        ("mcp", "mcp.types", "CallToolResult", {}),
    ],
)
def test_content_blocks_are_what_the_types_of_an_sdk_say(
    format: str, module: str, name: str, message: dict[str, str]
) -> None:
    types = pytest.importorskip(module)
    adapter = pytest.importorskip("pydantic").TypeAdapter(getattr(types, name))
    content = DRAWN.observation(format=format)  # type: ignore[arg-type]
    adapter.validate_python({**message, "content": content})


@pytest.mark.parametrize("part", ["\x90", "\r", "`", "`\n", "\n", "\u6f22", "\x1b]", "\ud800", "a\u6f22"])
@pytest.mark.parametrize("format", ["text", "markdown"])
def test_the_work_of_an_observation_grows_no_faster_than_what_was_printed(part: str, format: Any) -> None:
    def observe(text: str) -> object:
        error = ErrorInfo("E", text[:20_000], traceback=text)
        return Result("error", stdout=text, stderr=text[::-1], text=text, error=error).observation(2000, format)

    assert growth(observe, lambda n: part * (n // len(part)), small=1 << 13, large=1 << 16) < SLACK
