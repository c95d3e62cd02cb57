"""The judge, as reward clients call it."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from safeexec import Result, SandboxError
from tests.servers.serving import Server, clients, needs_server, serving

pytestmark = needs_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--policy", "confined-python") as server:
        yield server


@pytest.fixture
def judge(server: Server) -> Iterator[Any]:
    with server.client() as client:

        def call(path: str, **body: Any) -> Any:
            answer = client.post(path, json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()

        yield call


PROGRAMS: dict[str, tuple[dict[str, Any], str, str, int | None, str]] = {
    "output": ({"code": "print('a'); 5"}, "Success", "Finished", 0, "a\n"),
    "input()": ({"code": "print(input())", "stdin": "1\n2\n"}, "Success", "Finished", 0, "1\n"),
    "sys.stdin": ({"code": "import sys; print(sys.stdin.read())", "stdin": "1\n2"}, "Success", "Finished", 0, "1\n2\n"),
    "exit 0": ({"code": "import sys; print('x'); sys.exit(0)"}, "Success", "Finished", 0, "x\n"),
    "exit 3": ({"code": "import sys; print('x'); sys.exit(3)"}, "Failed", "Finished", 3, "x\n"),
    "an exception": ({"code": "print('x'); 1/0"}, "Failed", "Finished", 1, "x\n"),
    "no input": ({"code": "input()"}, "Failed", "Finished", 1, ""),
    "a syntax error": ({"code": "def f(:"}, "Failed", "Finished", 1, ""),
    "a timeout": ({"code": "while True: pass", "run_timeout": 0.3}, "Failed", "TimeLimitExceeded", None, ""),
    "too much memory": ({"code": "x = 'x' * (900 << 20)", "memory_limit_MB": 100}, "Failed", "Finished", 1, ""),
    "a crash": ({"code": "import os; os._exit(3)"}, "Failed", "Finished", 1, ""),
    "it is the main program": ({"code": "print(__name__)"}, "Success", "Finished", 0, "__main__\n"),
    "lone surrogates": ({"code": "print('\\ud800')"}, "Failed", "Finished", 1, ""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(judge: Any, name: str) -> None:
    body, status, ran, code, stdout = PROGRAMS[name]
    told = judge("/run_code", **body)
    result = told["run_result"]
    assert (told["status"], result["status"], result["return_code"], result["stdout"]) == (status, ran, code, stdout)
    assert told.keys() == {"status", "message", "compile_result", "run_result", "executor_pod_name", "files"}
    assert told["compile_result"] is None
    assert result["execution_time"] >= 0


def test_a_traceback_is_in_the_error_output(judge: Any) -> None:
    told = judge("/run_code", code="def f():\n    return 1 / 0\nf()")["run_result"]["stderr"]
    assert told.startswith("Traceback (most recent call last):")
    assert "ZeroDivisionError: division by zero\nhint: " in told
    assert "SyntaxError" in judge("/run_code", code="def f(:")["run_result"]["stderr"]


def test_programs_share_nothing(judge: Any) -> None:
    judge("/run_code", code="x = 1; open('left', 'w').write('x')")
    told = judge("/run_code", code="import os; print(os.listdir(), 'x' in globals())")
    assert told["run_result"]["stdout"] == "[] False\n"


def test_files_go_in_and_out(judge: Any) -> None:
    data = base64.b64encode(b"\x00\xff").decode()
    code = "open('out/b', 'wb').write(open('in/a', 'rb').read() * 2)"
    files = {"in/a": data, "out/empty": None}
    told = judge("/run_code", code=code, files=files, fetch_files=["out/b", "../x", "none"])
    assert told["files"] == {"out/b": base64.b64encode(b"\x00\xff\x00\xff").decode()}


def test_files_that_do_not_fit_into_the_answer_are_left_out(judge: Any) -> None:
    code = "open('a', 'wb').write(bytes(20 << 20)); open('b', 'w').write('b')"
    told = judge("/run_code", code=code, fetch_files=["a", "./a", "././a", "b"])
    assert told["status"] == "Success" and told["files"].keys() == {"a", "b"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/run_code", {"code": "1", "fetch_files": ["a"] * 1001}),
        ("/run_jupyter", {"cells": ["1"] * 1001}),
        ("/run_jupyter", {"cells": [], "fetch_files": ["a"] * 1001}),
        ("/execute_batch", {"scripts": ["1"] * 1001}),
        ("/execute_batch", {"scripts": ["1"], "languages": ["python"] * 1001}),
    ],
)
def test_there_are_a_thousand_of_anything_at_most(server: Server, path: str, body: dict[str, Any]) -> None:
    with server.client() as client:
        answer = client.post(path, json=body)
        assert (answer.status_code, answer.json()["type"]) == (422, "InvalidArguments")
        assert "length <= 1000" in answer.json()["message"]


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/../../b", "", ".", "a\0b"])
def test_no_file_leaves_the_workspace(server: Server, name: str) -> None:
    with server.client() as client:
        answer = client.post("/run_code", json={"code": "1", "files": {name: "YQ=="}})
        assert (answer.status_code, answer.json()["type"]) == (422, "WorkspaceError")


def test_another_language_is_named(judge: Any) -> None:
    told = judge("/run_code", code="int main() {}", language="cpp")
    assert (told["status"], told["run_result"]) == ("SandboxError", None)
    assert "cpp" in told["message"]
    assert "julia" in judge("/run_jupyter", cells=[], kernel="julia")["message"]


def test_files_that_do_not_fit_beside_the_cells_are_left_out(judge: Any) -> None:
    shows = "open('f', 'wb').write(bytes(24 << 20)); open('g', 'w').write('g')\n" + "print('x' * 60_000)"
    told = judge("/run_jupyter", cells=[shows, *["print('x' * 60_000)"] * 600], fetch_files=["f", "g"])
    assert told["status"] == "Success", told["message"]
    assert told["files"].keys() == {"g"}


def test_cells_share_a_session(judge: Any) -> None:
    told = judge(
        "/run_jupyter",
        cells=["x = 20", "print(x)\nx + 1", "1/0", "x + 2", "open('f', 'w').write('x'); None"],
        fetch_files=["f"],
    )
    assert (told["status"], told["driver"]["status"], told["files"]) == ("Success", "Finished", {"f": "eA=="})
    assert [cell["stdout"] for cell in told["cells"]] == ["", "20\n", "", "", ""]
    assert [cell["display"] for cell in told["cells"]] == [[], [{"text/plain": "21"}], [], [{"text/plain": "22"}], []]
    (error,) = told["cells"][2]["error"]
    assert (error["ename"], error["evalue"]) == ("ZeroDivisionError", "division by zero")


def test_a_cell_that_takes_too_long_ends_them_all(judge: Any) -> None:
    for limit in ("cell_timeout", "total_timeout"):
        told = judge("/run_jupyter", cells=["1", "while True: pass", "2"], **{limit: 0.5})
        assert (told["status"], told["driver"]["status"]) == ("Failed", "TimeLimitExceeded")
        assert len(told["cells"]) == 2


def test_a_batch(judge: Any) -> None:
    scripts = ["print('a')\n0.5", "1/0", "while True: pass", "x"]
    body = {"scripts": scripts, "languages": ["python", "python", "python", "r"], "timeout": 1, "request_timeout": 2}
    ran, failed, late, other = judge("/execute_batch", **body)
    assert ran["exception_str"] is None
    assert ran["execution"]["results"] == [{"is_main_result": True, "text": "0.5"}]
    assert ran["execution"]["logs"] == {"stdout": ["a\n"], "stderr": []}
    assert failed["execution"]["error"]["name"] == "ZeroDivisionError"
    assert late["execution"] is None
    assert "limit of 1 s" in late["exception_str"]
    assert "'r'" in other["exception_str"]


def directly(monkeypatch: pytest.MonkeyPatch, work: Callable[[Any, Any], Awaitable[Any]]) -> tuple[Any, list[Result]]:
    """What `work` gives with the judge and a tenant, and the results of the steps. An answer may have 20 kB."""
    judge = pytest.importorskip("safeexec.servers.http.judge")
    from safeexec.servers.http.grants import Grant
    from safeexec.servers.http.metrics import Metrics
    from safeexec.servers.http.tenancy import Tenant
    from safeexec.servers.service import Service

    monkeypatch.setattr(judge, "MAX_MESSAGE", 20_000)
    tenant = Tenant(Grant(token="a-token-of-many-letters"), Service("calculator", []), Metrics(lambda: 0, list))
    ran: list[Result] = []
    monkeypatch.setattr(tenant, "counted", lambda result: ran.append(result) or result)

    async def main() -> Any:
        try:
            return await work(judge, tenant)
        finally:
            await tenant.service.close()

    return asyncio.run(main()), ran


def test_cells_end_when_the_answer_can_hold_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cells(judge: Any, tenant: Any) -> Any:
        asked = judge.RunJupyter(["print('x' * 9000)"] * 2 + ["1"] + ["print('x' * 9000)"] * 20)
        with pytest.raises(SandboxError, match="the cells give more than 20000 bytes"):
            await judge._cells(tenant, asked)
        assert not tenant.sessions
        return await judge._cells(tenant, judge.RunJupyter(asked.cells[:3]))

    told, ran = directly(monkeypatch, cells)
    assert [len(cell["stdout"]) for cell in told["cells"]] == [9001, 9001, 0]
    assert len(ran) == 4 + 3


def test_all_cells_have_an_hour_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cells(judge: Any, tenant: Any) -> Any:
        monkeypatch.setattr(judge, "MAX_TOTAL_SECONDS", 0.3)
        return await judge._cells(tenant, judge.RunJupyter(["while True: pass", "1"], total_timeout=1e9))

    told, ran = directly(monkeypatch, cells)
    assert (told["driver"]["status"], len(told["cells"])) == ("TimeLimitExceeded", 1)
    assert "limit of 0.3 s" in ran[0].error.message


def test_a_script_whose_answer_does_not_fit_loses_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def executions(judge: Any, tenant: Any) -> Any:
        return await judge._executions(tenant, [(f"print('x' * {n})", "python") for n in (9000,) * 4 + (1,) * 4], 60)

    told, ran = directly(monkeypatch, executions)
    assert len(ran) == 8 and len(b"[" + b",".join(told) + b"]") <= 20_000
    read = [json.loads(one) for one in told]
    assert sorted(len(one["execution"]["logs"]["stdout"][0]) for one in read if one["execution"]) == [2] * 4 + [9001]
    assert {one["exception_str"] for one in read if not one["execution"]} == {
        "the scripts give more than 20000 bytes, the most that is sent"
    }


def test_a_client_that_leaves_stops_its_program(server: Server) -> None:
    with server.client() as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post("/run_code", json={"code": "while True: pass", "run_timeout": 60}, timeout=1)
        while 'safeexec_steps_total{outcome="cancelled"}' not in (told := client.get("/metrics").text):
            if "safeexec_sessions 0.0" in told:
                break
        assert "safeexec_sessions 0.0" in client.get("/metrics").text


VERL = """
import json, sys
from importlib.util import find_spec
from types import ModuleType
# The packages above it import torch and ray; the client itself needs requests alone.
for name, path in (("verl", ""), ("verl.utils", "/utils"), ("verl.utils.reward_score", "/utils/reward_score")):
    root = find_spec("verl").submodule_search_locations[0] if name == "verl" else root
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = [root + path]
from verl.utils.reward_score.sandbox_fusion import compute_score
url, cases = sys.argv[1], json.loads(sys.stdin.read())
told = []
for completion, tests, timeout in cases:
    score, metadata = compute_score(url, None, 1024, completion, tests, timeout=timeout)
    told.append([score, [row["status"] for row in metadata]])
print(json.dumps(told))
"""
CASES: list[tuple[Any, float, list[str]]] = [
    (
        ("```python\nprint(int(input()) * 2)\n```", {"inputs": ["1\n", "2\n"], "outputs": ["2", "5"]}, 5),
        0.5,
        ["success", "wrong_answer"],
    ),
    (
        (
            "```python\ndef add(a, b):\n    return a + b\n```",
            {"fn_name": "add", "inputs": ["1\n2", '"a"\n"b"'], "outputs": ["3", "ab"]},
            5,
        ),
        1.0,
        ["success", "success"],
    ),
    (("```python\nwhile True: pass\n```", {"inputs": [""], "outputs": [""]}, 1), 0.0, ["timeout"]),
    (("```python\n1/0\n```", {"inputs": [""], "outputs": [""]}, 5), 0.0, ["runtime_error"]),
]


def test_verls_own_client(server: Server, tmp_path: Path) -> None:
    """In the interpreter that `SAFEEXEC_TESTS_CLIENTS` names: verl and E2B's SDKs need libraries that ours exclude."""
    interpreter = clients()
    url = f"http://any:{server.token}@127.0.0.1:{server.port}/run_code"
    done = subprocess.run(
        [interpreter, "-c", VERL, url],
        input=json.dumps([case for case, _, _ in CASES]),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
        cwd=tmp_path,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [[score, told] for _, score, told in CASES]
