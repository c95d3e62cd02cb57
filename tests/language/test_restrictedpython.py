"""RestrictedPython's own tests, asked of our transformer: where it answers otherwise, a reason is in the table."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

THEIRS = Path(__file__).parent / "data" / "restrictedpython"
VERSION = "9.0"
"""Of which distribution their tests are."""

REFUSED_IN_OTHER_WORDS = {
    "the policy says which modules there are, and a refusal names its rule": {
        "test_import.py": "Import__1 Import__2 Import__3 Import__4 Import__5 Import_6 Import__7 Import__8 "
        "Import_star__2",
    },
    "the policy says which builtins there are, and a refusal names its rule": {
        "test_breakpoint.py": "test_call_breakpoint",
        "test_eval_exec.py": "Exec__2 Eval__1",
    },
    "what leads to frames and code is refused by name, in our words": {
        "test_inspect.py": "test_get_inspect_frame_on_generator test_get_inspect_frame_back_on_generator "
        "test_get_inspect_attributes_on_async_generator test_call_inspect_frame_on_generator",
    },
}
"""Reason → file → tests (without ``test_RestrictingNodeTransformer__visit_``) whose programs ours refuses, too."""

RUNS = {
    "an underscore makes no name private to us: reserved are the interpreter's names and those of guards": {
        "test_attribute.py": "Attribute__1 Attribute__2",
        "test_call.py": "test_visit_Call__private_function test_visit_Call__private_method",
        "test_classdef.py": "ClassDef__2",
        "test_fstring.py": "test_visit_invalid_variable_name",
        "test_functiondef.py": "FunctionDef__1 FunctionDef__2 FunctionDef__3 FunctionDef__4 FunctionDef__7 "
        "test_positional_only_arg_with_underscore_is_rejected "
        "test_positional_only_arg_with_default_underscore_is_rejected "
        "test_positional_only_lambda_arg_with_underscore_is_rejected "
        "test_RestrictingNodeTransformer__module_func_def_name_call",
        "test_import.py": "Import__9",
        "test_lambda.py": "Lambda__1 Lambda__2 Lambda__3 Lambda__4 Lambda__7 Lambda__8",
        "test_name.py": "Name__1 Name__2 Name__3 Name__4 Name__4_4 Name__4_5 Name__4_6 Name__4_7 Name__5",
        "test_try.py": "ExceptHandler__2",
    },
    "a traceback holds no more than a program prints: its frames are refused (`tb_frame`)": {
        "test_attribute.py": "Attribute__6",
    },
    "`print` prints: nothing is collected, and both names are free": {
        "test_fstring.py": "test_f_string_self_documenting_expressions",
        "test_name.py": "Name__6 Name__7",
    },
    "speed: an attribute whose name leads nowhere is read and written without `_getattr_` and `_write_`": {
        "test_attribute.py": "Attribute__3 Attribute__5 Attribute__5_5 Attribute__7 Attribute__8",
        "test_conditional.py": "test_RestrictingNodeTransformer__test_ternary_if",
        "test_dict_comprehension.py": "test_dict_comprehension_with_attrs",
        "test_with_stmt.py": "test_with_stmt_attribute_access",
    },
    "speed: items are read and written without `_getitem_` and `_write_`": {
        "test_subscript.py": "test_read_simple_subscript test_read_subscript_with_variable test_tuple_subscript "
        "test_read_slice_subscript_no_upper_bound test_read_slice_subscript_no_lower_bound "
        "test_read_slice_subscript_no_step test_read_slice_subscript_with_step test_read_extended_slice_subscript",
        "test_with_stmt.py": "test_with_stmt_subscript",
    },
    "speed: loops and unpacking use the object's own `__iter__`, without `_getiter_` and `_unpack_sequence_`": {
        "test_assign.py": "Assign__1 Assign__2",
        "test_iterator.py": "test_RestrictingNodeTransformer__guard_iter__1 "
        "test_RestrictingNodeTransformer__guard_iter__2",
        "test_with_stmt.py": "test_with_stmt_unpack_sequence test_with_stmt_multi_ctx_unpack_sequence",
    },
    "speed: a call with stars is a call, without `_apply_`": {"test_call.py": "Call__2"},
    "nobody asks which names a program uses": {"test_call.py": "Call__1", "test_fstring.py": "test_transform"},
    "augmented assignment is allowed, also of attributes and items, without `_inplacevar_`": {
        "test_augassign.py": "AugAssign__1 AugAssign__2 AugAssign__3 AugAssign__4 AugAssign__5",
    },
    "metaclasses are allowed: what a class may hold is judged name by name": {
        "test_classdef.py": "ClassDef__3 ClassDef__4",
    },
    "coroutines are allowed: their frames are refused by name": {
        "test_async.py": "test_async_def",
        "test_yield.py": "test_async_yield_from",
    },
    "nonlocal is allowed: a closure is the program's own": {"test_global_local.py": "test_Nonlocal"},
    "except* is allowed: `_except_group_` looks at the group first": {"test_try.py": "TryStar__1"},
}
"""The same of programs that ours lets run."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """How many tests ran, and those that did not pass, each with what was refused in it."""
    place = shutil.copytree(THEIRS, tmp_path_factory.mktemp("theirs") / "restrictedpython")
    written = place / "differences.json"
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir=.", "--confcutdir=.", "-c", os.devnull, "tests"]
    project = str(Path(__file__).parents[2])
    own = {"DIFFERENCES": str(written), "PYTHONPATH": project, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=place, env=os.environ | own, capture_output=True, text=True, timeout=100)
    assert written.exists(), done.stdout + done.stderr
    return json.loads(written.read_text())


def test_their_tests_are_those_of_the_version_in_use() -> None:
    assert version("RestrictedPython") == VERSION, "take the tests of this version: see the README beside them"


@pytest.mark.parametrize(("table", "refused"), [(REFUSED_IN_OTHER_WORDS, True), (RUNS, False)], ids=["refused", "runs"])
def test_every_difference_has_its_reason(table: dict[str, dict[str, str]], refused: bool, answers: Any) -> None:
    assert answers["ran"] > 150
    listed = {
        f"{file}::{name if name.startswith('test_') else 'test_RestrictingNodeTransformer__visit_' + name}"
        for tests in table.values()
        for file, group in tests.items()
        for name in group.split()
    }
    assert {name for name, found in answers["differ"].items() if bool(found) == refused} == listed
