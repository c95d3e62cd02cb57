"""The variables of a session, as the host reads and sets them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from safeexec.common.identity import weight
from safeexec.common.text import spelt
from safeexec.engine.host.session.channel import Gone
from safeexec.engine.host.session.decode import may_be_bound, variables_of
from safeexec.engine.host.session.turns import exclusive
from safeexec.engine.host.waiting import Core, apart
from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import encode_payload
from safeexec.results import Rows, Variable

if TYPE_CHECKING:
    from safeexec.engine.host.session.runner import Runner
    from safeexec.engine.host.session.supervisor import Supervisor
    from safeexec.engine.host.session.tool_calls import Waits
    from safeexec.engine.host.session.turns import Turns


class Variables:
    """The variables of one session."""

    def __init__(self, turns: Turns, supervisor: Supervisor, waits: Waits) -> None:
        self.turns = turns
        self._supervisor = supervisor
        self._waits = waits

    @exclusive("ask")
    def fetch(self, name: str, *, arrays: bool = False) -> Core[tuple[bool, Any]]:
        """Return whether there is such a variable, and its value."""
        if not may_be_bound(name):
            return False, None
        # As it is given first: `globals()[name]` binds what no program can spell.
        for spelling in dict.fromkeys((name, spelt(name))):
            answer, value = yield from self._supervisor.ask(partial(self._fetched, spelling, arrays))
            if answer.found:
                return True, value
        return False, None

    def _fetched(self, name: str, arrays: bool, runner: Runner) -> Core[tuple[m.Fetched, Any]]:
        answer = yield from runner.ask(m.Fetch(name, arrays), m.Fetched)
        if answer.pending:
            return answer, (yield from runner.deliver(answer.pending, arrays=arrays))
        return answer, (yield from runner.value(answer.value, arrays=arrays)) if answer.found else None

    @exclusive("ask")
    def _ask(self, request: Any, kind: type) -> Core[Any]:
        return (yield from self._supervisor.ask(lambda runner: runner.ask(request, kind)))

    def names(self) -> Core[list[str]]:
        return (yield from self._ask(m.ListNames(), m.Names)).names  # type: ignore[no-any-return]

    @exclusive("ask")
    def described(self) -> Core[list[Variable]]:
        """Return every variable with type, shape, size and a short repr."""
        answer = yield from self._supervisor.ask(lambda runner: runner.ask(m.Describe(), m.Described))
        size = sum(len(row.text) for row in answer.variables)
        reading = partial(variables_of, answer.variables)
        return Rows((yield from self._supervisor.processes.bill.reading(size, reading)))

    def assign(self, name: str, value: Any) -> Core[None]:
        """Bind a variable to a value of the host. Raises TypeError for a value that cannot cross."""
        yield from self._change((yield from self.assignment(name, value)))

    def assignment(self, name: str, value: Any) -> Core[m.Assign]:
        """Return what binds a variable to a value of the host, for `change`. Raises TypeError."""
        limits = self._supervisor.processes.policy.limits
        bounds = {"value_kb": limits.value_kb, "value_depth": limits.value_depth}
        payload = yield from apart(weight(value), partial(encode_payload, name, value, **bounds))
        return m.Assign(spelt(name), payload)

    def remove(self, name: str) -> Core[None]:
        """Unbind a variable. Raises KeyError."""
        if not may_be_bound(name):
            raise KeyError(f"no variable {name!r}")
        there = name == spelt(name) or name in (yield from self.names())
        yield from self._change(m.Remove(name if there else spelt(name)))

    @exclusive("set")
    def _change(self, request: m.Assign | m.Remove) -> Core[None]:
        self._waits.check()
        yield from self.change(request)

    def change(self, request: m.Assign | m.Remove) -> Core[None]:
        """Set or remove a variable. By whoever has a turn. Raises KeyError."""
        try:
            answer = yield from self._supervisor.change(
                lambda runner, fds: runner.ask(request, m.Done, fds=fds), request
            )
        except (Gone, ProtocolError) as error:
            yield from self._supervisor.restore_and_raise(error)
        if answer.problem:
            raise KeyError(answer.problem)
