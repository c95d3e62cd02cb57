"""Fixtures for tests of the running system: sandboxes that a worker keeps, a watch for leaks, skips that say why.

``SAFEEXEC_TESTS_NO_SKIP=1`` turns every skip into a failure: for a machine that is meant to have everything.
"""

from __future__ import annotations

import asyncio
import faulthandler
import inspect
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from safeexec import Policy, Result, Sandbox, Session
from safeexec.cli import main
from safeexec.engine.host.session import session as session_module
from safeexec.engine.linux.probe import Probe, probe
from tests.footprint import Footprint, difference, family, footprint, leaks, pids, settled

OpenSandbox = Callable[[str], Sandbox]
OpenSession = Callable[..., Session]
Run = Callable[..., Result]


class Told(NamedTuple):
    """What a command said, and the status it ended with."""

    status: object
    out: str
    err: str


Called = Callable[..., Told]

# How long an example takes says how busy the machine is. What decides about a change tries the same examples each time;
# `.ci/full` and whoever says `--hypothesis-profile=new` try new ones.
settings.register_profile("new", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("new"), derandomize=True)
settings.load_profile("same")


_STANDARD_ERROR = pytest.StashKey[int]()
"""A descriptor of the real standard error, which pytest replaces while a test runs."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "needs(*mechanisms): skip where the kernel does not give one of them (names of `safeexec.engine.linux.probe`)",
    )
    config.stash[_STANDARD_ERROR] = os.dup(2)
    # Where a shell started this in the background SIGINT is ignored, here and in every program that a test starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "modules(*names): skip where one of these libraries is not installed")
    config.addinivalue_line(
        "markers", "profile(name): the policy of the fixtures `session` and `run`; default: standard"
    )


# Skips

NO_SKIP = bool(os.environ.get("SAFEEXEC_TESTS_NO_SKIP"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot do, with the probe's own reason."""
    for mark in item.iter_markers("modules"):
        for name in mark.args:
            if find_spec(name) is None:
                pytest.skip(f"{name} is not installed (pip install 'safeexec[libraries]' has the libraries of data)")
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            answer = getattr(probe(), name)
            if not answer.works:
                pytest.skip(f"this machine gives no {name}: {answer.reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test that the signal of its time-out does not reach, in a loop without Python, ends its worker, and says where
    it was: two minutes later.
    """
    mark = item.get_closest_marker("timeout")
    seconds = float(mark.args[0] if mark is not None and mark.args else item.config.getini("timeout"))
    faulthandler.dump_traceback_later(seconds + 120, exit=True, file=item.config.stash[_STANDARD_ERROR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an asynchronous test: on a loop of asyncio, or on that of its fixture `on_loop`."""
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}
    run = pyfuncitem.funcargs.get("on_loop", lambda main: asyncio.run(main()))
    run(lambda: test(**given))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Where no skip is allowed, have what was skipped fail: a test, or a module as it is collected."""
    report = yield
    if NO_SKIP and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and SAFEEXEC_TESTS_NO_SKIP is set: {report.longrepr}"
    return report


pytest_make_collect_report = pytest_runtest_makereport


@pytest.fixture(scope="session")
def machine() -> Probe:
    """What this machine can enforce, as the product itself finds it."""
    return probe()


@pytest.fixture(autouse=True)
def _own_builtins_and_finders() -> Iterator[None]:
    """Tests of the guest's language run in this process, and a language gives it builtins and a finder of its own."""
    module, finders = sys.modules["builtins"], [*sys.meta_path]
    yield
    sys.modules["builtins"], sys.meta_path[:] = module, finders


# Sandboxes

_resting: dict[str, Footprint] = {}
"""What each sandbox that is kept for the whole run holds when it rests."""


@pytest.fixture(scope="session", autouse=True)
def _own_temporary_directory() -> Iterator[None]:
    """A directory per worker: what one leaves behind is not taken for another's. Guests of another uid pass through."""
    before = tempfile.tempdir
    directory = tempfile.mkdtemp(prefix="tests-")
    os.chmod(directory, 0o711)
    tempfile.tempdir = directory
    yield
    tempfile.tempdir = before
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def sandbox_for(_own_temporary_directory: None) -> Iterator[OpenSandbox]:
    """A sandbox per profile, opened at first use and kept by the worker: ``sandbox_for("calculator")``."""
    opened: dict[str, Sandbox] = {}

    def get(profile: str) -> Sandbox:
        while profile not in opened:
            before, others = settled(), pids()
            # No spare child: a sandbox at rest always holds the same.
            sandbox = Sandbox(profile, spare=0).open()
            after, held = footprint(), family(sandbox._core.children.zygote.pid)  # type: ignore[union-attr]
            if not others <= pids():
                sandbox.close()  # a session has gone or rests meanwhile: what it held is missing in the difference
                continue
            opened[profile] = sandbox
            _resting[profile] = difference(after, before)._replace(processes=held)
        return opened[profile]

    yield get
    for sandbox in opened.values():
        sandbox.close()


@pytest.fixture(scope="module", autouse=True)
def _nothing_leaks(_own_temporary_directory: None) -> Iterator[None]:
    """After each module: no descriptor, thread, process or temporary directory of its own is left."""
    before, known = footprint(), set(_resting)
    yield
    left = leaks(before, allowed=[held for profile, held in _resting.items() if profile not in known])
    assert not left, f"left behind by this module: {left}"


@pytest.fixture
def profile(request: pytest.FixtureRequest) -> str:
    mark = request.node.get_closest_marker("profile")
    return str(mark.args[0]) if mark is not None else "standard"


@pytest.fixture
def sandbox(sandbox_for: OpenSandbox, profile: str) -> Sandbox:
    """The worker's sandbox of the test's profile."""
    return sandbox_for(profile)


@pytest.fixture
def open_session(sandbox_for: OpenSandbox, profile: str) -> Iterator[OpenSession]:
    """Sessions that are closed after the test: ``open_session(memory_mb=64)``, ``open_session(profile="plugin")``."""
    opened: list[Session] = []

    def get(profile: str = profile, **tightened: Any) -> Session:
        opened.append(sandbox_for(profile).session(**tightened))
        return opened[-1]

    yield get
    for session in opened:
        session.close()


@pytest.fixture
def session(open_session: OpenSession) -> Session:
    """A new session under the test's profile."""
    return open_session()


@pytest.fixture
def run(session: Session) -> Run:
    """Run a step in `session`."""
    return session.run


@pytest.fixture
def called(capfd: pytest.CaptureFixture[str]) -> Called:
    """The command `safeexec` with these words, in this process: ``called("policy", "list").out``."""

    def call(*words: object) -> Told:
        try:
            status: object = main([str(word) for word in words])
        except SystemExit as end:
            status = end.code
        return Told(status, *capfd.readouterr())

    return call


@pytest.fixture
def awake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no session rest by itself: half a second without use, which a busy machine puts between any two lines of a
    test, would take the process or the copy away that the test has in hand, and begin a new file in a store.
    """
    monkeypatch.setattr(session_module, "REST_SECONDS", 3600.0)


@pytest.fixture
def policy(profile: str) -> Policy:
    """The policy of the test's profile, to be changed for a sandbox of the test's own."""
    return Policy.load(profile)
