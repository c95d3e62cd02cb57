"""The probe answers by trying: what is taken away is found missing, with the reason."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import ExitStack

import pytest

from safeexec.engine.linux import landlock, probe, seccomp
from safeexec.engine.syscalls import allow, refuse
from safeexec.engine.syscalls.numbers import numbers
from tests.alone import alone
from tests.kernel.harness import refuse_namespaces
from tests.limits import limited


def test_every_question_has_an_answer() -> None:
    answers = probe.Trial().result()
    for name, answer in zip(answers._fields, answers, strict=True):
        if isinstance(answer, probe.ProbeAnswer):
            assert answer.works != bool(answer.reason), name
            assert "ended before" not in answer.reason, name


def test_a_host_with_many_descriptors_gets_the_same_answers() -> None:
    """`select` takes none above 1023."""
    with limited(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)[1]), ExitStack() as held:
        while (descriptor := os.dup(0)) < 1100:
            held.callback(os.close, descriptor)
        held.callback(os.close, descriptor)
        assert probe.Trial().result() == probe.probe() and probe.probe() is probe.probe()


GIVEN_UP = """
import ctypes, os, select, signal
from safeexec.engine.linux import probe

ctypes.CDLL(None).prctl(36, 1)  # whoever loses its parent is a child of this process
for half_milliseconds in range(0, 80, 2):
    probe.begin()
    select.select([], [], [], half_milliseconds / 2000)
    probe.give_up()
signal.alarm(30)
try:
    while True:
        os.waitpid(-1, 0)
except ChildProcessError:
    print("none is left")
"""


@pytest.mark.skipif(not probe.probe().notify.works, reason="no fork waits for permission here")
def test_a_probe_that_is_given_up_leaves_no_process() -> None:
    """At whatever point it is killed: one of its forks waited for a permission that nobody could give any more."""
    done = alone(GIVEN_UP)
    assert (done.returncode, done.stdout) == (0, "none is left\n"), done.stderr


@pytest.mark.skipif(not probe.probe().seccomp.works, reason="it takes a filter to take something away")
def test_without_namespaces_the_rest_still_works_and_a_landlock_that_is_refused_counts_as_missing() -> None:
    answers = probe.Trial(refuse_namespaces).result()
    for kind in ("user", "mount", "pid", "net", "ipc", "uts", "cgroup"):
        assert not answers.namespace(kind).works
    assert "EPERM" in answers.user.reason
    assert answers.seccomp == probe.probe().seccomp
    assert answers.landlock_abi == probe.probe().landlock_abi

    def refuse_landlock() -> None:
        rules = dict.fromkeys(numbers(), allow()) | {"landlock_restrict_self": refuse(errno.EPERM)}
        seccomp.install(rules)

    answers = probe.Trial(refuse_landlock).result()
    assert not answers.landlock.works and answers.landlock_abi == 0
    assert landlock.abi() == probe.probe().landlock_abi


def test_a_probe_that_dies_has_no_good_news() -> None:
    def die() -> None:
        raise SystemExit

    answers = probe.Trial(die).result()
    assert not any(answer.works for answer in answers if isinstance(answer, probe.ProbeAnswer))
    assert answers.landlock_abi == 0
