"""A package that nobody has reviewed (`danger_allow_modules`): what guest code gets of it, and where it says so."""

from __future__ import annotations

import json

import pytest

from safeexec import Policy, PolicyError, Sandbox
from safeexec.host.startup.configuration import preloaded

MINE = Policy.load("data-analysis").replace(danger_allow_modules=["packaging"])


def test_its_own_public_names_are_there_and_nothing_that_it_imported() -> None:
    with Sandbox(MINE) as sandbox, sandbox.session() as session:
        run = session.run
        assert run("from packaging.version import Version\nVersion('1.10') > Version('1.9')").value is True
        assert run("import packaging.specifiers\n'1.2' in packaging.specifiers.SpecifierSet('>=1')").value is True
        assert run("from packaging import requirements\nrequirements.Requirement('a[b]>1').name").value == "a"
        assert run("import packaging.utils as u\nu.canonicalize_name('A_b')").value == "a-b"
        for source in (
            "import packaging.tags\npackaging.tags.sys",
            "import packaging.tags\npackaging.tags.subprocess.run",
            "from packaging.tags import platform",
            "from packaging import _musllinux",
            "import packaging._musllinux",
            "import packaging.version\npackaging.version.__builtins__",
            "import packaging.version\npackaging.version._parse_letter_version",
            "import packaging.version as v\nv.Version.__init__.__globals__",
            "import packaging.version as v\nv.Version = 1",
            "import pluggy",
            "from packaging import nothing",
        ):
            assert not run(source).ok, source
        row = next(row for row in session.protection if row.name == "module-review")
        assert not row.active and "packaging" in row.detail
        with pytest.raises(PolicyError, match="danger_allow_modules"):
            sandbox.session(danger_allow_modules=["packaging", "pluggy"])


def test_the_kernel_holds_what_it_does() -> None:
    """`packaging.tags` starts programs to ask about the machine: refused as anything of the kind."""
    with Sandbox(Policy.load("data-analysis").replace(danger_allow_modules=["pluggy"])) as sandbox:
        assert sandbox.run("import pluggy\npluggy.PluginManager('x').project_name").value == "x"
        assert not sandbox.run("import pluggy\npluggy.PluginManager('x').load_setuptools_entrypoints.__globals__").ok


def test_it_is_imported_in_the_child_alone() -> None:
    with Sandbox(MINE) as sandbox:
        told = sandbox.run("import sys\nimport packaging\n'there'")
        assert told.value == "there"
        assert "packaging" not in MINE.imports
        assert "packaging" not in preloaded(MINE)


def test_why_the_card_and_check_say_what_it_costs() -> None:
    answer = MINE.why("packaging.version")
    assert answer.allowed and "nobody has reviewed it" in answer.reason
    assert "packaging (not reviewed)" in json.loads(MINE.card("json"))["imports"]
    assert any("nobody has reviewed it" in str(finding) and finding.harmless for finding in MINE.check())
    assert not Policy.load("data-analysis").why("packaging").allowed
    assert all(row.name != "module-review" for row in Sandbox("calculator").open().protection)


@pytest.mark.modules("jinja2")
def test_what_runs_text_says_so() -> None:
    policy = MINE.replace(danger_allow_modules=["jinja2"])
    assert "runs text as code" in policy.why("jinja2.sandbox").reason
    assert "jinja2 (not reviewed, runs text as code)" in policy.card("json")
    assert any("runs text as code" in finding.text and finding.cost for finding in policy.check())
    assert "runs text" not in MINE.why("packaging").reason


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("numpy", "it belongs under imports"),
        ("ctypes", "no policy can allow this module"),
        ("subprocess", "no policy can allow this module"),
        ("importlib.util", "no policy can allow this module"),
        ("wave", "only reviewed modules can be allowed"),
        ("safeexec", "only reviewed modules can be allowed"),
        ("a b", "expected a package"),
        ("_private", "expected a package"),
        ("../x", "expected a package"),
    ],
)
def test_what_has_been_judged_stays_judged(module: str, why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        Policy.load("data-analysis").replace(danger_allow_modules=[module])


def test_its_modules_may_look_past_a_metaclass_while_they_are_loaded() -> None:
    """The dict of a class, by the descriptor of all: what else calls it is refused."""
    pytest.importorskip("wrapt")
    policy = Policy.load("data-analysis").replace(danger_allow_modules=["wrapt"])
    with Sandbox(policy) as sandbox, sandbox.session() as session:
        result = session.run(
            "import wrapt\n@wrapt.decorator\ndef twice(wrapped, instance, args, options): return 2 * wrapped(*args)\n"
            "@twice\ndef f(x): return x\nf(3)"
        )
    assert result.value == 6, result.error
