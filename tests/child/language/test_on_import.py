"""Acting when a module has been loaded, whoever loads it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def run(code: str, path: Path) -> str:
    source = "import sys\nsys.path.insert(0, sys.argv[1])\nfrom safeexec.child.language.on_import import after_import\n"
    source += textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", source, str(path)], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_actions_run_once_after_the_module_and_not_before(tmp_path: Path) -> None:
    (tmp_path / "watched.py").write_text("print('body')\n")
    (tmp_path / "other.py").write_text("import watched\nprint('other', watched.added)\n")
    code = """
        after_import("watched", lambda: setattr(sys.modules["watched"], "added", 1))
        after_import("watched", lambda: print("second"))
        import other, watched
    """
    assert run(code, tmp_path).split("\n") == ["body", "second", "other 1"]


def test_a_loaded_module_is_acted_on_at_once(tmp_path: Path) -> None:
    assert run("after_import('sys', lambda: print('now'))", tmp_path) == "now"


def test_a_module_whose_action_fails_cannot_be_imported(tmp_path: Path) -> None:
    """Not at the second try either: a guard that cannot be put in place leaves no library open."""
    (tmp_path / "good.py").write_text("x = 1\n")
    code = """
        after_import("good", lambda: print("ran"))
        after_import("good", lambda: 1 / 0)
        for _ in range(2):
            try: import good
            except ImportError as error: print(error, "good" in sys.modules)
    """
    told = "good is not as it was reviewed, and cannot be used here (ZeroDivisionError('division by zero')) False"
    assert run(code, tmp_path).split("\n") == ["ran", told] * 2


def test_modules_that_fail_or_are_missing_are_the_importers_own_affair(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    code = """
        after_import("broken", lambda: print("never"))
        after_import("missing", lambda: print("never"))
        for name in ("broken", "missing"):
            try: __import__(name)
            except (ZeroDivisionError, ModuleNotFoundError) as error: print(type(error).__name__)
    """
    assert run(code, tmp_path).split("\n") == ["ZeroDivisionError", "ModuleNotFoundError"]


def test_pandas_can_be_imported_after_the_guards(tmp_path: Path) -> None:
    """Its extension modules name an alias of typing that they have made."""
    pytest.importorskip("pandas")
    code = """
        from safeexec.child.language.language import Language
        from safeexec.policy.model import Policy
        from safeexec.policy.plans import language_plan
        Language(language_plan(Policy.load("standard"))).install({})
        import typing, pandas
        print(pandas.Series([1, 2]).sum(), "__origin__" in dir(typing.Union[int, str]))
        try: typing.Union[int, str].__args__ = ()
        except AttributeError as error: print("read-only" in str(error))
    """
    assert run(code, tmp_path).split("\n") == ["3 True", "True"]
