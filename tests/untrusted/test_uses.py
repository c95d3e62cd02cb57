"""Every place in host code where a parser or an opener could meet a stranger's text says why it may.

The search finds regular expressions, `int()`, `open()`, `subprocess`, YAML, HTML, JSON, archives, `find_spec`,
`import_module` and Python's own parser in the rooms that run in the host. What reads strangers' input belongs into
`safeexec/untrusted/`, where each reader is bounded and tested; a file elsewhere that uses one of these stands in
`READS_NONE`, or in `BOUND` with what bounds it. A new use in such a file needs no new line while the old one is true.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import safeexec

ROOT = Path(safeexec.__file__).parent
ROOMS = (
    "api", "playback", "toolkit", "engine/host", "engine/policy", "engine/linux", "reports", "cli", "agent", "adapters",
    "servers", "remote", "protocol", "inline", "recordings", "results", "common",
)  # fmt: skip
"""The rooms that run in the host. (`hints` and `language` do so for reports, on a program that
`reports/needs.py` bounds.)"""
MODULES = {"re", "subprocess", "yaml", "html", "json", "xml", "csv", "tarfile", "zipfile", "marshal", "tomllib"} | {
    "pickle", "tokenize", "difflib", "email", "codecs", "configparser", "gzip", "bz2", "lzma",
}  # fmt: skip
CALLS = {"open", "find_spec", "import_module", "literal_eval", "read_text", "compile", "eval", "exec"}


READS_NONE = {
    "writes JSON, YAML, or a file of its own": """
        agent/models/assembly.py api/audit.py cli/agent.py cli/check.py cli/doctor.py cli/jupyter.py cli/plugin.py
        cli/policy.py cli/repair.py cli/run.py cli/view.py engine/policy/edit.py engine/policy/schema.py
        playback/page/render.py recordings/forms.py recordings/writer.py remote/wire.py results/jsonable.py
        servers/mcp.py servers/mcp_transports.py
    """,
    "files and numbers of the kernel, of the installation and of the policy": """
        cli/__init__.py cli/serve.py engine/host/session/copy.py engine/host/startup/configuration.py
        engine/host/startup/confinement.py engine/host/startup/library_paths.py
        engine/host/startup/fonts.py engine/host/watch/census.py engine/host/watch/clock.py
        engine/host/watch/control_groups.py engine/host/watch/room.py engine/linux/capabilities.py
        engine/linux/cgroups.py engine/linux/landlock.py engine/linux/libc.py engine/linux/namespaces.py
        engine/linux/probe.py engine/linux/processes.py engine/linux/rlimits.py engine/linux/seccomp.py
        engine/policy/access.py engine/policy/kernel.py engine/policy/profiles.py reports/reference.py
        servers/http/e2b.py
    """,
    "tables of its own: names of modules, commands, programs, constants": """
        __init__.py agent/__init__.py agent/survey.py api/blocking.py cli/bench.py cli/container.py cli/example.py
        engine/host/session/standard_input.py recordings/store/postgres.py reports/card.py
        servers/http/openapi.py
    """,
    "what the user gives on the command line or in code": """
        remote/container.py remote/crossing.py remote/pipe.py reports/review.py
    """,
    "what its own program or library has made: times, numbers, hints": """
        agent/models/mistral.py common/signatures.py engine/host/tools/type_hints.py
        engine/host/waiting.py inline/operators.py protocol/values/format.py servers/http/judge.py servers/service.py
    """,
}
"""What a file has to do with, that reads nothing of a stranger → the files."""
BOUND = {
    "agent/blocks.py": "a reply in one pass; possessive patterns, numbers of nine digits at most",
    "agent/evidence.py": "20,000 characters of an answer; numbers of 2,000 digits at most; one pass each",
    "agent/extraction.py": "a reply whose length the model sets; JSON within a budget, its errors are caught",
    "agent/loop.py": "the arguments of one call, as long as the model may answer; errors are caught",
    "adapters/dspy.py": "what a program submits, within limits.value_kb, is written as JSON and read again",
    "agent/mathematics.py": "the code of one reply, as `agent/snippets.py` parses it",
    "agent/models/attempts.py": "a header of a server's answer, cut first; what its parser raises is caught",
    "agent/models/compatible.py": "the arguments of recorded calls, by the bounded reader of JSON",
    "agent/inequalities.py": "a text of 2,000 characters at most, a token at a time",
    "agent/readings.py": "16 readings of 1,000 characters at most, in one pass each; numbers of 12 digits",
    "agent/statements.py": "20,000 characters, token by token; a dozen tokens before and behind a number",
    "agent/repair/diffs.py": "two alternatives that share no character: one pass",
    "agent/repair/texts.py": "a hundred lines are compared, of a hundred characters each",
    "agent/repair/judges.py": "names of files, each in one pass; nothing is imported",
    "agent/repair/verification.py": "a log that the output limit has cut; numbers of nine digits; reports line by line",
    "agent/survey_program.py": "runs in a sandbox alone, under the limits of its policy; the host reads it as text",
    "agent/snippets.py": "the code of one reply, within a budget of parsed characters; what CPython refuses is caught",
    "agent/tokens.py": "20,000 characters of an answer (`agent/numerals.py`), a token at a time; 2,000 digits",
    "agent/transcript.py": "a recording that the user names: a regular file of a set size, line by line",
    "agent/wording.py": "20,000 characters of an answer (`agent/evidence.py`), one pass for each form: 50 ms",
    "cli/common.py": "the program that the user names, to 16 MiB; functions that the user names as tools",
    "cli/repl.py": "what the user types, as tokens, each line once; what the tokenizer raises is caught",
    "engine/host/startup/programs.py": "the first bytes of the programs that the policy names",
    "engine/host/files/state_file.py": "lengths are in a header that is checked first; writes",
    "engine/host/files/tree.py": "by descriptor without a link; within limits.workspace_mb",
    "engine/host/files/workspace.py": "by descriptor without a link; within limits.workspace_mb",
    "engine/host/files/workspace_root.py": "directories that a host of this user has made, listed once at the start",
    "engine/host/session/supervisor.py": "the start of a source, in one pass",
    "engine/host/session/output.py": "pages of output, in one pass for marks of ten bytes",
    "api/packages.py": "RECORD, head and report of packages, sizes first, line by line; starts pip",
    "toolkit/ready_made.py": "files below allowed directories, through no last link; URLs of 8,192 characters",
    "inline/compile.py": "one expression within its limit, which is parsed",
    "inline/grammar.py": "code of its own making, for an expression within its limit",
    "inline/numeric.py": "arguments whose cost has been admitted",
    "inline/text.py": "nine digits of a width",
    "results/marked.py": "an int of 4,300 digits at most, of a value that was weighed before",
    "results/observation.py": "runs of backticks, possessively; numbers of the caller",
    "engine/policy/requirements.py": "a line whose length is checked first; classes and counted repeats",
    "protocol/printed.py": "eight hexadecimal digits of a mark, in one pass",
    "protocol/values/decoder.py": "a number of eight bytes",
    "protocol/values/pandas_reader.py": "a frequency of few characters",
    "protocol/values/pandas_writer.py": "the frequency of an index of the program's own process",
    "protocol/values/reader.py": "lengths of four bytes; imports numpy, pandas and pyarrow by names of its own",
    "protocol/values/arrays.py": "digits of a dtype, which a pattern has bounded",
    "playback/page/of_file.py": "a reply that its reader has bounded, line by line in one pass",
    "playback/compare.py": "addresses of bounded length, in one pass",
    "recordings/store/directory.py": "names that it checks, in directories of its own; a mark of few digits",
    "recordings/store/recovery.py": "a number before a dot in the name of a part, of a few characters",
    "recordings/timeline.py": "a source of a recording, cut first; possessive patterns, one pass; nine digits",
    "reports/needs.py": "one program that the user names, to 16 MiB; top-level names only, which import nothing",
    "reports/why.py": "one name of a command line; top-level names only, which import nothing",
    "servers/http/requests.py": "a body of a set size, into the shape of its method; writes JSON",
    "servers/jupyter/introspection.py": "the line before a cursor, to 2,000 characters, and one dotted name",
    "servers/jupyter/notebook.py": "the lines that a cell begins with, each in one pass; nine digits",
    "servers/labels.py": "an id of 1,000 characters, or within the path of a request, into one closed shape",
    "servers/wire.py": "a source, cut first, in one pass; escapes of JSON that it has written, in one pass",
    "common/matching.py": "names, 5,000 of 60 characters at most; one pass for where words begin",
    "common/text.py": "possessive patterns, shown linear in tests/common/test_text.py; numbers of lengths",
}
"""File that reads a stranger's text → what bounds it."""
KNOWN = {*BOUND, *(name for names in READS_NONE.values() for name in names.split())}


def dotted(node: ast.AST) -> str:
    """The name of what is called, with dots; an expression of another kind has none."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def uses(path: Path) -> Iterator[str]:
    """What a file has of the things that are searched for."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from MODULES & {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            yield from MODULES & {(node.module or "").partition(".")[0]}
        elif isinstance(node, ast.Call):
            called = dotted(node.func)
            name = called.rpartition(".")[2]
            if called in ("int", "os.open", "ast.parse", "msgspec.json.decode") or called in CALLS:
                yield called
            elif name in ("find_spec", "import_module", "read_text", "literal_eval") or (
                name == "open" and node.args and isinstance(node.args[0], ast.Constant)
            ):
                yield name


def files() -> Iterator[Path]:
    yield from ROOT.glob("*.py")
    for room in ROOMS:
        yield from (ROOT / room).rglob("*.py")


@cache
def found() -> dict[str, list[str]]:
    """Each file that has any, and what."""
    return {str(path.relative_to(ROOT)): used for path in files() if (used := sorted({*uses(path)}))}


def test_every_use_on_strangers_input_is_bounded_or_says_why_it_is_none() -> None:
    silent = {name: used for name, used in found().items() if name not in KNOWN}
    assert not silent, "move the reader to safeexec/untrusted/, or give the file its line in READS_NONE or BOUND"


def test_no_line_outlives_its_file_and_no_file_is_in_both_tables() -> None:
    assert not KNOWN - found().keys()
    assert len(KNOWN) == len(BOUND) + sum(len(names.split()) for names in READS_NONE.values())
