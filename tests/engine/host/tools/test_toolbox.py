"""Host tools: they look like the guest's own functions, are checked on the host's side, and cannot be talked into
anything.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from time import monotonic
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from safeexec import Allow, Deny, Policy, Sandbox, Session, SessionClosed, ToolError
from safeexec.engine.host.tools.tool import contained
from tests.engine.host.inside import SPEAKS
from tests.footprint import until


def price(item: str, *, quantity: int = 1, currency: Literal["EUR", "USD"] = "EUR") -> float:
    """The price of an item.

    Quantities above 100 need a quotation.
    """
    return len(item) * quantity * (1.0 if currency == "EUR" else 1.1)


@dataclass
class Order:
    item: str
    due: date


def told(session: Session, call: str) -> str:
    """Type and message of what guest code sees when the call fails."""
    source = f"try:\n    {call}\nexcept Exception as error:\n    told = type(error).__name__ + ': ' + str(error)\ntold"
    return session.run(source).check().value  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("price(item='ab', currency='USD')", 2.2),
        ("[price(*['abcd'], **{'quantity': number}) for number in (1, 2)]", [4.0, 8.0]),
        ("echo(2 ** 70, 'x' * 3, None, True)", (2**70, "xxx", None, True)),
        ("echo({'a': [1, (2, 3)], 'b': {4}}, key=b'5')", ({"a": [1, (2, 3)], "b": {4}}, {"key": b"5"})),
        ("import decimal\necho(decimal.Decimal('1.5'))", (Decimal("1.5"),)),
        ("later(3)", 4),
        ("order({'item': 'a', 'due': '2025-01-31'})", {"item": "a", "due": date(2025, 1, 31)}),
    ],
)
def test_calls_with_values(session: Session, call: str, value: Any) -> None:
    assert session.run(call).check().value == value


@pytest.fixture(scope="module")
def session() -> Any:
    def echo(*values: Any, **named: Any) -> Any:
        return (*values, named) if named else values

    async def later(number: Annotated[int, Meta(le=10)]) -> int:
        return number + 1

    def order(order: Order) -> Order:
        return order

    def fail(kind: str) -> None:
        failures: dict[str, Exception] = {
            "key": KeyError("missing"),
            "unicode": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
            "stop": StopIteration("no more"),
            "custom": asyncio.QueueEmpty("something broke"),
            "surrogate": ValueError("\ud800"),
            "zero": ZeroDivisionError("division by zero"),
        }
        raise failures[kind]

    def huge() -> str:
        return "x" * (17 << 20)

    def rows() -> list[Any]:
        return [1, object()]

    tools = [price, echo, later, order, fail, huge, rows]
    with Sandbox("standard", tools=tools, spare=0) as sandbox, sandbox.session(checkpoints="off") as session:
        yield session


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "price()",
            "TypeError: price() missing a required argument: 'item'; it is price(item: str, *, quantity: int = 1, ",
        ),
        ("price('a', 2)", "TypeError: price() too many positional arguments; it is price("),
        ("price(7)", "TypeError: price() argument 'item': expected str, got int 7"),
        (
            "echo(1, {'a': [(1, len)]})",
            "TypeError: echo() inside an argument: a tool cannot call back into the sandbox; pass data, not a function",
        ),
        (
            "echo([[object()]])",
            "TypeError: echo() inside an argument: a value of type object cannot cross to the host; pass ",
        ),
        (
            "echo('x' * (17 << 20))",
            "ValueError: an argument of echo() is too large or nests too deeply to cross to the host",
        ),
        ("huge()", "ValueError: huge() returned a value that is too large or nests too deeply to cross"),
        ("rows()", "TypeError: rows() returned an object of type list that cannot cross"),
        ("fail('key')", "KeyError: \"fail(): 'missing'\""),
        ("fail('unicode')", "ValueError: fail(): 'utf-8' codec can't decode byte 0xff"),
        ("fail('stop')", "ToolError: fail(): StopIteration: no more"),
        ("fail('custom')", "ToolError: fail(): QueueEmpty: something broke"),
        ("fail('surrogate')", "ValueError: fail(): ?"),
    ],
)
def test_what_guest_code_sees_of_a_failure(session: Session, call: str, message: str) -> None:
    assert told(session, call).startswith(message)


@pytest.mark.parametrize("call", ["fail('key')", "fail('zero')"])
def test_what_a_tool_raises_is_no_mistake_of_the_code(session: Session, call: str) -> None:
    """No hint about it: the division by 0, say, is the host's."""
    error = session.run(call).error
    assert error is not None and error.hint is None and "fail(): " in error.message
    wrong = session.run("fail('key', wat=1)").error
    assert wrong is not None and wrong.hint is not None and "`kind`" in wrong.hint


def test_the_card_says_how_to_call_a_tool_whose_hints_name_a_class() -> None:
    def place(order: Order) -> bool:
        """Place an order."""
        return True

    with Sandbox("calculator", tools=[place]) as sandbox, sandbox.session() as session:
        line = next(line for line in session.card().splitlines() if "place(" in line)
        legend = "Order: a dict with item: str, due: datetime.date"
        assert line == f"  place(order: Order) -> bool  Place an order. {legend}"
        assert session.run("place.__doc__").value == f"Place an order.\n\n{legend}"


def test_a_tool_is_called_as_python_reads_its_name() -> None:
    micro, mu = "\u00b5", "\u03bc"
    policy = Policy.load("standard").replace(tools={"approval": [micro]})
    with Sandbox(policy, tools={micro: price}, approval=lambda *_: Deny("no")) as sandbox:
        refused = sandbox.run(f"{micro}('abc')").error
        assert refused is not None and refused.message == f"{mu}(): no", "the policy means it, too"
    with pytest.raises(ToolError, match="two tools"):
        Sandbox("standard", tools={micro: price, mu: price})


@pytest.mark.parametrize(
    ("chosen", "tools", "message"),
    [
        ({"approval": ["prise"]}, [price], r"tools.approval of .*'standard'.*; did you mean 'price'\? \(replace\(\)\)"),
        ({"allow": {"except": ["prcie"]}}, [price], r"tools.allow of .*'standard'.*; did you mean 'price'\? \(replace"),
        ({"allow": ["price"]}, {"later": price}, "does not allow the tool 'later'"),
    ],
)
def test_the_policy_chooses_the_tools_and_a_misspelt_name_opens_none(chosen: Any, tools: Any, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        Sandbox(Policy.load("standard").replace(tools=chosen), tools=tools)


@pytest.mark.parametrize("names", [["order"], ["pri"], ["slice"], ["prise", "price"], ["prise", "*"]])
def test_a_policy_may_name_tools_that_another_sandbox_has(names: list[str]) -> None:
    policy = Policy.load("standard").replace(tools={"approval": names})
    assert Sandbox(policy, tools=[price]).policy is policy


def test_no_traceback_of_the_host_crosses(session: Session) -> None:
    result = session.run("fail('custom')")
    assert (result.outcome, result.error.type, result.tool_calls[0].outcome) == ("error", "ToolError", "error")
    assert __file__ not in result.error.traceback and "fail" in result.error.traceback


def test_signature_and_docstring_are_visible(session: Session) -> None:
    shown = session.run("help(price)").check().stdout
    assert "The price of an item." in shown and "Quantities above 100 need a quotation." in shown
    assert _bare(shown.splitlines()[0]) == _bare(f"price{inspect.signature(price)}")
    for card in (Policy.load("standard").card(tools=[price]), session.card()):
        assert "price(item: str, *, quantity: int = 1" in card
    with Sandbox("confined-python", tools=[price], spare=0) as sandbox:
        source = "import inspect\n[p.name for p in inspect.signature(price).parameters.values()], price.__doc__[:20]"
        assert sandbox.run(source).check().value == (["item", "quantity", "currency"], "The price of an item")


def _bare(signature: str) -> str:
    return signature.replace("'", "").replace('"', "")


def apply(function: Callable[[int], int]) -> int:
    return function(1)


def maybe(function: Callable[[int], int] | None = None) -> None: ...


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"tools": {"not a name": price}}, ToolError, "cannot be the name of a tool"),
        ({"tools": {"price": 7}}, ToolError, "is not callable"),
        ({"tools": price}, ToolError, "a list of functions, or a mapping of names to them; found a function"),
        ({"tools": [price, price]}, ToolError, "two tools are called 'price'"),
        ({"tools": {"print": print, "iter": iter}}, ToolError, "has no signature"),
        ({"tools": [apply]}, ToolError, "cannot take a function of the guest"),
        ({"tools": [maybe]}, ToolError, "cannot take a function of the guest"),
        ({"approval": "x"}, TypeError, r"approval\(tool, arguments\).*found str"),
        ({"files": ["data/s.csv"]}, TypeError, r"files=\{'s.csv': 'data/s.csv'\}; found"),
    ],
)
def test_what_cannot_be_a_tool_an_approval_or_files_is_refused_at_once(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Sandbox("data-analysis", **given)


def test_the_budget_of_calls_is_per_step_and_calls_beyond_it_are_told_once() -> None:
    policy = Policy.load("standard").replace(tools={"max_calls": 3})
    source = "for _ in range(50):\n    try: price('a')\n    except PermissionError as error: last = error\nraise last"
    with Sandbox(policy, tools=[price], spare=0) as sandbox, sandbox.session() as session:
        assert session.run("[price('a') for _ in range(3)]").ok
        result = session.run(source)
        assert result.error.type == "PermissionError"
        assert "more than 3 tool calls in one step (tools.max_calls)" in result.error.message
        assert [record.outcome for record in result.tool_calls] == ["ok", "ok", "ok", "refused"]


def test_approval_may_allow_edit_and_refuse() -> None:
    policy = Policy.load("standard").replace(tools={"approval": ["price"]})
    asked: list[tuple[str, dict[str, Any]]] = []

    answers = {
        "abc": True,
        "no": False,
        "gun": Deny("not for sale"),
        "cheap": Allow(arguments={"quantity": 10}),
        "wrong": Allow(arguments={"size": 10}),
        "text": "a text is no answer",
    }

    def approve(tool: str, arguments: dict[str, Any]) -> Any:
        asked.append((tool, arguments))
        if arguments["item"] not in answers:
            raise LookupError("nobody is at home")
        return answers[arguments["item"]]

    def free() -> str:
        return "nobody asked"

    with Sandbox(policy, tools=[price, free], approval=approve, spare=0) as sandbox, sandbox.session() as session:
        assert session.run("price('abc')").value == 3.0
        assert session.run("price('cheap')").value == 50.0
        assert told(session, "price('gun')") == "PermissionError: price(): not for sale"
        assert told(session, "price('no')") == "PermissionError: price(): it was not approved"
        assert "a call that does not exist: 'size'" in told(session, "price('wrong')")
        assert "answered an object of type str; it answers safeexec.Allow(" in told(session, "price('text')")
        refused = "PermissionError: price(): the host's approval raised LookupError: nobody is at home"
        assert told(session, "price('nobody')") == refused
        assert session.run("free()").value == "nobody asked"
    assert asked[0] == ("price", {"item": "abc"})
    assert len(asked) == 7


def test_an_approval_can_be_asynchronous_and_nobody_to_ask_is_a_refusal() -> None:
    policy = Policy.load("standard").replace(tools={"approval": ["*"]})

    async def approve(tool: str, arguments: dict[str, Any]) -> bool:
        return arguments["item"] == "yes"

    with Sandbox(policy, tools=[price], approval=approve, spare=0) as sandbox, sandbox.session() as session:
        assert session.run("price('yes')").value == 3.0
        assert told(session, "price('nein')").startswith("PermissionError")
    with Sandbox(policy, tools=[price], spare=0) as sandbox, sandbox.session() as session:
        assert told(session, "price('yes')") == "PermissionError: price() needs approval and the host has nobody to ask"


def test_the_clock_of_the_step_stands_still_or_not() -> None:
    """The tool returns when the step would have timed out long ago by the host's clock."""

    def wait_out() -> None:
        started = monotonic()
        while monotonic() < started + 0.3:
            pass

    async def for_ever() -> None:
        await asyncio.Event().wait()

    standard = Policy.load("standard")
    with Sandbox(standard, tools=[wait_out], spare=0) as sandbox, sandbox.session() as session:
        until(lambda: session.run("wait_out()", timeout=0.2).ok)  # a busy machine may take that long for the rest
    running = standard.replace(tools={"clock": "runs"})
    with Sandbox(running, tools=[wait_out, for_ever], spare=0) as sandbox, sandbox.session() as session:
        assert session.run("wait_out()", timeout=0.2).outcome == "timeout"
        result = session.run("x = 1\nfor_ever()\nwhile True: pass", timeout=0.2)
        assert result.outcome in ("timeout", "error")


def test_calls_from_two_guest_threads_take_turns() -> None:
    policy = Policy.load("confined-python").replace(limits={"threads": 4})
    inside = most = 0

    def alone(number: int) -> int:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        inside -= 1
        return number

    source = "from concurrent.futures import ThreadPoolExecutor\n[*ThreadPoolExecutor(3).map(alone, range(150))]"
    with Sandbox(policy, tools=[alone], spare=0) as sandbox:
        assert sandbox.run(source).check().value == [*range(150)]
    assert most == 1


# A guest that has left the language layer and speaks to the host itself

CALL = "pack(('tool-call', 1, 'note', b'\\x92\\x90\\x80'))"


@pytest.mark.parametrize(
    "forgery",
    [
        "say(pack(('tool-call', 1, 'no_such_tool', b'\\x92\\x90\\x80')))",
        "say(pack(('tool-call', 1, 'note', b'garbage')))",
        "say(pack(('tool-call', 1, 'note', b'\\x92\\x91\\x01')))",
        f"say({CALL}, {CALL})",
        "say(pack(('tool-call', 1, 'note', b't' + b'\\xff' * 100)))",
        "say(pack(('tool-call', 1, 'note', b'x' * (20 << 20))))",
        f"say(pack(('done', 'ok')), {CALL})",
    ],
)
def test_a_forged_message_costs_the_session_its_process_and_nothing_else(forging: Session, forgery: str) -> None:
    """The step ends as crashed, or as too much (or with the forged answer, and the next one finds the lie). The state
    before it is back.
    """
    forging.run("kept = 'safe'").check()
    result = forging.run(SPEAKS + forgery + "\nwhile True: pass", timeout=20)
    if result.ok:
        # The forged end of the step was believed; what came after it was not.
        result = forging.run("kept = 'lost'")
    assert result.outcome in ("crashed", "output")
    assert forging.run("kept, note()").value == ("safe", "noted")


def note() -> str:
    return "noted"


@pytest.fixture(scope="module")
def forging() -> Any:
    with Sandbox("confined-python", tools=[note], spare=0) as sandbox, sandbox.session() as session:
        yield session


LATE = """
import os, threading, time
told = []
def late():
    while not os.path.exists("go"): time.sleep(0.01)
    try:
        told.append(note())
    except RuntimeError as error:
        told.append(str(error))
threading.Thread(target=late).start()
"""


def test_a_call_after_the_step_is_refused() -> None:
    policy = Policy.load("confined-python").replace(limits={"threads": 2})
    with Sandbox(policy, tools=[note], spare=0) as sandbox, sandbox.session(checkpoints="off") as session:
        session.run(LATE).check()
        session.write_file("go", b"")
        until(lambda: session.get("told"))
        assert session.get("told") == ["note() can be called only while a step runs"]


def test_a_tool_that_calls_back_into_its_own_session_is_told_so() -> None:
    """Another session of the same sandbox is no problem; closing the session from inside ends the step."""
    sessions: list[Session] = []

    def same() -> Any:
        return sessions[0].run("1").value

    def other(x: int) -> Any:
        return sandbox.run(f"{x} + 1").value

    def close() -> None:
        sessions[0].close()

    with Sandbox("standard", tools=[same, other, close]) as sandbox:
        sessions.append(sandbox.session())
        busy = "ToolError: same(): SessionBusy: a step of this session is running"
        assert told(sessions[0], "same()").startswith(busy)
        assert sessions[0].run("other(1)").value == 2
        with pytest.raises(SessionClosed, match="the session was closed while this ran"):
            sessions[0].run("close()")


def test_a_tool_that_a_variable_hides_comes_back(session: Session) -> None:
    session.run("price = price('abc')").check()
    assert session.get("price") == 3.0
    error = session.run("price('abc')").error
    assert "the tool: rename that variable, and `del price`" in error.hint
    assert session.run("del price\nprice('abc')").value == 3.0
    assert "price" not in session.namespace


def test_an_awaited_function_that_the_loop_ends_just_ends() -> None:
    """And one that says itself that it ends is an error of the tool."""

    waiting = contained("tool", asyncio.sleep, 0)
    waiting.send(None)
    waiting.close()

    async def ends() -> None:
        raise GeneratorExit

    with pytest.raises(ToolError, match="tool: GeneratorExit"):
        contained("tool", ends).send(None)
