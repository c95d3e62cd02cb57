"""The table of contenders: each a session behind one small interface. What one cannot do says why.

Each is as its documentation sets it up, with the same modules allowed (`IMPORTS`) where modules are listed. What is
not installed is left out, and said, with what installs it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

IMPORTS = (
    "bisect", "collections", "dataclasses", "datetime", "decimal", "fractions", "functools", "heapq", "itertools",
    "json", "math", "random", "re", "statistics", "string", "time", "typing",
)  # fmt: skip
"""What guest code may import where a contender asks for a list."""
STEPPER = str(Path(__file__).with_name("stepper.py"))
PYODIDE = Path.home() / ".cache/safeexec-bench/node_modules/pyodide"
FOREVER = 600.0


class Cannot(Exception):
    """This contender has no way to do it; the message says why."""


def add(a: int, b: int) -> int:
    """The function of the host that guest code calls."""
    return a + b


class Contender:
    """One session. What is not overridden it cannot do."""

    name: ClassVar[str]
    needs: ClassVar[str] = ""
    """The module that must be installed."""
    holds: ClassVar[str]
    """What holds the code."""
    apart: ClassVar[bool] = True
    """Whether guest code has a process of its own."""
    boundary: ClassVar[str] = ""
    """What the escape corpus is tried against: `language`, `process`, or nothing, where nothing is held back."""
    why_not: ClassVar[str] = ""
    """Why it is not tried with whole programs, nor with attempts to get out."""

    def __init__(self, limit: float = FOREVER) -> None:
        """A new session. `limit`: seconds for a step, where that is said when it opens."""

    @classmethod
    def missing(cls) -> str:
        """Why it cannot be measured here, or nothing."""
        if not cls.needs or importlib.util.find_spec(cls.needs):
            return ""
        return f"not installed: pip install {cls.needs.replace('_', '-')}"

    @classmethod
    @contextlib.contextmanager
    def service(cls) -> Iterator[Callable[..., Contender]]:
        """What sessions share; gives what opens one."""
        yield cls

    printed: str = ""
    """What the last step printed."""

    def run(self, source: str) -> object:
        """Run a step; raises if it failed."""
        raise NotImplementedError

    def program(self, source: str, stdin: str, argv: list[str]) -> int:
        """Run a whole program; its exit status. Here it runs in this process, or one that has its input."""
        sys.stdin, sys.argv = io.StringIO(stdin), argv
        try:
            self.run(source)
        except SystemExit as error:
            return error.code if isinstance(error.code, int) else int(error.code is not None)
        except Exception:
            return 1
        return 0

    def get(self, name: str) -> Any:
        """A variable as a value of the host."""
        raise Cannot("values do not come back as objects")

    def save(self) -> None:
        """Keep the state as it is now."""
        raise Cannot("it cannot save a state")

    def back(self) -> None:
        """Bring back what was saved."""
        raise Cannot("it cannot save a state")

    def file(self) -> Contender:
        """A new session with this one's state, by way of bytes that a file could hold."""
        raise Cannot("it has no form of a state that a file could hold")

    def branch(self, count: int) -> list[Contender]:
        """So many new sessions with this one's state."""
        raise Cannot("it cannot save a state")

    def tools(self) -> None:
        """Let guest code call `add`."""
        raise Cannot("guest code cannot call a function of the host")

    def stop(self, source: str, seconds: float) -> str:
        """Run what never ends, stop it after `seconds`; what was lost, or nothing."""
        raise Cannot("it runs in the host's process, where nothing stops it")

    def close(self) -> None:
        """End the session."""


class Ours(Contender):
    """A session of `standard`; the sandbox is shared, as it is in a program."""

    name = "safeexec"
    holds = "kernel and language, a process of its own; every step undoable"
    boundary = "language"
    checkpoints = "idle"
    profile = "standard"
    large = False
    """Whether it may hold more than the profile says: others have no limit."""

    def __init__(self, sandbox: Any, limit: float = FOREVER, opened: Any = None) -> None:
        self._sandbox, self._limit = sandbox, min(limit, 30)
        self._session = opened or sandbox.session(checkpoints=self.checkpoints)

    @classmethod
    @contextlib.contextmanager
    def service(cls) -> Iterator[Callable[..., Contender]]:
        from safeexec import Policy, Sandbox

        policy = Policy.load(cls.profile)
        if cls.large:
            policy = policy.replace(memory_mb=2048, checkpoint_memory_mb=8192)
        with Sandbox(policy, tools=[add]) as sandbox:
            yield lambda limit=FOREVER: cls(sandbox, limit)

    def run(self, source: str) -> object:
        result = self._session.run(source, timeout=self._limit)
        self.printed = result.stdout
        return result.check().value

    def program(self, source: str, stdin: str, argv: list[str]) -> int:
        result = self._session.run(source, stdin=stdin, argv=argv, timeout=10)
        self.printed = result.stdout
        return result.exit_status if result.exit_status is not None else int(not result.ok)

    def get(self, name: str) -> Any:
        return self._session.get(name)

    def save(self) -> None:
        self._session.checkpoint("saved")

    def back(self) -> None:
        self._session.rollback("saved")

    def file(self) -> Contender:
        with tempfile.TemporaryDirectory() as directory:
            self._session.save(f"{directory}/state")
            return type(self)(self._sandbox, opened=self._sandbox.restore(f"{directory}/state"))

    def branch(self, count: int) -> list[Contender]:
        return [type(self)(self._sandbox, opened=one) for one in self._session.branch(count)]

    def tools(self) -> None:
        pass

    def stop(self, source: str, seconds: float) -> str:
        result = self._session.run(source, timeout=seconds)
        assert not result.ok, result
        return ""

    def close(self) -> None:
        self._session.close()


class OursKept(Ours):
    name = "safeexec, no undo"
    holds = "kernel and language, a process of its own"
    boundary = ""
    why_not = "as safeexec"
    checkpoints = "off"

    def stop(self, source: str, seconds: float) -> str:
        super().stop(source, seconds)
        return "the state is lost"


class BareExec(Contender):
    """`exec` in the host's own process."""

    name = "bare exec"
    holds = "nothing"
    apart = False
    boundary = "language"

    def __init__(self, limit: float = FOREVER) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, source: str) -> object:
        exec(compile(source, "<step>", "exec"), self.names)
        return None

    def get(self, name: str) -> Any:
        return self.names[name]

    def save(self) -> None:
        self._saved = self._dump()

    def back(self) -> None:
        self.names.update(pickle.loads(self._saved))

    def _dump(self) -> bytes:
        return pickle.dumps({name: self.names[name] for name in ("x", "state") if name in self.names}, 5)

    def _loaded(self, data: bytes) -> Contender:
        other = type(self)()
        other.names.update(pickle.loads(data))
        return other

    def file(self) -> Contender:
        return self._loaded(self._dump())

    def branch(self, count: int) -> list[Contender]:
        data = self._dump()
        return [self._loaded(data) for _ in range(count)]

    def tools(self) -> None:
        self.names["add"] = add


class RestrictedPython(BareExec):
    """With the guards that its documentation names."""

    name = "RestrictedPython"
    needs = "RestrictedPython"
    holds = "language, in the host's process"

    def __init__(self, limit: float = FOREVER) -> None:
        from RestrictedPython import Guards, compile_restricted, safe_builtins, utility_builtins
        from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter

        class Printer:
            def __init__(self, getattr_: Any = None) -> None:
                pass

            def _call_print(self, *objects: Any, **options: Any) -> None:
                print(*objects, **options)

        def guarded_import(name: str, *rest: Any) -> Any:
            if name.partition(".")[0] not in IMPORTS:
                raise ImportError(f"{name} is not allowed")
            return __import__(name, *rest)

        inplace = {"+=": "__add__", "-=": "__sub__", "*=": "__mul__", "/=": "__truediv__", "//=": "__floordiv__"}
        plain = (
            all, any, dict, enumerate, filter, iter, list, map, max, min, next, range, reversed, set, sum, tuple,
        )  # fmt: skip
        usual = {**safe_builtins, **utility_builtins, "__import__": guarded_import}
        usual |= {one.__name__: one for one in plain}
        self._compile = compile_restricted
        self.names = {
            "__builtins__": usual,
            "__name__": "__main__",
            "__metaclass__": type,
            "_getattr_": Guards.safer_getattr,
            "_getitem_": default_guarded_getitem,
            "_getiter_": default_guarded_getiter,
            "_iter_unpack_sequence_": Guards.guarded_iter_unpack_sequence,
            "_unpack_sequence_": Guards.guarded_unpack_sequence,
            "_write_": Guards.full_write_guard,
            "_print_": Printer,
            "_inplacevar_": lambda operator, left, right: getattr(left, inplace[operator])(right),
        }

    def run(self, source: str) -> object:
        exec(self._compile(source, "<step>", "exec"), self.names)
        return None


class Smolagents(BareExec):
    """smolagents' LocalPythonExecutor: an interpreter of the syntax tree."""

    name = "smolagents"
    needs = "smolagents"
    holds = "its own interpreter of the syntax tree, in the host's process"

    def __init__(self, limit: float = FOREVER) -> None:
        from smolagents.local_python_executor import LocalPythonExecutor

        seconds = 30 if limit == FOREVER else int(limit)
        self._executor = LocalPythonExecutor(list(IMPORTS), timeout_seconds=seconds)
        self._executor.send_tools({})
        self.names = self._executor.state

    def run(self, source: str) -> object:
        answer = self._executor(source)
        self.printed = answer.logs
        return answer.output

    def tools(self) -> None:
        self._executor.send_tools({"add": add})

    def stop(self, source: str, seconds: float) -> str:
        with contextlib.suppress(Exception):
            self._executor(source)
        return "a thread of the host runs on"


class Asteval(BareExec):
    """asteval: an interpreter of the syntax tree."""

    name = "asteval"
    needs = "asteval"
    holds = "its own interpreter of the syntax tree, in the host's process"

    def __init__(self, limit: float = FOREVER) -> None:
        import asteval

        self._written = io.StringIO()
        self._interpreter = asteval.Interpreter(writer=self._written, err_writer=io.StringIO())
        self.names = self._interpreter.symtable

    def run(self, source: str) -> object:
        self._written.seek(0)
        self._written.truncate()
        value = self._interpreter(source)
        self.printed = self._written.getvalue()
        if self._interpreter.error:
            raise RuntimeError(" ".join(str(part) for part in self._interpreter.error[0].get_error()))
        return value


class Interpretthis(Contender):
    """interpretthis: an interpreter in Rust, in the host's process."""

    name = "interpretthis"
    needs = "interpretthis"
    holds = "its own interpreter (Rust), in the host's process"
    apart = False
    boundary = "language"

    def __init__(self, limit: float = FOREVER) -> None:
        import interpretthis

        # The limit of 60 million operations is raised: others have none.
        config = interpretthis.Config(
            max_execution_time=limit,
            max_operations=10**12,
            max_while_iterations=10**12,
            max_memory_bytes=4 << 30,
            max_stdout_bytes=16 << 20,
        )
        self._interpreter = interpretthis.Interpreter(tools={"add": add}, config=config)

    def run(self, source: str) -> object:
        answer = self._interpreter.execute(source)
        self.printed = answer.stdout
        if answer.error is not None:
            raise answer.error
        return None

    def get(self, name: str) -> Any:
        return self._interpreter.get_variable(name)

    def save(self) -> None:
        self._saved = self._interpreter.export_state()

    def back(self) -> None:
        self._interpreter.import_state(self._saved)

    def _loaded(self, data: bytes) -> Contender:
        other = type(self)()
        other._interpreter.import_state(data)
        return other

    def file(self) -> Contender:
        return self._loaded(self._interpreter.export_state())

    def branch(self, count: int) -> list[Contender]:
        data = self._interpreter.export_state()
        return [self._loaded(data) for _ in range(count)]

    def tools(self) -> None:
        pass

    def stop(self, source: str, seconds: float) -> str:
        with contextlib.suppress(Exception):
            self.run(source)
        return ""


class Monty(Contender):
    """pydantic-monty: an interpreter of its own in a worker process; the pool is shared."""

    name = "Monty"
    needs = "pydantic_monty"
    holds = "its own interpreter (Rust), a process of its own"
    boundary = "language"

    def __init__(self, pool: Any, limit: float = FOREVER) -> None:
        self._pool = pool
        self._context = pool.checkout(limits={"max_feed_duration_secs": limit, "max_suspensions": 10**9})
        self._session = self._context.__enter__()

    @classmethod
    @contextlib.contextmanager
    def service(cls) -> Iterator[Callable[..., Contender]]:
        import pydantic_monty

        # Its default is as many sessions as there are cores; another one would wait for ever.
        with pydantic_monty.Monty(max_processes=64, checkout_timeout=5) as pool:
            yield lambda limit=FOREVER: cls(pool, limit)

    def run(self, source: str) -> object:
        import pydantic_monty

        said = pydantic_monty.CollectString()
        try:
            return self._session.feed_run(source, external_lookup={"add": add}, print_callback=said)
        finally:
            self.printed = said.output

    def get(self, name: str) -> Any:
        return self._session.feed_run(name)

    def save(self) -> None:
        self._saved = self._session.dump()

    def back(self) -> None:
        self.close()
        fresh = self._loaded(self._saved)
        self._context, self._session = fresh._context, fresh._session

    def _loaded(self, data: bytes) -> Monty:
        other = type(self)(self._pool)
        other._session.load_session(data)
        return other

    def file(self) -> Contender:
        return self._loaded(self._session.dump())

    def branch(self, count: int) -> list[Contender]:
        data = self._session.dump()
        return [self._loaded(data) for _ in range(count)]

    def tools(self) -> None:
        pass

    def stop(self, source: str, seconds: float) -> str:
        try:
            self.run(source)
        except Exception:
            pass
        return "its documentation says to discard the session"

    def close(self) -> None:
        self._context.__exit__(None, None, None)


class BareForked(Contender):
    """A forked child on a socket pair that compiles and runs what it is sent: the floor of whatever has a process."""

    name = "bare forked child"
    holds = "nothing; a process of its own"
    why_not = "as bare exec"

    def __init__(self, limit: float = FOREVER) -> None:
        from benchmarks.common import BareChild

        self._child = BareChild()

    def run(self, source: str) -> object:
        answer = self._child.run(source)
        self.printed = answer["output"]
        return answer["value"]

    def get(self, name: str) -> Any:
        return json.loads(self._child.run(f"import json\njson.dumps({name})")["value"])

    def stop(self, source: str, seconds: float) -> str:
        self._child.stop(source, seconds)
        self.__init__()  # type: ignore[misc]
        return "the state is lost"

    def close(self) -> None:
        self._child.close()


class Process(Contender):
    """A new interpreter for each step; the state goes from step to step in a file, by pickle or cloudpickle."""

    name = "process per step"
    holds = "nothing; a process of its own"

    def __init__(self, limit: float = FOREVER) -> None:
        self._limit = limit
        self._directory = tempfile.mkdtemp(prefix="steps-")
        self._state = Path(self._directory, "state")

    def command(self) -> list[str]:
        return [sys.executable, "-I", STEPPER]

    def _step(self, source: str, stdin: str = "", argv: list[str] | None = None, limit: float = 0) -> Any:
        path = Path(self._directory, "step.py")
        path.write_text(source)
        given = [*self.command(), str(self._state), str(path), *(argv or ["-c"])]
        limit = limit or self._limit
        done = subprocess.run(given, input=stdin, capture_output=True, text=True, timeout=limit, check=False)
        self.printed = done.stdout
        return done

    def run(self, source: str) -> object:
        done = self._step(source)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])
        return None

    def program(self, source: str, stdin: str, argv: list[str]) -> int:
        return int(self._step(source, stdin, argv, 10).returncode)

    def get(self, name: str) -> Any:
        self._step(f"import json; print(json.dumps({name}))")
        return json.loads(self.printed)

    def save(self) -> None:
        shutil.copyfile(self._state, f"{self._state}.saved")

    def back(self) -> None:
        shutil.copyfile(f"{self._state}.saved", self._state)

    def file(self) -> Contender:
        other = type(self)()
        shutil.copyfile(self._state, other._state)
        return other

    def branch(self, count: int) -> list[Contender]:
        return [self.file() for _ in range(count)]

    def stop(self, source: str, seconds: float) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._step(source, limit=seconds)
        return ""

    def close(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


class Bubblewrap(Process):
    """The same, without network, with an empty environment and a root of its own."""

    name = "process per step, bubblewrap"
    holds = "namespaces, a process of its own"
    boundary = "process"

    @classmethod
    def missing(cls) -> str:
        return "" if shutil.which("bwrap") else "not installed: apt-get install bubblewrap"

    def command(self) -> list[str]:
        read = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", sys.prefix, sys.base_prefix, STEPPER]
        shown = [part for path in read if os.path.exists(path) for part in ("--ro-bind", path, path)]
        own = ["--tmpfs", "/tmp", "--bind", self._directory, self._directory]
        return [
            "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", *shown,
            "--proc", "/proc", "--dev", "/dev", *own, *super().command(),
        ]  # fmt: skip


class Ipykernel(Contender):
    """A Jupyter kernel, through jupyter_client."""

    name = "ipykernel"
    needs = "ipykernel"
    holds = "nothing; a process of its own"
    why_not = "a kernel takes a second to start; it holds nothing back, as bare exec"

    def __init__(self, limit: float = FOREVER) -> None:
        from jupyter_client.manager import start_new_kernel

        self._manager, self._client = start_new_kernel(kernel_name="python3")

    @classmethod
    def missing(cls) -> str:
        found = map(importlib.util.find_spec, ("ipykernel", "jupyter_client"))
        return "" if all(found) else "not installed: pip install ipykernel jupyter-client"

    def run(self, source: str) -> object:
        said: list[str] = []

        def hear(message: Any) -> None:
            content = message["content"]
            if message["msg_type"] == "stream" and content["name"] == "stdout":
                said.append(content["text"])
            elif message["msg_type"] == "execute_result":
                said.append(content["data"]["text/plain"])

        reply = self._client.execute_interactive(source, output_hook=hear, allow_stdin=False, timeout=60)
        self.printed = "".join(said)
        if reply["content"]["status"] != "ok":
            raise RuntimeError(str(reply["content"].get("evalue")))
        return None

    def get(self, name: str) -> Any:
        self.run(f"import json; print(json.dumps({name}))")
        return json.loads(self.printed)

    def stop(self, source: str, seconds: float) -> str:
        try:
            self._client.execute_interactive(source, output_hook=lambda _: None, allow_stdin=False, timeout=seconds)
        except TimeoutError:
            self._manager.interrupt_kernel()
        try:
            self._client.execute_interactive("1", output_hook=lambda _: None, allow_stdin=False, timeout=3)
        except TimeoutError:
            self._manager.restart_kernel(now=True)
            self._client.wait_for_ready(timeout=30)
            return "the state is lost: 3 s after an interrupt the kernel is started anew"
        return ""

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


class Pyodide(Contender):
    """CPython as WebAssembly, in a process of node, spoken to in lines."""

    name = "Pyodide"
    holds = "the WebAssembly runtime, a process of its own"
    why_not = "an instance takes a second to start"

    def __init__(self, limit: float = FOREVER) -> None:
        script = str(Path(__file__).with_name("pyodide.mjs"))
        self._node = subprocess.Popen(
            ["node", script, str(PYODIDE / "pyodide.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._read()

    @classmethod
    def missing(cls) -> str:
        if shutil.which("node") and PYODIDE.exists():
            return ""
        return f"not installed: apt-get install nodejs npm && npm install --prefix {PYODIDE.parents[1]} pyodide"

    def _read(self) -> Any:
        assert self._node.stdout is not None
        line = self._node.stdout.readline()
        if not line:
            raise EOFError("node has ended")
        return json.loads(line)

    def _ask(self, source: str) -> Any:
        self._send(source)
        return self._read()

    def _send(self, source: str) -> None:
        assert self._node.stdin is not None
        self._node.stdin.write(json.dumps(source) + "\n")
        self._node.stdin.flush()

    def run(self, source: str) -> object:
        answer = self._ask(source)
        self.printed = answer["printed"]
        if answer["error"]:
            raise RuntimeError(answer["error"].strip().splitlines()[-1])
        return None

    def get(self, name: str) -> Any:
        self.run(f"import json; print(json.dumps({name}))")
        return json.loads(self.printed)

    def stop(self, source: str, seconds: float) -> str:
        import select

        self._send(source)
        select.select([self._node.stdout], [], [], seconds)
        self.close()
        self.__init__()  # type: ignore[misc]
        return "the state is lost"

    def close(self) -> None:
        self._node.kill()
        self._node.communicate()


CONTENDERS: tuple[type[Contender], ...] = (
    Ours, OursKept, BareForked, Monty, Ipykernel, Pyodide, Process, Bubblewrap,
    BareExec, RestrictedPython, Smolagents, Asteval, Interpretthis,
)  # fmt: skip
BY_NAME = {one.name: one for one in CONTENDERS}
