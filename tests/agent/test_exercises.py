"""Whole exercises: a scripted server behind the real SDK, the real sandbox, the real loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from safeexec import AsyncSandbox, Sandbox
from safeexec.agent import CodeAgent, MistralModel
from safeexec.agent.analyst import DataAnalyst
from tests.agent.chat_server import Answer, ChatServer, Raw, Say, Status, chat_server, chunk

KEY = "sk-secret-9f8e7d"


def model_at(server: ChatServer) -> MistralModel:
    return server.model(api_key=KEY)


def code(source: str) -> Say:
    return Say(f"<execute_python>\n{source}\n</execute_python>")


def call(source: str) -> Say:
    return Say(calls=(("run_python", json.dumps({"code": source})),))


def test_an_unreliable_server_costs_attempts_and_no_steps() -> None:
    answers: list[Answer | Callable[[dict[str, object]], Answer]] = [
        Status(429, headers=(("retry-after-ms", "1"),)),
        code("x = 6"),
        Raw(chunk({"content": "<execute_python>\nx = 0"})),
        Status(502),
        code("final_answer(x * 7)"),
    ]
    with chat_server(*answers) as server:
        result = CodeAgent(model_at(server), "calculator").run("t")
    assert (result.answer, len(result.steps), result.usage.model_calls) == (42, 2, 2)
    assert len(server.requests) == 5


def test_awaiting_a_run_on_a_blocking_sandbox() -> None:
    with chat_server(code("x = 6"), code("final_answer(x * 7)")) as server, Sandbox("calculator") as sandbox:
        result = asyncio.run(CodeAgent(model_at(server), sandbox).run_async("t"))
    assert result.answer == 42


def test_many_runs_at_once_on_one_event_loop() -> None:
    async def work(server: ChatServer) -> list[object]:
        async with AsyncSandbox("calculator") as sandbox:
            agents = [CodeAgent(model_at(server), sandbox) for _ in range(4)]
            results = await asyncio.gather(*(agent.run_async("t") for agent in agents))
        alone = await CodeAgent(model_at(server), "calculator").run_async("t")
        return [result.answer for result in (*results, alone)]

    with chat_server(code("final_answer(6 * 7)")) as server:
        assert asyncio.run(work(server)) == [42] * 5


def test_the_key_is_nowhere_in_the_sandbox_the_transcript_or_the_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    look = "import os\nprint(dict(os.environ))\nprint(open('/proc/self/environ').read())"
    with chat_server(code(look), Say("Nothing.")) as server:
        path = tmp_path / "run.jsonl"
        model = server.model()
        CodeAgent(model, "confined-python", transcript=path).run("Find the key.")
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert KEY not in path.read_text() + json.dumps(server.requests)


def csv_file(path: Path) -> Path:
    rows = [f"{('north', 'south')[n % 2]},{n % 12 + 1},{n * 0.5 if n % 50 else ''}" for n in range(400)]
    path.write_text("region,month,amount\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.modules("pandas", "matplotlib")
def test_an_analysis_of_a_raw_csv_in_stages_with_a_plot(tmp_path: Path) -> None:
    stages = (
        code("import pandas as pd\ndf = pd.read_csv('sales.csv')\ndf.describe()"),
        code("df['amout'].describe()"),
        code("df = df.dropna(subset=['amount'])\nby_region = df.groupby('region')['amount'].sum()\nby_region"),
        code("import matplotlib.pyplot as plt\nby_region.plot.bar()\nplt.title('Amount by region')"),
        Say("South sold more. 8 rows without an amount were left out."),
    )
    with chat_server(*stages) as server:
        analysis = DataAnalyst(model_at(server), [csv_file(tmp_path / "sales.csv")]).run("Which region sold more?")
    first = server.requests[0]["messages"][1]["content"]
    assert "sales.csv: 400 rows, 3 columns" in first
    assert "amount: float64; 0.5 to 199.5; 8 missing" in first
    assert [step.result.outcome for step in analysis.run.steps] == ["ok", "error", "ok", "ok"]
    assert "'amount'" in analysis.run.steps[1].observation, "the hint names the column"
    assert len(analysis.pictures) == 1

    written = {path.name: path for path in analysis.write(tmp_path / "report")}
    assert set(written) == {"report.html"}
    assert 'src="data:image/png;base64,' in written["report.html"].read_text()
