"""What clients send: defined answers, no fault of the server, and the next one is served."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from select import select
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from safeexec.remote.methods import METHODS
from safeexec.servers.service import Service
from tests.fuzz.mutation import drawn, edited
from tests.fuzz.target import Holds, Target
from tests.servers.pipes import Pipes
from tests.servers.test_jsonrpc import answered

SESSION = "(session)"
"""Stands for the id of an open session."""
WORDS = [
    "", "x", "y", "1 + 1", "x = 1\nx", "print('a')", "while True: pass", "raise ValueError(1)", "\ud800", "é",
    "a" * 3000, "../x", "/etc/passwd", "\0",
]  # fmt: skip
NUMBERS = [0, 1, -1, 0.01, 1e308, float("inf"), float("nan"), 2**63, 10**400, True, None, 3]
OBJECTS: list[Any] = [
    [], {}, [1, "a"], {"a": 1}, {"type": "bytes", "base64": "AAE="}, {"type": "bytes", "base64": "%"}, {"x": "1"},
    [[]] * 3, {"type": "bytes"}, {"type": "encoded", "base64": "AA=="}, {"a.py": "x = 1"}, {"../a": "b"}, {"": ""},
    ["a", "b"], "signed", "idle",
]  # fmt: skip
SLOW = {"timeout": 0.05}
"""What no program may take longer than: seconds."""
SIGNS = [
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"1e999", b"\xff", b"\\ud800", b"\0", b" ", b'"id":',
    b'"method":', b"[[[[" * 99,
]  # fmt: skip


def _value(random: Random) -> Any:
    kind = random.randrange(3)
    return random.choice(WORDS if kind == 0 else NUMBERS if kind == 1 else OBJECTS)


def _call(random: Random) -> dict[str, Any]:
    """A call whose parameters have the right names and any values."""
    name = random.choice(sorted(METHODS.keys() - {"session.close"}))
    fields = METHODS[name].parameters
    known = [field for field in fields.__struct_fields__ if field != "session"]
    chosen = {field: _value(random) for field in known if random.random() < 0.3}
    for field in known:
        if field in ("source", "name", "query", "data", "state", "value", "argv"):
            chosen.setdefault(field, random.choice(OBJECTS if field in ("value", "argv") else WORDS))
    if "timeout" in known and (isinstance(chosen.get("timeout", 9), str | float | int)):
        chosen |= SLOW
    if "policy" in chosen:
        chosen["policy"] = random.choice([None, "calculator", "x"])
    if "n" in chosen and isinstance(chosen["n"], int) and chosen["n"] < 2**40:
        chosen["n"] = 1
    if name.startswith("session."):
        chosen["session"] = SESSION if random.random() < 0.9 else "x"
    return {"jsonrpc": "2.0", "id": random.randrange(9), "method": name, "params": chosen}


def _calls() -> st.SearchStrategy[list[dict[str, Any]]]:
    return drawn(lambda random: [_call(random) for _ in range(random.randint(1, 6))])


@contextmanager
def _service() -> Iterator[Holds]:
    with asyncio.Runner() as runner:
        service = Service("calculator", spare=0)

        def sent(call: dict[str, Any]) -> Any:
            return runner.run(answered(service, json.dumps(call).encode()))

        def asked(method: str, **params: Any) -> Any:
            return sent({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})["result"]

        def holds(calls: list[dict[str, Any]]) -> None:
            session = asked("sandbox.session")["session"]
            opened = [session]
            try:
                for call in calls:
                    params = {key: session if value == SESSION else value for key, value in call["params"].items()}
                    told = sent(call | {"params": params})
                    answer = told.get("result", {}) if told is not None else {}
                    opened += answer.get("sessions", [])
                    opened += [answer["session"]] if isinstance(answer.get("session"), str) else []
                assert asked("session.run", session=session, source="1 + 1")["value"] == 2
            finally:
                for identity in opened:
                    asked("session.close", session=identity)

        try:
            yield holds
        finally:
            runner.run(service.close())


def _lines() -> st.SearchStrategy[bytes]:
    def make(random: Random) -> bytes:
        calls = [json.dumps(_call(random)).encode() for _ in range(random.randint(1, 4))]
        if random.random() < 0.2:
            calls.append(b"[" + b",".join(calls) + b"]")
        return b"\n".join(edited(random, calls, SIGNS, 2) for _ in calls)

    return drawn(make)


@contextmanager
def _pipe() -> Iterator[Holds]:
    """A server at the other end of a pipe answers what comes after any lines, in lines of JSON-RPC, and complains of
    nothing.
    """
    numbers = iter(range(1_000_000, 1 << 40))
    with Pipes() as pipes:

        def holds(data: bytes) -> None:
            ping = next(numbers)
            line = json.dumps({"jsonrpc": "2.0", "id": ping, "method": "sandbox.run", "params": {"source": "1 + 1"}})
            pipes.write(data + b"\n" + line.encode() + b"\n")
            while True:
                told = pipes.read()
                assert told is not None, "the server is gone"
                for part in told if isinstance(told, list) else [told]:
                    assert part["jsonrpc"] == "2.0" and ("method" in part or "id" in part), part
                    assert part.get("error", {}).get("code") != -32603, part
                if isinstance(told, dict) and told.get("id") == ping:
                    assert told["result"]["value"] == 2
                    break
            if select([pipes.errors], [], [], 0)[0]:
                raise AssertionError(pipes.errors.read1().decode())

        yield holds


def _operations() -> dict[tuple[str, str], Any]:
    """What the server's own OpenAPI document describes, by path and method."""
    import schemathesis

    from safeexec.servers.http import app, openapi

    document = openapi.document(app.routes(), app.OPEN)
    schema = schemathesis.openapi.from_dict(json.loads(json.dumps(document)))
    found = [operation.ok() for operation in schema.get_all_operations()]
    return {(operation.path, operation.method.upper()): operation for operation in found}


def _requests() -> st.SearchStrategy[tuple[str, str, dict[str, Any], Any, str]]:
    """Method, path, query and body, and the path as it is described."""
    import schemathesis

    operations = _operations().values()
    return st.one_of(
        operation.as_strategy(generation_mode=mode).map(_request)
        for operation in operations
        for mode in schemathesis.GenerationMode
    )


def _request(case: Any) -> tuple[str, str, dict[str, Any], Any, str]:
    body = case.body
    if type(body).__name__ == "NotSet":
        body = None
    path = case.path
    for name, value in (case.path_parameters or {}).items():
        path = path.replace("{" + name + "}", SESSION if len(str(value)) % 2 else str(value))
    plain = json.loads(json.dumps(body)) if not isinstance(body, bytes) else body.decode("latin-1")
    query = {str(name): str(value) for name, value in dict(case.query or {}).items()}
    return case.method.upper(), path, query, plain, case.path


@contextmanager
def _http() -> Iterator[Holds]:
    import httpx
    from schemathesis.specs.openapi import checks

    from tests.servers.serving import serving

    described = [
        checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance,
    ]  # fmt: skip
    operations = _operations()

    with serving("--policy", "calculator") as server, server.client() as client:

        def holds(given: tuple[str, str, dict[str, Any], Any, str]) -> None:
            method, path, query, body, template = given
            session = client.post("/v1/sessions", json={}).json()["session"]
            opened = [session]
            if isinstance(body, dict):
                body = body | {key: 0.05 for key in ("timeout", "run_timeout") if key in body}
                body |= {"n": 1} if isinstance(body.get("n"), int) else {}
                body |= {"count": 1} if isinstance(body.get("count"), int) else {}
            path = path.replace(SESSION, session)
            try:
                url = httpx.URL(server.url + "/").copy_with(
                    raw_path=quote(path.encode(errors="surrogatepass"), safe="/:%{}").encode()
                )
                answer = client.request(method, url, params=query or None, content=json.dumps(body).encode())
            except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
                answer = None
            if answer is not None:
                unready = path.endswith("/readyz") and answer.status_code == 503
                assert answer.status_code < 500 or unready, (answer.status_code, answer.text[:500])
                assert "Traceback (most" not in answer.text or answer.status_code < 400
                named = dict.fromkeys(re.findall(r"\{(\w+)\}", template), "any")
                case = operations[template, method].Case(path_parameters=named)
                case.validate_response(answer, checks=described)
                if answer.status_code >= 400 and method != "HEAD":
                    told = answer.json()
                    assert told["code"] == answer.status_code and told["message"], told
                elif answer.headers.get("content-type", "").startswith("application/json"):
                    told = answer.json()
                    if isinstance(told, dict):
                        opened += [one for one in (told.get("session"), told.get("sandboxID")) if isinstance(one, str)]
                        opened += told.get("sessions", []) if isinstance(told.get("sessions"), list) else []
            for one in opened:
                client.post(f"/v1/sessions/{one}/close", json={})
                if one != session:
                    client.delete(f"/sandboxes/{one}")
            assert client.post("/v1/run", json={"source": "1 + 1"}).json()["value"] == 2

        yield holds


TARGETS = [
    Target("calls", "calls of the method table with any values, one after the other", _calls, _service, 25),
    Target("lines", "lines to `safeexec serve --stdio`", _lines, _pipe, 25),
    Target(
        "requests",
        "what the OpenAPI document of `safeexec serve` describes, and what it does not",
        _requests,
        _http,
        8,
        ("schemathesis", "starlette", "uvicorn", "prometheus_client"),
    ),
]
