"""This year's holes of other systems, each by its name: what they let through is stopped here, and by what."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Iterator
from time import monotonic

import pytest

from safeexec import Sandbox


@pytest.fixture(scope="module")
def standard() -> Iterator[Sandbox]:
    """The default profile, with one tool."""

    def price(name: str) -> dict[str, float]:
        """The price of a thing."""
        return {name: 1.5}

    with Sandbox("standard", tools=[price]) as sandbox:
        yield sandbox


def message(sandbox: Sandbox, source: str) -> str:
    """How a program ended; it must not have ended well."""
    result = sandbox.run(source)
    assert result.error is not None, result
    return f"{result.error.type}: {result.error.message}"


@pytest.mark.parametrize("name", ["_getattr_", "_write_", "__builtins__", "__import__", "_getiter_"])
@pytest.mark.parametrize("form", ["def f({}, /): pass", "lambda {}, /: 1", "def f(a, {}, /, b): pass"])
def test_restrictedpython_cve_2026_55830_a_positional_only_parameter_shadows_a_guard(
    standard: Sandbox, form: str, name: str
) -> None:
    assert name in message(standard, form.format(name))


def test_restrictedpython_cve_2026_76825_string_formatter_then_attrgetter(standard: Sandbox) -> None:
    for expression in (
        "string.Formatter().get_field('0.__globals__', (json.dumps,), {})",
        "string.Formatter().vformat('{0.__globals__}', (json.dumps,), {})",
        "operator.attrgetter('__globals__')(json.dumps)",
        "operator.attrgetter('__class__.__subclasses__')(1)",
    ):
        assert "refused" in message(standard, f"import string, operator, json\n{expression}")


def test_n8n_cve_2026_0863_formatting_and_exceptions_that_carry_objects(standard: Sandbox) -> None:
    caught = "import math\ntry: math.nothing\nexcept AttributeError as e:\n    "
    for expression in (
        "e.obj",
        "('{0.o' + 'bj}').format(e)",
        "('{0.__traceback__.tb_fr' + 'ame}').format(e)",
        "e.__traceback__.tb_frame",
        "getattr(e, 'obj')",
    ):
        assert "refused" in message(standard, caught + expression)


def test_terrarium_cve_2026_5752_what_the_host_gives_leads_back_to_nothing(standard: Sandbox) -> None:
    """There the prototypes of the host's objects were the host's own."""
    assert standard.run("price('a')").value == {"a": 1.5}
    for expression in ("price.__globals__", "price.__closure__", "price.__code__", "type(price).__subclasses__()"):
        assert "refused" in message(standard, expression)
    assert standard.run("type(price('a')) is dict and type(price('a')).__mro__ == (dict, object)").value is True


def test_vm2_a_finaliser_does_not_run_after_the_deadline(standard: Sandbox) -> None:
    source = "class F:\n    def __del__(self):\n        while True: pass\nkept = [F()]\n"
    with standard.session() as session:
        started = monotonic()
        result = session.run(source + "while True: pass", timeout=0.5)
        assert result.outcome == "timeout" and result.state == "restored"
        assert session.run("1 + 1").value == 2
        assert session.run(source).ok
        assert session.run("kept.clear()", timeout=0.5).outcome == "timeout"
        assert session.run("1 + 1").value == 2
    assert monotonic() - started < 60


def test_vm2_errors_that_cross_the_wall_are_text(standard: Sandbox) -> None:
    result = standard.run(
        "class E(Exception):\n    def __str__(self): raise SystemExit(3)\n    __repr__ = __str__\n"
        "E.__name__ = 'os.system'\nraise E([len])"
    )
    assert result.error is not None and result.outcome == "error"
    assert all(type(text) is str for text in (result.error.type, result.error.message, result.error.traceback))
    assert type(result.check.__self__) is type(result)


@pytest.mark.parametrize("name", ["__globals__\\0", "\\0__globals__", "__globals__\\0x"])
def test_srt_a_nul_byte_in_a_checked_name(standard: Sandbox, name: str) -> None:
    """Who checks text with the byte, and then hands it to C, has checked another name."""
    assert "AttributeError" in message(standard, f"import json\ngetattr(json.dumps, '{name}')")
    assert "AttributeError" in message(standard, f"import json, operator\noperator.attrgetter('{name}')(json.dumps)")


def test_srt_a_nul_byte_in_a_path() -> None:
    with Sandbox("data-analysis") as sandbox:
        assert "ValueError: embedded null byte" in message(sandbox, "open('a.txt\\0/../../etc/passwd')")


def test_langflow_cve_2026_33873_a_check_executes_nothing(tmp_path: pathlib.Path, standard: Sandbox) -> None:
    marker = tmp_path / "executed"
    write = f"__import__('pathlib').Path({str(marker)!r}).write_text('x')"
    source = f"@{write}\ndef f(a={write}, b: {write} = 1): pass\nclass C(metaclass={write}): x = {write}\n{write}\n"
    program, policy = tmp_path / "program.py", tmp_path / "policy.yaml"
    program.write_text(source)
    policy.write_text(f'extends: standard\ndescription: "{{{{ {write} }}}}"\n')
    standard.check(source)
    for command in (
        ["check", str(program)],
        ["policy", "check", str(policy)],
        ["policy", "why", "--program", str(program)],
        ["card", "--policy", str(policy)],
    ):
        subprocess.run([sys.executable, "-m", "safeexec", *command], cwd=tmp_path, capture_output=True, timeout=60)
        assert not marker.exists(), command
