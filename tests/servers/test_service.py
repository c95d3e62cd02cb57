"""One client's sandboxes and sessions: every method of the table does what the session's method of that name does."""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from safeexec import AsyncSession, Later, Policy, RecordingError, Result, SandboxError, __version__, replay
from safeexec.remote.methods import EVERY, METHOD, METHODS, OURS, PARAMETERS
from safeexec.results.marked import exact
from safeexec.servers import acts
from safeexec.servers.service import Notify, Service
from safeexec.servers.wire import CallProblem, encode, problem_of

ABC = {"type": "bytes", "base64": "YWJj"}


@asynccontextmanager
async def serving(*arguments: Any, **options: Any) -> AsyncIterator[Service]:
    service = Service(*arguments, **{"spare": 0, **options})
    try:
        yield service
    finally:
        await service.close()


async def call(service: Service, name: str, parameters: object, notify: Notify | None = None) -> dict[str, Any]:
    return await acts.call(service, name, json.dumps(parameters).encode(), notify)


async def problem(service: Service, name: str, parameters: object) -> CallProblem:
    with pytest.raises(BaseException) as raised:
        await call(service, name, parameters)
    return problem_of(raised.value)


async def test_clients_who_leave_early_do_not_keep_a_sandbox_from_opening() -> None:
    async with serving("calculator") as service:
        for _ in range(10_000):
            with suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    sandbox = await service.sandbox()
                    break
        assert (await sandbox.run("1")).value == 1


async def test_what_clients_do_is_recorded_where_that_is_asked_for(tmp_path: Path) -> None:
    async with serving("standard", record=str(tmp_path)) as service:
        opened = await call(service, "sandbox.session", {"namespace": {"x": 20}})
        await call(service, "session.run", {**opened, "source": "x += 1\nx"})
        saved = await call(service, "session.save", opened)
        again = await call(service, "sandbox.restore", {"state": saved["state"]})
        await call(service, "session.run", {**again, "source": "x * 2"})
    assert len([*tmp_path.iterdir()]) == 2
    ends = []
    for path in tmp_path.iterdir():
        with replay(path) as replayed:
            assert replayed.difference is None
            ends += [result.value for result in replayed.results.values()]
    assert sorted(ends) == [21, 42]


async def test_a_full_directory_of_recordings_opens_no_session_and_loses_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("safeexec.servers.service.RECORD_MB", 1)
    async with serving("standard", record=str(tmp_path)) as service:
        opened = await call(service, "sandbox.session", {})
        await call(service, "session.run", {**opened, "source": "kept = 1"})
        (tmp_path / "old.jsonl").write_bytes(bytes(1 << 20))
        large = {**opened, "source": "'x' * 300_000"}
        for _ in range(500):  # the step after the line that had no room
            if notes := (await call(service, "session.run", large))["notes"]:
                break
        assert "the recording of this session has stopped: the files in" in str(notes)
        told = await problem(service, "sandbox.session", {})
        assert (
            told.type == "RecordingError" and "total_mb allows 1: move some away, for none is deleted" in told.message
        )
    assert len([*tmp_path.iterdir()]) == 2


def test_recordings_need_a_directory(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is no directory to record in"):
        Service("standard", record=str(tmp_path / "none"))


async def test_what_a_client_may_declare_as_its_tools_is_bounded() -> None:
    policy = Policy.load("standard").replace(tools={"allow": [f"t{number}" for number in range(180)]})
    many = [[f"a{number}", "either", "int", "1"] for number in range(18_000)]
    each = [{"name": f"t{number}", "parameters": many[:90]} for number in range(180)]
    async with serving(policy) as service:
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


async def test_every_row_describes_itself_and_its_answers_have_the_shape_that_it_says() -> None:
    seen: set[str] = set()

    def pay(amount: int, to: str = "") -> Any:
        return f"{amount} to {to}" if amount else Later("closed")

    confined = Policy.load("confined-python").replace(tools={"approval": ["pay"]})
    asked = iter([Later("ask"), Later("ask"), True, Later("ask")])
    options = {"tools": [pay], "approval": lambda *_: next(asked), "owned": True}
    async with serving("calculator", [confined], **options) as service:

        async def ask(name: str, /, **parameters: Any) -> Any:
            answer = json.loads(encode(await call(service, name, parameters)))
            seen.add(name)
            if EVERY[name].answer is not Result:
                msgspec.convert(answer, EVERY[name].answer)
            return answer

        profile = {"policy": "confined-python"}
        assert (await ask("sandbox.run", source="print(input())", stdin="hi", **profile))["stdout"] == "hi\n"
        assert (await ask("sandbox.check", source="import os"))["outcome"] == "rejected"
        assert (await ask("sandbox.policy"))["policy"]["name"] == "calculator"
        assert any(row["active"] for row in (await ask("sandbox.protection"))["protection"])
        at = await ask("sandbox.session", memory_mb=128, files={"a.txt": "a", "b.bin": ABC}, **profile)
        assert (await ask("session.run", source="x = open('b.bin', 'rb').read(); x", **at))["value"] == ABC
        assert await ask("session.list_files", **at) == {"files": ["a.txt", "b.bin"]}
        assert (await ask("session.policy", **at))["policy"]["limits"]["memory_mb"] == 128
        assert await ask("session.get", name="x", **at) == {"found": True, "value": ABC}
        assert await ask("session.set", name="y", value=[ABC], **at) == {}
        assert (await ask("session.run", source="y", **at))["text"] == "[b'abc']"
        assert await ask("session.names", **at) == {"names": ["x", "y"]}
        assert [row["type"] for row in (await ask("session.variables", **at))["variables"]] == ["bytes", "list"]
        assert await ask("session.checkpoint", name="here", **at) == {}
        assert "here" in [row["name"] for row in (await ask("session.checkpoints", **at))["checkpoints"]]
        assert await ask("session.remove", name="y", **at) == {}
        assert await ask("session.rollback", name="here", **at) == {"tool_calls": []}
        assert await ask("session.names", **at) == {"names": ["x", "y"]}
        assert await ask("session.drop", name="here", **at) == {}
        assert await ask("session.cancel", **at) == {"cancelled": False}
        assert await ask("session.reply", call=1, outcome="ok", **at) == {"taken": False}
        shape = {"name": "price", "parameters": [["item", "either", "str", ""]]}
        assert "with tools" in (await ask("sandbox.tools", tools=[shape], **profile))["policy"]
        assert await ask("session.write_file", name="c", data=ABC, **at) == {}
        assert await ask("session.read_file", name="c", **at) == {"data": ABC}
        assert (await ask("session.sql", query="select 1 as one", **at))["outcome"] in ("ok", "error")  # duckdb or not
        assert "confined-python" in (await ask("session.card", **at))["card"]
        assert any(row["active"] for row in (await ask("session.protection", **at))["protection"])
        for branch in (await ask("session.branch", n=2, **at))["sessions"]:
            assert await ask("session.close", session=branch) == {}
        saved = await ask("session.save", **at)
        again = await ask("sandbox.restore", state=saved["state"], **profile)
        assert (await ask("session.get", name="y", **again))["found"]
        step = await ask("session.run", source="pay(3, to='Bob')", **at)
        assert (step["outcome"], step["waiting_for"]["arguments"]) == ("waiting", {"amount": 3, "to": "Bob"})
        assert (await ask("session.waiting_for", **at))["waiting_for"]["note"] == "ask"
        (waits,) = (await ask("sandbox.waiting", **profile))["waiting"]
        assert {"session": waits["session"]} == at
        assert (await ask("session.answer", allow=True, arguments={"to": "Eve"}, **at))["value"] == "3 to Eve"
        await ask("session.run", source="pay(4)", **at)
        assert (await ask("session.answer", allow=False, reason="no", **at))["error"]["message"] == "pay(): no"
        await ask("session.run", source="pay(0)", **at)
        assert (await ask("session.answer", value=[ABC], **at))["value"] == [ABC]
        await ask("session.run", source="pay(5)", **at)
        assert (await problem(service, "session.run", {"source": "1", **at})).type == "StepWaiting"
        assert (await problem(service, "session.answer", {"allow": True, "value": 1, **at})).code == PARAMETERS
        assert (await problem(service, "session.answer", at)).code == PARAMETERS
        assert await ask("session.cancel_waiting", **at) == {"tool_calls": []}
        for name, given in (("stored", {}), ("forget", {"label": "ada"})):
            seen.add(f"sandbox.{name}")
            told = await problem(service, f"sandbox.{name}", given)
            assert (told.type, "has no store" in told.message) == ("SandboxError", True)
        seen.add("session.command")  # no shipped profile allows one
        assert (await problem(service, "session.command", {"argv": ["ls"], **at})).type == "PolicyError"
        made = await ask("sandbox.template", name="warm", prepare="z = 1", **profile)
        (row,) = (await ask("sandbox.templates", **profile))["templates"]
        assert row == made["template"] | {
            key: row[key] for key in ("age", "memory_mb")
        }  # measured anew for each answer
        warm = await ask("sandbox.session_for", label="ada", template="warm", **profile)
        assert await ask("sandbox.session_for", label="ada", new=False, **profile) == warm
        assert await ask("session.get", name="z", **warm) == {"found": True, "value": 1}
        assert [label for label, _ in (await ask("sandbox.stats", **profile))["labels"] if label] == ["ada"]
        assert await ask("sandbox.drop_template", name="warm", **profile) == {}
        own = {"name": "mine", "yaml": "extends: calculator", "origins": {}}
        brought = await ask("sandbox.bring", version=__version__, brought=own)
        assert brought["version"] == __version__
        assert (await ask("sandbox.policy", policy=brought["policy"]))["policy"]["name"] == "mine"
        assert await ask("sandbox.drop", policy=brought["policy"]) == {}
    assert seen == set(EVERY)


RUN = inspect.signature(AsyncSession.run).parameters


def test_the_rows_of_a_session_take_what_its_methods_take() -> None:
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


def test_every_row_has_a_closed_schema_and_its_own_place_over_http() -> None:
    for row in METHODS.values():
        schema = msgspec.json.schema(row.parameters)
        assert schema["$defs"][row.parameters.__name__]["additionalProperties"] is False
    paths = {row.path for row in METHODS.values()}
    assert len(paths) == len(METHODS)
    assert {"/v1/run", "/v1/sessions", "/v1/sessions/{session}/run", "/v1/policy"} <= paths


WRONG: list[tuple[str, Any, int, str]] = [
    ("session.nothing", {}, METHOD, "InvalidRequest"),
    ("__init__", {}, METHOD, "InvalidRequest"),
    ("session.run", [], PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "S"}, PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "S", "source": "1", "timeout": "5"}, PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "S", "source": "1", "more": 1}, PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "S", "source": "1", "timeout": -1}, OURS, "PolicyError"),
    ("session.run", {"session": "S", "source": "1", "stdin": {"type": "bytes", "base64": "!"}}, PARAMETERS, ""),
    ("session.run", {"session": "S", "source": "1", "stdin": "\ud800"}, PARAMETERS, "InvalidRequest"),
    ("session.run", {"session": "S", "source": "1", "argv": ["\0"]}, PARAMETERS, "ValueError"),
    ("session.run", {"session": "S", "source": "1", "\ud800": 1}, PARAMETERS, "InvalidRequest"),
    ("session.card", {"session": "S", "format": "\ud800"}, PARAMETERS, "InvalidRequest"),
    ("sandbox.session", {"checkpoints": "\ud800"}, PARAMETERS, "InvalidRequest"),
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
    ("sandbox.run", {"source": "1", "policy": "calculator.yaml"}, OURS, "PolicyError"),
    ("sandbox.restore", {"state": {"type": "bytes", "base64": "AAAA"}}, OURS, "StateFileError"),
]


async def test_a_namespace_that_looks_like_a_marked_value_is_one_of_two_names() -> None:
    async with serving() as service:
        given = {"namespace": {"type": "bytes", "base64": "AAE="}}
        at = await call(service, "sandbox.session", given)
        for method, where in (("sandbox.run", given), ("session.run", at), ("session.run", at | given)):
            told = await call(service, method, {**where, "source": "type + base64"})
            assert told["value"] == "bytesAAE="


async def test_all_values_of_a_call_share_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    async with serving() as service:
        monkeypatch.setattr("safeexec.results.marked.decode", lambda data, clock, **how: seen.append(clock))
        namespace = {"a": exact({1}, 100), "b": exact({2}, 100)}
        await call(service, "sandbox.run", {"namespace": namespace, "source": "a"})
    assert len(seen) == 2 and seen[0] is seen[1]


async def test_a_wrong_call_is_told_as_what_it_is() -> None:
    async with serving("confined-python") as service:
        at = await call(service, "sandbox.session", {})
        for name, given, code, kind in WRONG:
            told = await problem(service, name, {**given, **at} if "S" in str(given) else given)
            assert (told.code, told.type.startswith(kind)) == (code, True), (name, given, told)
            assert told.message and "/tmp" not in told.message and "Traceback" not in told.message
            assert "codec" not in told.message
        assert (await call(service, "session.run", {**at, "source": "1 + 1"}))["value"] == 2


async def test_nothing_is_built_of_values_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of one that the policy does not let in, nor of those that come with it."""
    built: list[str] = []

    def loads(text: str) -> Any:
        built.append(text)
        return json.loads(text)

    monkeypatch.setattr("safeexec.servers.wire.loads", loads)
    monkeypatch.setattr("safeexec.servers.wire.MAX_PARTS", 3000)
    inside = [[False] * 900, "\1" * 900, ["", -1, 2.5] * 80, {"type": "bytes", "base64": "YWJj" * 300}, [[]] * 90]
    parts, spaces = [[]] * 600, b"[" + b" " * 10_000 + b"1]"

    async with serving("calculator") as service:
        at = await call(service, "sandbox.session", {"value_kb": 1})
        for value in inside:
            assert await call(service, "session.set", {**at, "name": "x", "value": value}) == {}
        assert len(built) == len(inside)
        built.clear()
        for value in (json.dumps(parts).encode(), spaces):
            sent = json.dumps(at).encode()[:-1] + b', "name": "x", "value": ' + value + b"}"
            with pytest.raises(TypeError, match=r"'x' cannot cross .* larger than limits\.value_kb \(1 KiB\)"):
                await acts.call(service, "session.set", sent)
        for name, parameters in (
            ("session.run", {**at, "source": "1", "namespace": {"a": 1, "x": parts}}),
            ("sandbox.session", {"namespace": {f"x{number}": parts for number in range(3)}}),
            ("sandbox.run", {"source": "1", "namespace": {f"x{number}": parts for number in range(3)}}),
        ):
            told = await problem(service, name, parameters)
            assert (told.code, "limits.value_kb" in told.message or "3,000 lists" in told.message) == (
                PARAMETERS,
                True,
            )
        assert built == []
        told = await call(service, "sandbox.session", {"namespace": {"x": parts, "y": parts}})
        assert (await call(service, "session.run", {**told, "source": "len(x + y)"}))["value"] == 1200


async def test_ids_of_sessions_name_their_server() -> None:
    async with serving("calculator", replica="safeexec-0") as service:
        at = await call(service, "sandbox.session", {})
        branches = (await call(service, "session.branch", at))["sessions"]
        for identity in [at["session"], *branches]:
            assert identity.startswith("safeexec-0.")
            assert (await call(service, "session.run", {"session": identity, "source": "1"}))["ok"]
    for wrong in ("a.b", "a/b", "é", "a" * 64):
        with pytest.raises(SandboxError, match="name of a replica"):
            Service("calculator", replica=wrong)


async def test_what_is_too_large_to_be_sent_is_an_error_and_no_answer() -> None:
    async with serving("confined-python") as service:
        at = await call(service, "sandbox.session", {})
        data = base64.b64encode(bytes(20 << 20)).decode()
        answer = await call(
            service, "session.write_file", {**at, "name": "x", "data": {"type": "bytes", "base64": data}}
        )
        assert answer == {}
        made = await call(service, "session.run", {**at, "source": "open('y', 'wb').write(bytes(50 << 20))"})
        assert made["ok"], made
        told = await problem(service, "session.read_file", {**at, "name": "y"})
        assert (told.type, "may be read at once" in told.message) == ("WorkspaceError", True)
        assert (await problem(service, "session.save", at)).message.endswith("are the most that is sent")


def test_an_answer_is_json_for_strict_readers_too() -> None:
    """Half of a character becomes a question mark, as in MCP; whole ones and what only looks like one stay."""
    given = ["\ud800", "a\udfffb\ud800c", "\\ud800", "\\\\\ud800", "\U0001f600", "\ud83d\ude00", "\udc00\ud800", 'é"\n']
    read = msgspec.json.decode(encode(given))
    assert read == ["?", "a?b?c", "\\ud800", "\\\\?", "\U0001f600", "\U0001f600", "??", 'é"\n']
    assert encode({"\ud800": 1}) == b'{"?":1}'
