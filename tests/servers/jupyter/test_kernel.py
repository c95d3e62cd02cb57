"""The Jupyter kernel as real clients meet it: jupyter_client message by message, nbclient with whole notebooks."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from safeexec.cli import main
from tests.footprint import gone

pytestmark = [pytest.mark.modules("ipykernel", "jupyter_client"), pytest.mark.timeout(600)]
PATIENCE = 240.0
"""Seconds for a kernel to start and for a cell: machines may be busy."""


class Front:
    """A front end with one kernel."""

    def __init__(self, prefix: Path, policy: str = "standard") -> None:
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import KernelManager

        assert main(["jupyter", "install", "--prefix", str(prefix), "--policy", policy]) == 0
        specs = KernelSpecManager(kernel_dirs=[str(prefix / "share/jupyter/kernels")])
        # Over sockets in a directory: a port is found free, let go of and bound later, when another may have it.
        self.manager = KernelManager(
            kernel_name="safeexec", kernel_spec_manager=specs, transport="ipc", ip=str(prefix / "kernel")
        )
        self.manager.start_kernel(cwd=str(prefix))
        self.connect()

    def connect(self) -> None:
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)

    def run(self, code: str, **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The reply of a cell, and the messages it published, each with its `msg_type`."""
        said: list[dict[str, Any]] = []
        reply = self.client.execute_interactive(
            code,
            timeout=PATIENCE,
            output_hook=lambda m: said.append({"msg_type": m["msg_type"], **m["content"]}),
            **options,
        )
        return reply["content"], [row for row in said if row["msg_type"] not in ("status", "execute_input")]

    def ask(self, send: Callable[[], str]) -> dict[str, Any]:
        """The reply to the message whose id `send` gives."""
        wanted = send()
        while (reply := self.client.get_shell_msg(timeout=PATIENCE))["parent_header"]["msg_id"] != wanted:
            pass
        return dict(reply["content"])

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel()
        del self.client, self.manager


@pytest.fixture(scope="module", autouse=True)
def _nothing_of_the_client_is_left() -> Iterator[None]:
    """jupyter_client keeps an event loop per thread, pyzmq a thread that frees the large messages it has sent."""
    yield
    pytest.importorskip("jupyter_core.utils").ensure_event_loop().close()
    frees = pytest.importorskip("zmq.utils.garbage").gc
    frees.stop()
    frees.context.term()
    frees.context = None  # this module may go on in this process: with one that has ended its messages wait for ever
    gc.collect()


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with closing(Front(tmp_path_factory.mktemp("jupyter"))) as made:
        yield made


def of_kind(said: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in said if row["msg_type"] == kind]


def test_it_says_who_it_is_and_shows_output_and_value(front: Front) -> None:
    told = front.ask(front.client.kernel_info)
    assert (told["implementation"], told["language_info"]["name"]) == ("safeexec", "python")
    assert told["supported_features"] == []
    reply, said = front.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\n6 * 7")
    assert reply["status"] == "ok"
    streams = sorted((row["name"], row["text"]) for row in of_kind(said, "stream"))
    assert streams == [("stderr", "b\n"), ("stdout", "a\n")]
    (value,) = of_kind(said, "execute_result")
    assert (value["data"], value["execution_count"]) == ({"text/plain": "42"}, reply["execution_count"])
    reply, said = front.run("print('x')\n1", silent=True)
    assert (reply["status"], said) == ("ok", [])


def test_an_error_and_what_follows_it(front: Front) -> None:
    reply, said = front.run("value = [1]\nvalue[2]")
    assert reply["status"] == "error" and reply["ename"] == "IndexError"
    (error,) = of_kind(said, "error")
    assert error["traceback"][-1].startswith("hint: ") and any("^" in line for line in error["traceback"])
    assert front.run("value")[0]["status"] == "ok"


def test_input_of_the_person(front: Front) -> None:
    asked = []

    def answer(message: dict[str, Any]) -> None:
        asked.append(message["content"]["prompt"])
        front.client.input("Ada")

    _, said = front.run("input('name? ') + '!'", allow_stdin=True, stdin_hook=answer)
    assert (asked, of_kind(said, "execute_result")[0]["data"]["text/plain"]) == (["name? "], "'Ada!'")
    assert front.run("input()", allow_stdin=False)[0]["ename"] == "EOFError"


def test_an_interrupt_undoes_the_cell_and_gives_up_a_question(front: Front) -> None:
    front.run("x = 1")
    front.client.execute("x = 2\nprint('begun')\nwhile True: pass", stop_on_error=False)
    while front.client.get_iopub_msg(timeout=PATIENCE)["msg_type"] != "stream":
        pass
    front.manager.interrupt_kernel()
    assert front.client.get_shell_msg(timeout=PATIENCE)["content"]["status"] == "error"
    _, said = front.run("x")
    assert of_kind(said, "execute_result")[0]["data"]["text/plain"] == "1"
    front.client.execute("input('never answered')", allow_stdin=True, stop_on_error=False)
    front.client.get_stdin_msg(timeout=PATIENCE)
    front.manager.interrupt_kernel()
    assert front.client.get_shell_msg(timeout=PATIENCE)["content"]["status"] == "error"
    assert front.run("1")[0]["status"] == "ok"


def test_completion_inspection_and_history(front: Front) -> None:
    front.run("import math\nvariable_of_mine = 1")
    assert front.ask(lambda: front.client.complete("math.sqr", 8))["matches"] == ["sqrt"]
    assert front.ask(lambda: front.client.complete("variable_o"))["matches"] == ["variable_of_mine"]
    told = front.ask(lambda: front.client.inspect("math.sqrt(", 10))
    assert told["found"] and "square root" in told["data"]["text/plain"]
    newest = front.ask(lambda: front.client.history(hist_access_type="tail", n=1))["history"]
    assert newest[0][2] == "import math\nvariable_of_mine = 1"
    found = front.ask(lambda: front.client.history(hist_access_type="search", pattern="*of_mine*", n=5))["history"]
    assert newest[0] in found
    everything = front.ask(lambda: front.client.history(hist_access_type="range", start=0, stop=10_000))["history"]
    assert len(everything) >= len(found)


def test_a_cell_that_no_person_writes_is_not_remembered(front: Front) -> None:
    """60 of 8 MB each stayed as 600 MB in the kernel's process."""
    front.run("#" + "x" * 200_000)
    newest = front.ask(lambda: front.client.history(hist_access_type="tail", n=1))["history"]
    assert all(len(cell) < 200_000 for _, _, cell in newest)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("x = = 1", "invalid"), ("%vars\nx = 1", "complete"), ("await f()", "complete"), ("for i in x:", "    "),
        ("def f():\n    return 1", "    "), ("def f():\n    return 1\n", "complete"), ("a = 1\nb = [", ""),
        ("x" * 300_000, "unknown"),
    ],
)  # fmt: skip
def test_whether_code_is_complete(front: Front, code: str, answer: str) -> None:
    told = front.ask(lambda: front.client.is_complete(code))
    assert told in ({"status": answer}, {"status": "incomplete", "indent": answer})


def sent(front: Front, kind: str, content: Any, channel: str = "shell", **parts: Any) -> dict[str, Any]:
    """The reply to a message that a client of its own makes."""
    message = front.client.session.msg(f"{kind}_request", {}) | {"content": json.dumps(content).encode(), **parts}
    getattr(front.client, f"{channel}_channel").send(message)
    while True:
        reply = getattr(front.client, f"get_{channel}_msg")(timeout=PATIENCE)
        if reply["parent_header"]["msg_id"] == message["header"]["msg_id"]:
            return dict(reply["content"])


@pytest.mark.parametrize("channel", ["shell", "control"])
def test_every_request_has_a_reply(front: Front, channel: str) -> None:
    """ipykernel sends none to what it cannot read."""
    code = {"code": "1"}
    place = {"code": "print", "cursor_pos": 2}
    whole = {"hist_access_type": "search", "output": False, "raw": True}
    wrong = {
        "execute": [{}, {"code": 7}, *(code | {name: "no"} for name in ("allow_stdin", "silent", "store_history"))],
        "complete": [{}, place | {"code": 7}, place | {"cursor_pos": "2"}, place | {"cursor_pos": -1}],
        "inspect": [{}, place | {"code": 7}, place | {"cursor_pos": None}, place | {"omit_sections": 3}],
        "is_complete": [{}, {"code": [1]}],
        "history": [{}, whole | {"n": "all"}, whole | {"what": 1}, whole | {"pattern": "[" * 2000}],
        "shutdown": [{}],
        "comm_info": [7],
        **{kind: [{}] for kind in ("debug", "usage", "create_subshell", "delete_subshell", "list_subshell")},
    }
    for kind, contents in wrong.items():
        for content in [*contents, [], None]:
            told = sent(front, kind, content, channel)
            assert told["status"] == "error" and f"{kind}_request: " in told["evalue"], (kind, content)
    assert sent(front, "execute", code, channel, metadata=[])["ename"] == "ValidationError"
    assert sent(front, "execute", code, channel)["status"] == "ok"


def test_of_long_code_the_line_around_the_cursor_is_looked_at(front: Front) -> None:
    """The tokens of 400,000 characters took 8 s, and each place of IPython's syntax had all of them taken anew."""
    line = "print(" + "'x " * 5000
    assert "print" in front.ask(lambda: front.client.inspect(line, 3))["data"]["text/plain"]
    assert "print" not in str(front.ask(lambda: front.client.inspect(line, 12_000)))
    assert not front.ask(lambda: front.client.inspect("if 1:\n        x\n    y", 4))["found"]
    assert front.ask(lambda: front.client.is_complete("%vars\n" * 1000))["status"] == "complete"
    assert front.ask(lambda: front.client.is_complete("x = %vars\n" * 900))["status"] == "invalid"


@pytest.mark.modules("numpy", "pandas", "matplotlib", "tqdm")
def test_tables_pictures_and_bars(tmp_path: Path) -> None:
    with closing(Front(tmp_path, "data-analysis")) as front:
        _, said = front.run("import pandas as pd\npd.DataFrame({'a': [1]})")
        assert "<table>" in of_kind(said, "execute_result")[0]["data"]["text/html"]
        _, said = front.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
        assert "image/png" in of_kind(said, "display_data")[0]["data"]
        _, said = front.run("from tqdm.auto import tqdm\nfor _ in tqdm(range(3), desc='work'): pass")
        assert "work: 100%" in of_kind(said, "update_display_data")[-1]["data"]["text/plain"]
        front.run("with open('a.txt', 'w') as file: file.write('x')")
        assert "a.txt" in of_kind(front.run("%files")[1], "stream")[0]["text"]


def test_a_restart_forgets_and_a_death_is_survived(tmp_path: Path) -> None:
    with closing(Front(tmp_path, "confined-python")) as front:
        front.run("x = 1")
        reply, _ = front.run("import os\nos._exit(1)")
        assert reply["status"] == "error" and "state: restored to what it was before this step" in reply["traceback"]
        assert front.run("x")[0]["status"] == "ok"
        front.client.stop_channels()
        front.manager.restart_kernel()
        front.connect()
        assert front.run("x")[0]["ename"] == "NameError"


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_kernel_that_is_killed_leaves_nothing(tmp_path: Path, how: str) -> None:
    front = Front(tmp_path)
    try:
        front.client.execute("print('begun')\nwhile True: pass")
        while front.client.get_iopub_msg(timeout=PATIENCE)["msg_type"] != "stream":
            pass
        kernel = psutil.Process(front.manager.provisioner.process.pid)
        family = [kernel, *kernel.children(recursive=True)]
        assert len(family) > 2
        getattr(kernel, how)()
        gone(family)
    finally:
        front.client.stop_channels()
        front.manager.shutdown_kernel(now=True)


def test_a_module_of_the_notebooks_directory_is_not_imported(tmp_path: Path) -> None:
    for name in ("yaml", "tqdm", "psutil", "fnmatch"):
        (tmp_path / f"{name}.py").write_text("open('was-imported', 'w')")
    with closing(Front(tmp_path)) as front:
        front.run("%policy")
        assert front.run("1")[0]["status"] == "ok"
    assert not (tmp_path / "was-imported").exists()
