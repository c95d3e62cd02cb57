"""fastmcp's own server and client, in code mode over our sandbox."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed")
code_mode = pytest.importorskip("fastmcp.experimental.transforms.code_mode", reason="this fastmcp has no code mode")

from fastmcp.exceptions import ToolError  # noqa: E402

from safeexec.adapters.fastmcp import SafeProvider  # noqa: E402


async def execute(*sources: str) -> list[Any]:
    server = fastmcp.FastMCP("s", transforms=[code_mode.CodeMode(sandbox_provider=SafeProvider("standard"))])

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    answers: list[Any] = []
    async with fastmcp.Client(server) as client:
        for source in sources:
            try:
                answers.append((await client.call_tool("execute", {"code": source})).content[0].text)
            except ToolError as error:
                answers.append(error)
    return answers


def test_a_program_calls_tools_returns_and_keeps_its_texts() -> None:
    returned, printed, both = asyncio.run(
        execute(
            'total = await call_tool("add", {"a": 1, "b": 2})\ntext = """x\n  y"""\nreturn [total, text]',
            "print('seen')",
            'import asyncio\nreturn await asyncio.gather(*(call_tool("add", {"a": n, "b": n}) for n in range(2)))',
        )
    )
    assert returned == '[{"result":3},"x\\n  y"]'
    assert printed == "seen\n"
    assert both == '[{"result":0},{"result":2}]'


def test_what_goes_wrong_is_told_with_its_line_and_inputs_are_variables() -> None:
    unclosed, refused, wrong, endless = asyncio.run(
        execute("x = 1\nprint(1", "import subprocess", 'return await call_tool("add", {"a": "x"})', "while True: pass")
    )
    assert str(unclosed).startswith("line 2: SyntaxError")
    assert "import of 'subprocess' is refused" in str(refused)
    assert "Valid parameters for add" in str(wrong)
    assert str(endless).startswith("line 1: TimeoutError")
    assert asyncio.run(SafeProvider("standard").run("return x + 1", inputs={"x": 41})) == 42
