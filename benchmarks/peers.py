"""Other ways to run a step of Python, behind one small interface: `open`, `run`, `close`. Each needs its package."""

from __future__ import annotations

import ast
import contextlib
import io
from collections.abc import Callable
from typing import Any, Protocol

from benchmarks.common import BareChild
from safeexec import Sandbox


class Peer(Protocol):
    """One session of one system."""

    def run(self, source: str) -> object:
        """Run a step; raises if it failed."""

    def close(self) -> None: ...


class Ours:
    """A session; the sandbox is shared, as it is in a program."""

    def __init__(self, sandbox: Sandbox, **options: Any) -> None:
        self._session = sandbox.session(**options)

    def run(self, source: str) -> object:
        return self._session.run(source).check()

    def close(self) -> None:
        self._session.close()


class BareExec:
    """`exec` in the host's own process: nothing is held back."""

    def __init__(self) -> None:
        self._namespace: dict[str, Any] = {"__name__": "__main__"}

    def run(self, source: str) -> object:
        tree = ast.parse(source)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(tree, "<step>", "exec"), self._namespace)
        return None

    def close(self) -> None:
        pass


class Restricted(BareExec):
    """RestrictedPython with its usual guards, in the host's own process."""

    def __init__(self) -> None:
        from RestrictedPython import Guards, PrintCollector, compile_restricted, safe_builtins
        from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter

        self._compile = compile_restricted
        builtins = {
            **safe_builtins,
            "__import__": __import__,
            "sum": sum,
            "min": min,
            "max": max,
            "__build_class__": __build_class__,
        }
        self._namespace = {
            "__builtins__": {
                **builtins,
                "enumerate": enumerate,
                "sorted": sorted,
                "list": list,
                "dict": dict,
                "set": set,
            },
            "__name__": "step",
            "__metaclass__": type,
            "_getattr_": Guards.safer_getattr,
            "_getitem_": default_guarded_getitem,
            "_getiter_": default_guarded_getiter,
            "_iter_unpack_sequence_": Guards.guarded_iter_unpack_sequence,
            "_unpack_sequence_": Guards.guarded_unpack_sequence,
            "_write_": Guards.full_write_guard,
            "_print_": PrintCollector,
            "_inplacevar_": lambda operator, left, right: left + right if operator == "+=" else left * right,
        }

    def run(self, source: str) -> object:
        exec(self._compile(source, "<step>", "exec"), self._namespace)
        return None


class Smolagents:
    """smolagents' LocalPythonExecutor: an interpreter of the syntax tree, in the host's own process."""

    def __init__(self) -> None:
        from smolagents.local_python_executor import LocalPythonExecutor

        self._executor = LocalPythonExecutor(["math", "dataclasses"])
        self._executor.send_tools({})

    def run(self, source: str) -> object:
        return self._executor(source)

    def close(self) -> None:
        pass


class Monty:
    """pydantic-monty: an interpreter of its own in a worker process; the pool is shared."""

    def __init__(self, pool: Any) -> None:
        self._context = pool.checkout()
        self._session = self._context.__enter__()

    def run(self, source: str) -> object:
        return self._session.feed_run(source)

    def close(self) -> None:
        self._context.__exit__(None, None, None)


class Asteval:
    """asteval: an interpreter of the syntax tree, in the host's own process."""

    def __init__(self) -> None:
        import asteval

        self._interpreter = asteval.Interpreter(use_numpy=False)

    def run(self, source: str) -> object:
        value = self._interpreter(source)
        if self._interpreter.error:
            raise RuntimeError(str(self._interpreter.error[0].get_error()))
        return value

    def close(self) -> None:
        pass


IN_PROCESS: dict[str, tuple[str, Callable[[], Peer]]] = {
    "bare exec": ("", BareExec),
    "bare forked child": ("", BareChild),
    "RestrictedPython": ("RestrictedPython", Restricted),
    "smolagents": ("smolagents", Smolagents),
    "asteval": ("asteval", Asteval),
}
"""Name → the module that must be installed, and what opens a session. Monty needs its pool: see `compare`."""
