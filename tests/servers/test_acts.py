"""The methods of the table: each does what the sandbox or session has under that name, and a wrong call is told."""

from __future__ import annotations

import base64
import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from safeexec import AsyncSession, Later, Policy, Result, __version__
from safeexec.remote.methods import EVERY, METHOD, METHODS, OURS, PARAMETERS
from safeexec.servers.service import Service
from safeexec.servers.wire import CallProblem, encode
from tests.servers.calling import call, opened, problem

ABC = {"type": "bytes", "base64": "YWJj"}
CONFINED = {"policy": "confined-python"}


# Every method, in a story of one client


class Client:
    """Calls methods by their names. Every answer must have the shape that its row says. `asked`: what was called."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.asked: set[str] = set()

    async def ask(self, name: str, /, **parameters: Any) -> Any:
        self.asked.add(name)
        answer = json.loads(encode(await call(self._service, name, parameters)))
        if EVERY[name].answer is not Result:
            msgspec.convert(answer, EVERY[name].answer)
        return answer

    async def refused(self, name: str, /, **parameters: Any) -> CallProblem:
        self.asked.add(name)
        return await problem(self._service, name, parameters)

    async def session(self, **more: Any) -> dict[str, str]:
        """Where a new session is: the parameter that names it in every call."""
        opened: dict[str, str] = await self.ask("sandbox.session", **more, **CONFINED)
        return opened


async def programs(client: Client) -> None:
    ran = await client.ask("sandbox.run", source="print(input())", stdin="hi", **CONFINED)
    assert ran["stdout"] == "hi\n"
    assert (await client.ask("sandbox.check", source="import os"))["outcome"] == "rejected"
    assert (await client.ask("sandbox.policy"))["policy"]["name"] == "calculator"
    assert any(row["active"] for row in (await client.ask("sandbox.protection"))["protection"])


STEPS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("run", {"source": "x = open('b.bin', 'rb').read(); x"}, {"value": ABC}),
    ("list_files", {}, {"files": ["a.txt", "b.bin"]}),
    ("write_file", {"name": "c", "data": ABC}, {}),
    ("read_file", {"name": "c"}, {"data": ABC}),
    ("get", {"name": "x"}, {"found": True, "value": ABC}),
    ("set", {"name": "y", "value": [ABC]}, {}),
    ("run", {"source": "y"}, {"text": "[b'abc']"}),
    ("names", {}, {"names": ["x", "y"]}),
    ("checkpoint", {"name": "here"}, {}),
    ("remove", {"name": "y"}, {}),
    ("names", {}, {"names": ["x"]}),
    ("rollback", {"name": "here"}, {"tool_calls": []}),
    ("names", {}, {"names": ["x", "y"]}),
    ("cancel", {}, {"cancelled": False}),
    ("reply", {"call": 1, "outcome": "ok"}, {"taken": False}),
]
"""What is called in one session, in this order, with which parameters: what is in the answer."""


async def one_session(client: Client) -> None:
    at = await client.session(memory_mb=128, files={"a.txt": "a", "b.bin": ABC})
    for verb, parameters, told in STEPS:
        answer = await client.ask(f"session.{verb}", **parameters, **at)
        assert answer == (answer | told if verb == "run" else told), verb
    assert [row["type"] for row in (await client.ask("session.variables", **at))["variables"]] == ["bytes", "list"]
    assert "here" in [row["name"] for row in (await client.ask("session.checkpoints", **at))["checkpoints"]]
    assert await client.ask("session.drop", name="here", **at) == {}
    assert (await client.ask("session.policy", **at))["policy"]["limits"]["memory_mb"] == 128
    assert any(row["active"] for row in (await client.ask("session.protection", **at))["protection"])
    assert "confined-python" in (await client.ask("session.card", **at))["card"]
    queried = await client.ask("session.sql", query="select 1 as one", **at)
    assert queried["outcome"] in ("ok", "error")  # duckdb or not
    for branch in (await client.ask("session.branch", n=2, **at))["sessions"]:
        assert await client.ask("session.close", session=branch) == {}
    saved = await client.ask("session.save", **at)
    again = await client.ask("sandbox.restore", state=saved["state"], **CONFINED)
    assert (await client.ask("session.get", name="y", **again))["value"] == [ABC]


def pay(amount: int, to: str = "") -> Any:
    return f"{amount} to {to}" if amount else Later("closed")


async def a_step_that_waits(client: Client) -> None:
    at = await client.session()
    step = await client.ask("session.run", source="pay(3, to='Bob')", **at)
    assert (step["outcome"], step["waiting_for"]["arguments"]) == ("waiting", {"amount": 3, "to": "Bob"})
    assert (await client.ask("session.waiting_for", **at))["waiting_for"]["note"] == "ask"
    (waits,) = (await client.ask("sandbox.waiting", **CONFINED))["waiting"]
    assert {"session": waits["session"]} == at
    allowed = await client.ask("session.answer", allow=True, arguments={"to": "Eve"}, **at)
    assert allowed["value"] == "3 to Eve"
    await client.ask("session.run", source="pay(4)", **at)
    denied = await client.ask("session.answer", allow=False, reason="no", **at)
    assert denied["error"]["message"] == "pay(): no"
    await client.ask("session.run", source="pay(0)", **at)
    assert (await client.ask("session.answer", value=[ABC], **at))["value"] == [ABC]
    await client.ask("session.run", source="pay(5)", **at)
    assert (await client.refused("session.run", source="1", **at)).type == "StepWaiting"
    for answers in ({"allow": True, "value": 1}, {}):  # it is one of the two
        assert (await client.refused("session.answer", **answers, **at)).code == PARAMETERS
    assert await client.ask("session.cancel_waiting", **at) == {"tool_calls": []}


async def templates_and_labels(client: Client) -> None:
    made = await client.ask("sandbox.template", name="warm", prepare="z = 1", **CONFINED)
    (row,) = (await client.ask("sandbox.templates", **CONFINED))["templates"]
    measured = {key: row[key] for key in ("age", "memory_mb")}  # anew for each answer
    assert row == made["template"] | measured
    warm = await client.ask("sandbox.session_for", label="ada", template="warm", **CONFINED)
    assert await client.ask("sandbox.session_for", label="ada", new=False, **CONFINED) == warm
    assert await client.ask("session.get", name="z", **warm) == {"found": True, "value": 1}
    labels = (await client.ask("sandbox.stats", **CONFINED))["labels"]
    assert [label for label, _ in labels if label] == ["ada"]
    assert await client.ask("sandbox.drop_template", name="warm", **CONFINED) == {}


async def what_a_client_brings(client: Client) -> None:
    shape = {"name": "price", "parameters": [["item", "either", "str", ""]]}
    assert "with tools" in (await client.ask("sandbox.tools", tools=[shape], **CONFINED))["policy"]
    own = {"name": "mine", "yaml": "extends: calculator", "origins": {}}
    brought = await client.ask("sandbox.bring", version=__version__, brought=own)
    assert brought["version"] == __version__
    assert (await client.ask("sandbox.policy", policy=brought["policy"]))["policy"]["name"] == "mine"
    assert await client.ask("sandbox.drop", policy=brought["policy"]) == {}


async def what_this_server_has_not(client: Client) -> None:
    for told in (await client.refused("sandbox.stored"), await client.refused("sandbox.forget", label="ada")):
        assert told.type == "SandboxError" and "has no store" in told.message
    at = await client.session()
    assert (await client.refused("session.command", argv=["ls"], **at)).type == "PolicyError", "no profile allows one"


STORY: list[Callable[[Client], Awaitable[None]]] = [
    programs, one_session, a_step_that_waits, templates_and_labels, what_a_client_brings, what_this_server_has_not,
]  # fmt: skip


async def test_every_method_does_what_its_row_says() -> None:
    confined = Policy.load("confined-python").replace(tools={"approval": ["pay"]})
    asked = iter([Later("ask"), Later("ask"), True, Later("ask")])
    options = {"tools": [pay], "approval": lambda *_: next(asked), "owned": True}
    async with opened("calculator", [confined], **options) as service:
        client = Client(service)
        for chapter in STORY:
            await chapter(client)
    assert client.asked == set(EVERY)


# The rows


RUN = inspect.signature(AsyncSession.run).parameters


def test_the_rows_take_what_their_methods_take_and_have_a_closed_schema_and_a_place() -> None:
    heard = {name for name in RUN if name.startswith("on_")}
    here = {"save": {"path"}, "get": {"default"}, "run": heard, "answer": heard | {"answer"}}
    wire = {"session", "exact", "stream"}
    for row in METHODS.values():
        kind, _, verb = row.name.partition(".")
        method = getattr(AsyncSession, verb, None)
        if kind == "session" and callable(method):
            taken = {*inspect.signature(method).parameters} - {"self"} - here.get(verb, set())
            spelt = {"allow", "arguments", "reason", "value"} if verb == "answer" else set()
            assert taken == {*row.parameters.__struct_fields__} - wire - spelt, row.name
    for row in METHODS.values():
        schema = msgspec.json.schema(row.parameters)
        assert schema["$defs"][row.parameters.__name__]["additionalProperties"] is False
    paths = {row.path for row in METHODS.values()}
    assert len(paths) == len(METHODS)
    assert {"/v1/run", "/v1/sessions", "/v1/sessions/{session}/run", "/v1/policy"} <= paths


# Calls that fail


WRONG: list[tuple[str, Any, int, str]] = [
    ("session.nothing", {}, METHOD, "InvalidRequest"),
    ("session.run", [], PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "S"}, PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "S", "source": "1", "timeout": "5"}, PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "S", "source": "1", "more": 1}, PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "S", "source": "1", "timeout": -1}, OURS, "PolicyError"),
    ("session.run", {"session": "S", "source": "1", "timeout": 1000}, OURS, "PolicyError"),
    ("session.run", {"session": "S", "source": "1", "stdin": {"type": "bytes", "base64": "!"}}, PARAMETERS, ""),
    ("session.run", {"session": "S", "source": "1", "stdin": "\ud800"}, PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "S", "source": "1", "argv": ["\0"]}, PARAMETERS, "ValueError"),
    ("session.run", {"session": "S", "source": "1", "\ud800": 1}, PARAMETERS, "InvalidRequest"),
    ("sandbox.session", {"files": {"x": "\ud800"}}, PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "unknown", "source": "1"}, OURS, "SessionClosed"),
    ("session.set", {"session": "S", "name": "no name", "value": 1}, PARAMETERS, "ValueError"),
    ("session.set", {"session": "S", "name": "x", "value": {"type": "encoded", "base64": "AA=="}}, OURS, ""),
    ("session.set", {"session": "S", "name": "x", "value": {"type": "bytes", "base64": "A"}}, PARAMETERS, ""),
    ("session.remove", {"session": "S", "name": "x"}, PARAMETERS, "KeyError"),
    ("session.rollback", {"session": "S", "name": "x"}, OURS, "CheckpointError"),
    ("session.branch", {"session": "S", "n": 0}, PARAMETERS, "ValueError"),
    ("session.branch", {"session": "S", "n": 10**17}, OURS, "CheckpointError"),
    ("session.read_file", {"session": "S", "name": "../../etc/passwd"}, OURS, "WorkspaceError"),
    ("sandbox.session", {"memory_mb": 1 << 19}, OURS, "PolicyError"),
    ("sandbox.session", {"danger_allow_commands": ["sh"]}, PARAMETERS, "InvalidRequest"),
    ("sandbox.session", {"filesystem": {"read": ["/"]}}, PARAMETERS, "InvalidRequest"),
    ("sandbox.session", {"files": {"../x": "y"}}, OURS, "WorkspaceError"),
    ("sandbox.run", {"source": "1", "policy": "/etc/passwd"}, OURS, "PolicyError"),
    ("sandbox.restore", {"state": {"type": "bytes", "base64": "AAAA"}}, OURS, "StateFileError"),
]


async def test_a_wrong_call_is_told_as_what_it_is() -> None:
    async with opened("confined-python") as service:
        at = await call(service, "sandbox.session", {})
        for name, given, code, kind in WRONG:
            told = await problem(service, name, {**given, **at} if "S" in str(given) else given)
            assert (told.code, told.type.startswith(kind)) == (code, True), (name, given, told)
            assert told.message and "/tmp" not in told.message and "Traceback" not in told.message
            assert "codec" not in told.message
        assert (await call(service, "session.run", {**at, "source": "1 + 1"}))["value"] == 2


async def test_what_a_client_may_declare_as_its_tools_is_bounded() -> None:
    policy = Policy.load("standard").replace(tools={"allow": [f"t{number}" for number in range(180)]})
    many = [[f"a{number}", "either", "int", "1"] for number in range(18_000)]
    each = [{"name": f"t{number}", "parameters": many[:90]} for number in range(180)]
    async with opened(policy) as service:
        for tools, told in (
            ([{"name": "t1", "parameters": many}], "have 18000 parameters, and 4000 are the most"),
            (each, "have 16200 parameters, and 4000 are the most"),
            ([{"name": "t1", "doc": "x" * (1 << 20)}], "have 1048578 characters, and 1048576 are the most"),
            ([{"name": "t1", "parameters": [["a", "either", "x" * 600_000, "y" * 600_000]]}], "1048576 are the most"),
        ):
            refused = await problem(service, "sandbox.tools", {"tools": tools})
            assert (refused.code, refused.type) == (PARAMETERS, "InvalidRequest") and told in refused.message
            with pytest.raises(msgspec.ValidationError, match="are the most"):
                msgspec.json.decode(json.dumps({"tools": tools}), type=METHODS["sandbox.tools"].body)
        large = [{"name": "t1", "parameters": many[:2000], "doc": "x" * 900_000}, {"name": "t2"}]
        assert "with tools" in (await call(service, "sandbox.tools", {"tools": large}))["policy"]


async def test_what_is_too_large_to_be_sent_is_an_error_and_no_answer() -> None:
    async with opened("confined-python") as service:
        at = await call(service, "sandbox.session", {})
        data = base64.b64encode(bytes(20 << 20)).decode()
        given = {**at, "name": "x", "data": {"type": "bytes", "base64": data}}
        assert await call(service, "session.write_file", given) == {}
        made = await call(service, "session.run", {**at, "source": "open('y', 'wb').write(bytes(50 << 20))"})
        assert made["ok"], made
        told = await problem(service, "session.read_file", {**at, "name": "y"})
        assert (told.type, "may be read at once" in told.message) == ("WorkspaceError", True)
        assert (await problem(service, "session.save", at)).message.endswith("are the most that is sent")
