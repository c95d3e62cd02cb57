"""Runs CPython's own tests here and in plain CPython: ``python -m benchmarks.compat.cpython [MODULE …]``.

They are those of modules that compute, from ``Lib/test`` of the Python that runs (or ``--tests FOLDER``). Both sides
run the same program: the tests, `support` in place of ``test.support``, and `one_by_one`. What counts are the tests
that pass in CPython so. Here, what a policy refuses before a line runs is cut out: the function around it raises the
refusal, an import gives a stand-in that does. So a test that needs what is refused is lost, and no other. Of a fixture,
which all tests of a file or class need, the refused statement alone is passed over: the tests that need it fail. A test
that ends the session is lost, and the others are run again without it.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from safeexec import ErrorInfo, PluginError, Policy, Sandbox

HERE = Path(__file__).parent
MODULES = """
    test_abc test_array test_base64 test_binascii test_bisect test_bool test_bytes test_calendar test_cmath
    test_collections test_colorsys test_complex test_contextlib test_copy test_csv test_dataclasses datetimetester
    test_decimal test_defaultdict test_deque test_dict test_dictcomps test_difflib test_enum test_exceptions
    test_float test_fractions test_fstring test_functools test_generators test_genexps test_graphlib test_hashlib
    test_heapq test_html test_int test_ipaddress test_itertools test_json test_keyword test_list test_listcomps
    test_long test_math test_named_expressions test_operator test_ordered_dict test_patma test_pprint test_queue
    test_random test_range test_re test_reprlib test_set test_setcomps test_shlex test_slice test_statistics
    test_string test_struct test_textwrap test_tuple test_types test_typing test_unicode test_unicodedata
    test_userdict test_userlist test_zlib
""".split()  # noqa: SIM905
"""Files of ``Lib/test``: of modules that compute and of the language itself."""
ON_FILES = {"test_array", "test_csv", "test_hashlib"}
"""Those whose tests open files: they run under `files.yaml`, which is the profile with a workspace."""
WITHOUT = ["_testcapi"]
"""Modules that CPython has for tests of its C-API: no program's, and neither side has them."""
SECONDS = 240
TRIES = 100
"""Of one program: what is refused is cut out, and a test that ends the session left out, time and again."""
FIXTURES = {"setUp", "setUpClass", "setUpModule", "tearDown", "tearDownClass", "tearDownModule"}
"""Functions that run for each test of a class or file."""
MARK = "@@"
_OF_TESTS = r"(?m)(?<![\w.])test(?=\.(?:support|test_\w+|\w+_tests)\b)|(?<=from )test(?=[. ])|(?<=import )test(?=\.)"
_HELPERS = r"suite\.support\.(?:import|os|warnings|threading|script)_helper(?= import\b)"

Sources = dict[str, str]
"""Modules of a program: dotted names and texts."""


class Loss(NamedTuple):
    """A test that passes in CPython and not here."""

    test: str
    why: str

    @property
    def reason(self) -> str:
        """The first of `REASONS` that fits what was raised; `DIFFERS` if none does."""
        return next((reason for reason, told in REASONS.items() if re.search(told, self.why)), DIFFERS)


DIFFERS = "differs, and says nothing of a refusal"
REASONS = {
    "a private name of a module, or a name that was lost to a refusal": (
        r"begin with an underscore|'Refused' object|import of '_|attribute '_(?!_)|_testcapi|names \w+\._|"
        r"requires _|need _"
    ),
    "`sys.modules`, modules by name, attributes of a library set or patched": (
        r"sys\.modules|'importlib|'builtins|read-only|by a dotted name|'__import__'|assignment to|immutable type|"
        r"is not run: not found"
    ),
    "files": r"builtin 'open'|'tempfile'|'__file__'|on files|'pathlib|'shutil'|'glob'",
    "a codec or hook for the whole interpreter": (
        r"codecs\.register|unknown encoding: test|excepthook|whole interpreter|gc\.|locale"
    ),
    "frames and code": r"frame|code|gi_|cr_|f_back|co_|f_locals|__globals__|tb_",
    "pickles that name other than plain types and the program's own": r"the pickle names|__reduce|copyreg|marshal",
    "another name that is refused": r"refused|not an acceptable base type|does not have the attribute '_",
    "the session ended": r"ended the session",
    "a skip: a module or a constant that is not there": r"^skip",
}
"""Why a test is lost → what it says then. The first that fits counts."""


def programs(folder: Path, name: str) -> Iterator[Sources]:
    """The programs with the tests of this name: the tests themselves as the main module, the first one, with what they
    import of ``Lib/test`` and the stand-ins.
    """
    path = folder / name
    files = sorted(path.glob("*.py")) if path.is_dir() else [folder / f"{name}.py"]
    for file in files:
        if file.stem.startswith(("test_", name, "__init__")):
            main = _as_program(file) + TAIL
            own = {name: (HERE / f"{name}.py").read_text(encoding="utf-8") for name in ("support", "one_by_one")}
            found = {"tests": main, "suite": "", **{f"suite.{name}": text for name, text in own.items()}}
            _add_imported(main, folder, found)
            yield found


TAIL = """
from suite.one_by_one import run as run_tests_of
def run_tests(without): run_tests_of(globals(), without)
"""


def _add_imported(text: str, folder: Path, found: Sources) -> None:
    for several, one in re.findall(r"from suite import ([\w, ]+)|\bsuite\.(\w+)", text):
        for stem in re.findall(r"\w+", f"{several} {one}"):
            path = folder / stem
            for file in sorted(path.glob("*.py")) if path.is_dir() else [folder / f"{stem}.py"]:
                module = ".".join(["suite", stem, *([] if file.stem in (stem, "__init__") else [file.stem])])
                if stem != "support" and module not in found and file.exists() and file.stem != "__main__":
                    found[module] = text = _as_program(file)
                    _add_imported(text, folder, found)


def _as_program(file: Path) -> str:
    """A file of tests with other names for the modules of ``Lib/test``, and nothing that runs it."""
    text = re.sub(_OF_TESTS, "suite", file.read_text(encoding="utf-8"))
    text = re.sub(_HELPERS, "suite.support", text)
    text = re.sub(r"^import sysconfig$", "from suite.support import sysconfig", text, flags=re.M)
    text = _passing_over(text) + "\nfrom suite.support import unless_refused\n"
    return re.sub(r"^if __name__ == .__main__.:", "if False:", text, flags=re.M)


def _passing_over(text: str) -> str:
    """The module with fixtures that pass over what is refused."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name in FIXTURES:
            for one in node.body:
                targets = getattr(one, "targets", [])
                own = [target for target in targets if ast.unparse(target).startswith(("self.", "cls."))]
                if isinstance(one, (ast.Expr, ast.Assign, ast.Delete)) and not own and one.lineno > node.lineno:
                    line, column = lines[one.lineno - 1], one.col_offset
                    if not line[:column].strip():
                        lines[one.lineno - 1] = f"{line[:column]}with unless_refused(): {line[column:]}"
    return "\n".join(lines)


def said(output: str) -> dict[str, str | None]:
    """What became of each test; None for one that did not end."""
    lines = [json.loads(line[2:]) for line in output.splitlines() if line.startswith(MARK)]
    return {line[0]: (line[1] if len(line) > 1 else None) for line in lines if line}


def is_whole(output: str) -> bool:
    """Whether the last line was said."""
    return f"\n{MARK}[]" in output


def by_cpython(found: Sources) -> dict[str, str | None]:
    """What a plain interpreter makes of a program."""
    with tempfile.TemporaryDirectory() as folder:
        for name in WITHOUT:
            Path(folder, f"{name}.py").write_text("raise ImportError('a test of the C-API')", encoding="utf-8")
        for name, text in found.items():
            is_package = any(other.startswith(name + ".") for other in found)
            path = Path(folder, *name.split("."))
            path = path / "__init__.py" if is_package else path.with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if name != "tests" else f"{text}\nrun_tests([])\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-Es", "tests.py"], capture_output=True, timeout=SECONDS, check=False, cwd=folder
        )
    output = done.stdout.decode("utf-8", "replace")
    if not is_whole(output):
        print(f"some tests do not run in CPython: {done.stderr.decode('utf-8', 'replace')[-500:]}", file=sys.stderr)
    return said(output)


def here(found: Sources, sandbox: Sandbox) -> tuple[dict[str, str | None], str]:
    """What a session makes of it, and why nothing if nothing."""
    found = dict(found)
    outcomes: dict[str, str | None] = {}
    told = ""
    for _ in range(TRIES):
        try:
            with sandbox.plugin(found, name="tests", exports=["run_tests"], timeout=SECONDS) as plugin:
                result = plugin.invoke("run_tests", (list(outcomes),))
        except PluginError as refused:
            error = refused.result.error if refused.result is not None else None
            if error is None:
                raise
            told, before = f"{error.type}: {error.message}", dict(found)
            for name, line, why in refusals(error, before):
                found[name] = without(found[name], line, why)
            if found == before:
                break
            continue
        now = said(result.stdout)
        outcomes |= now
        if result.error is None:
            return outcomes, ""
        told = f"{result.error.type}: {result.error.message}"
        if not (ended := [test for test in now if now[test] is None]):
            break
        outcomes |= dict.fromkeys(ended, f"ended the session: {told}")
    return outcomes, told


def refusals(error: ErrorInfo, found: Sources) -> Iterator[tuple[str, int, str]]:
    """The module, the line and why: what the compiler refuses, the last line first, or the statement that raised."""
    if refused := re.match(r"import of [\w.]+ is refused: <plugin tests:([\w.]+)>, line (\d+): (.*)", error.message):
        yield refused[1], int(refused[2]), refused[3]
    elif error.diagnostics:
        module = re.match(r"(?:module ([\w.]+): )?", error.message)[1] or "tests"  # type: ignore[index]
        for one in sorted(error.diagnostics, key=lambda one: -(one.line or 0)):
            yield module, one.line or 0, one.message
    else:
        frames = re.findall(r'File "<plugin tests(?::([\w.]+))?>", line (\d+), in ([\w<>]+)', error.traceback)
        for name, line, scope in reversed(frames):
            module = name or "tests"
            if scope == "<module>" or re.search(rf"\bclass {scope}\b", found[module]):
                yield module, int(line), f"{error.type}: {error.message}"
                break


def without(source: str, line: int, why: str) -> str:
    """The module without what is refused on this line: the outermost function around it raises why, a name that is
    imported raises it when it is used; any other statement goes. The other lines stay where they are.
    """
    body: list[ast.stmt] = ast.parse(source).body
    statement = None
    while statement is None:
        around = next((one for one in body if _first(one) <= line <= (one.end_lineno or 0)), None)
        if around is None:
            return source
        is_part = isinstance(around, ast.ClassDef) or getattr(around, "name", "") in FIXTURES
        parts = around.body if is_part else []  # type: ignore[attr-defined]
        if any(_first(one) <= line <= (one.end_lineno or 0) for one in parts):
            body = parts
        elif isinstance(around, (ast.If, ast.Try, ast.With, ast.For)):
            body = [one for one in ast.iter_child_nodes(around) if isinstance(one, ast.stmt)] + [
                one for part in getattr(around, "handlers", ()) for one in part.body
            ]
            if not any(_first(one) <= line <= (one.end_lineno or 0) for one in body):
                statement = around
        else:
            statement = around
    lines = source.split("\n")
    first, last = _first(statement), statement.end_lineno or line
    targets = getattr(statement, "targets", [])
    names = [one.id for one in targets if isinstance(one, ast.Name)]
    given = "; ".join(["from suite.support import Refused", *(f"{name} = Refused({why!r})" for name in names)])
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        named = re.search(
            r"(?:import of|cannot import name) '?(?=\w+'? from)|attribute '[\w.]+\.(?=\w+' is refused)", why
        )
        wanted = named and re.match(r"\w+", why[named.end() :])
        cut = [alias for alias in statement.names if wanted is None or alias.name == wanted[0]]
        statement.names = [alias for alias in statement.names if alias not in cut]
        names = [alias.asname or alias.name.partition(".")[0] for alias in cut]
        kept = [ast.unparse(statement)] if statement.names else []
        given = "; ".join(
            [*kept, "from suite.support import Refused", *(f"{name} = Refused({why!r})" for name in names)]
        )
        given += lines[last - 1][statement.end_col_offset or 0 :]
    elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and line >= statement.lineno:
        first = _first(statement.body[0])
        given = f"raise PermissionError({why!r})"
        if first == statement.lineno:
            first, given = statement.lineno, f"def {statement.name}(*_, **__): {given}"
    indent = re.match(r"\s*", lines[first - 1])[0]  # type: ignore[index]
    lines[first - 1 : last] = [*[""] * (last - first), f"{indent}{given}"]
    return "\n".join(lines)


def _first(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", None)
    return decorators[0].lineno if decorators else statement.lineno


def compared(folder: Path, name: str, sandbox: Sandbox) -> tuple[int, list[Loss]]:
    """How many tests of this name pass in CPython, and which of them do not here."""
    passed = 0
    losses = []
    for program in programs(folder, name):
        wanted = [test for test, outcome in by_cpython(program).items() if outcome == "ok"]
        if wanted:
            got, nothing = here(program, sandbox)
            passed += len(wanted)
            found = {test: got.get(test) or f"is not run: {nothing or 'not found'}" for test in wanted}
            losses += [Loss(test.replace("__main__", name), why) for test, why in found.items() if why != "ok"]
    return passed, losses


def main() -> int:
    """1 when a test that passes in CPython fails here for another reason than a refusal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compat.cpython", description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", default=MODULES, help="files of Lib/test")
    parser.add_argument("--tests", type=Path, default=Path(sysconfig.get_path("stdlib"), "test"))
    options = parser.parse_args()
    limits = {"max_wall_seconds": SECONDS, "wall_seconds": SECONDS, "cpu_seconds": SECONDS, "output_kb": 8192}
    policies = [Policy.load(one).replace(**limits) for one in ("standard", HERE / "files.yaml")]  # type: ignore[arg-type]
    table, all_losses = [], []
    with Sandbox(policies[0]) as sandbox, Sandbox(policies[1]) as with_files:
        for name in options.modules:
            passed, losses = compared(options.tests, name, with_files if name in ON_FILES else sandbox)
            table.append((name, passed, len(losses)))
            all_losses += losses
            print(f"| {name} | {passed} | {passed - len(losses)} |", flush=True)
            for loss in losses:
                print(f"    {loss.test} ({loss.reason}): {loss.why[:300]!r}", flush=True)
    print("| reason | tests |")
    for reason, count in Counter(loss.reason for loss in all_losses).most_common():
        print(f"| {reason} | {count} |")
    ran, lost = sum(row[1] for row in table), len(all_losses)
    print(f"| all {len(table)} | {ran} | {ran - lost} ({100 * (ran - lost) / ran:.1f} %) |")
    return int(any(loss.reason == DIFFERS for loss in all_losses))


if __name__ == "__main__":
    sys.exit(main())
