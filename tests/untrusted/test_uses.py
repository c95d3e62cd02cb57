"""Every place in host code where a parser or an opener could meet a stranger's text says why it may.

The search finds regular expressions, `int()`, `open()`, `subprocess`, YAML, HTML, JSON, archives, `find_spec`,
`import_module` and Python's own parser in the rooms that run in the host. What reads strangers' input belongs into
`safeexec/untrusted/`, where each reader is bounded and tested; a file elsewhere that uses one of these has a line in
`WHY`: what it reads, or what bounds it. A new use in a file of the table needs no new line while its line stays true.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import safeexec

ROOT = Path(safeexec.__file__).parent
ROOMS = (
    "api",
    "playback",
    "toolkit",
    "engine/host",
    "engine/policy",
    "reports",
    "cli",
    "agent",
    "adapters",
    "servers",
    "remote",
    "protocol",
    "inline",
    "engine/linux",
    "recordings",
    "results",
    "common",
)
"""The rooms that run in the host. (`hints` and `language` do so for reports, on a program that
`reports/needs.py` bounds.)"""
MODULES = {"re", "subprocess", "yaml", "html", "json", "xml", "csv", "tarfile", "zipfile", "marshal", "tomllib"} | {
    "pickle", "tokenize", "difflib", "email", "codecs", "configparser", "gzip", "bz2", "lzma",
}  # fmt: skip
CALLS = {"open", "find_spec", "import_module", "literal_eval", "read_text", "compile", "eval", "exec"}

OWN = "reads nothing of a stranger: "
BOUND = "reads a stranger's text, bounded: "

WHY = {
    "__init__.py": OWN + "its own modules, by a table of names",
    "agent/__init__.py": OWN + "its own modules, by a table of names",
    "agent/blocks.py": BOUND + "a reply in one pass; possessive patterns, numbers of nine digits at most",
    "agent/evidence.py": BOUND + "20,000 characters of an answer; numbers of 2,000 digits at most; one pass each",
    "agent/extraction.py": BOUND + "a reply whose length the model sets; JSON within a budget, its errors are caught",
    "agent/loop.py": BOUND
    + "the arguments of one call, as long as the model may answer; ValueError and RecursionError are caught",
    "adapters/dspy.py": BOUND + "what a program submits, within limits.value_kb, is written as JSON and read again",
    "agent/mathematics.py": BOUND + "the code of one reply, as `agent/snippets.py` parses it",
    "agent/models/attempts.py": BOUND + "a header of a server's answer, cut first; what its parser raises is caught",
    "agent/models/assembly.py": OWN + "writes JSON",
    "agent/models/compatible.py": BOUND
    + "the arguments of recorded calls, by the bounded reader of JSON; imports the client library that its class names",
    "agent/models/mistral.py": OWN + "numbers that the client library has made",
    "agent/formulas.py": BOUND + "a form of 300 characters at most, a token at a time; numbers of 30 digits",
    "agent/inequalities.py": BOUND + "a text of 2,000 characters at most, a token at a time",
    "agent/readings.py": BOUND + "12 readings of an answer at most, in one pass each; numbers as long as `int` takes",
    "agent/statements.py": BOUND
    + "20,000 characters, each pattern in one pass; windows of 80 characters before a number",
    "agent/numerals.py": BOUND
    + "20,000 characters; numbers of 2,000 digits and exponents of 2,000; windows of 90 characters",
    "agent/repair/texts.py": OWN + "the mark that UTF-8 may begin with",
    "agent/repair/diffs.py": BOUND + "two alternatives that share no character: one pass",
    "agent/repair/edits.py": BOUND + "a hundred lines are compared, of a hundred characters each",
    "agent/repair/judges.py": BOUND + "names of files, each in one pass; nothing is imported",
    "agent/repair/verification.py": BOUND
    + "a log that the output limit has cut; numbers of nine digits at most; archives are written; reports line by line",
    "agent/snippets.py": BOUND
    + "the code of one reply, within a budget of parsed characters; what CPython refuses is caught",
    "agent/transcript.py": BOUND
    + "a recording that the user names: a regular file of a set size, each line by itself, errors caught",
    "agent/wording.py": BOUND + "20,000 characters of an answer (`agent/evidence.py`), one pass for each form: 50 ms",
    "cli/__init__.py": OWN + "its own commands, by a table of names; /dev/null",
    "cli/agent.py": OWN + "a new file for the transcript",
    "cli/bench.py": OWN + "its own programs",
    "cli/check.py": OWN + "writes JSON",
    "cli/common.py": BOUND
    + "the program that the user names, to 16 MiB; a pipe is welcome; functions that the user names as tools",
    "cli/doctor.py": OWN + "writes JSON",
    "cli/container.py": OWN + "its own modules and metadata, of which it makes a wheel; starts the engine of the user",
    "cli/example.py": OWN + "its own examples",
    "cli/jupyter.py": OWN + "writes JSON; a name of a command line, to 100 characters",
    "cli/plugin.py": OWN + "settings of the command line; writes JSON",
    "cli/policy.py": OWN + "writes JSON",
    "cli/typed.py": BOUND + "what the user types, as tokens, each line once; what the tokenizer raises is caught",
    "cli/replay.py": OWN + "numbers of a command line, of nine digits at most",
    "cli/repair.py": OWN + "writes JSON",
    "cli/run.py": OWN + "writes JSON; its standard input is handed on unread",
    "cli/serve.py": OWN + "/dev/null",
    "cli/view.py": OWN + "writes the page, with the rights of the recording that the user names",
    "api/audit.py": OWN + "writes the records of the host",
    "engine/host/commands.py": BOUND + "the first bytes of the programs that the policy names",
    "engine/host/files/state_file.py": BOUND + "lengths are in a header that is checked first; writes",
    "engine/host/files/tree.py": BOUND + "by descriptor without a link; within limits.workspace_mb",
    "engine/host/files/workspace.py": BOUND + "by descriptor without a link; within limits.workspace_mb",
    "engine/host/files/workspace_files.py": BOUND
    + "by descriptor without a link; sizes first, regular files with one name",
    "engine/host/session/step.py": BOUND + "the start of a source, in one pass",
    "engine/host/session/standard_input.py": OWN + "its own pipe",
    "engine/host/session/output.py": BOUND + "pages of output, in one pass for marks of ten bytes",
    "engine/host/startup/configuration.py": OWN + "a number of the policy",
    "engine/host/startup/confinement.py": OWN + "files of the kernel and of the installation",
    "engine/host/startup/fonts.py": OWN + "starts its own interpreter for the cache of fonts",
    "api/packages.py": BOUND
    + "the RECORD, head and report of packages, sizes first, line by line; starts pip, which starts no program",
    "toolkit/ready_made.py": BOUND
    + "files below the directories that the host allowed, never through a last link; URLs of 8,192 characters",
    "engine/host/tools/type_hints.py": OWN + "annotations of the host, messages of msgspec",
    "engine/host/waiting.py": OWN + "times",
    "engine/host/watch/census.py": OWN + "files of the kernel",
    "engine/host/watch/clock.py": OWN + "files of the kernel; the guest's lines go through untrusted.frames",
    "engine/host/watch/groups.py": OWN + "a file of the kernel",
    "engine/host/watch/memory.py": OWN + "numbers of the kernel",
    "engine/host/watch/room.py": OWN + "files of the kernel",
    "inline/compile.py": BOUND + "one expression within its limit, which is parsed",
    "inline/grammar.py": BOUND + "code of its own making, for an expression within its limit",
    "inline/numeric.py": BOUND + "arguments whose cost has been admitted",
    "inline/operators.py": OWN + "a bool of the evaluation",
    "inline/text.py": BOUND + "nine digits of a width",
    "engine/linux/capabilities.py": OWN + "numbers of the kernel",
    "engine/linux/cgroups.py": OWN + "files of the kernel",
    "engine/linux/libc.py": OWN + "files of the kernel",
    "engine/linux/landlock.py": OWN + "paths of the plan, for the kernel",
    "engine/linux/namespaces.py": OWN + "files of the kernel",
    "engine/linux/probe.py": OWN + "files of the kernel",
    "engine/linux/processes.py": OWN + "files of the kernel",
    "engine/linux/rlimits.py": OWN + "files of the kernel",
    "engine/linux/seccomp.py": OWN + "numbers of the table",
    "results/marked.py": BOUND + "an int of 4,300 digits at most, of a value that was weighed before",
    "results/observation.py": BOUND + "runs of backticks, possessively; numbers of the caller",
    "engine/policy/checks.py": OWN
    + "where a package is installed, for a name of identifiers alone; nothing of it is imported",
    "engine/policy/edit.py": OWN + "writes YAML",
    "engine/policy/kernel.py": OWN + "numbers of a policy that has been read",
    "engine/policy/profiles.py": OWN
    + "reads and writes the prepared profiles of the installation; policies are read by untrusted.below and yaml_text",
    "engine/policy/requirements.py": BOUND
    + "a line whose length is checked first; classes and counted repeats, each in one pass",
    "engine/policy/schema.py": OWN + "its own source; writes JSON",
    "api/aio.py": OWN + "opens a sandbox, and no file",
    "api/blocking.py": OWN + "its own module for containers; opens a sandbox",
    "remote/container.py": OWN + "starts the engine of the user; opens the pipe to it",
    "remote/core.py": OWN + "a state file that the user names, to the size of a message",
    "remote/calls.py": OWN + "writes JSON",
    "remote/pipe.py": OWN + "starts the command that the user gives",
    "protocol/printed.py": BOUND + "eight hexadecimal digits of a mark, in one pass",
    "protocol/values/decoder.py": BOUND + "a number of eight bytes",
    "protocol/values/format.py": OWN
    + "the patterns that the decoder's texts must match: bounded repetitions, one pass",
    "protocol/values/frames.py": BOUND + "a frequency of few characters",
    "protocol/values/reader.py": BOUND + "lengths of four bytes; imports numpy, pandas and pyarrow by names of its own",
    "protocol/values/tables.py": BOUND + "digits of a dtype, which a pattern has bounded",
    "playback/page/of_transcript.py": BOUND + "a reply that its reader has bounded, line by line in one pass",
    "playback/page/render.py": OWN + "escapes a title, and reads the page's own files",
    "playback/compare.py": BOUND + "addresses of bounded length, in one pass",
    "recordings/store/directory.py": BOUND
    + "names that it checks, in directories that only it may enter; a mark of few digits",
    "recordings/store/postgres.py": OWN + "its own constants; the driver of the database by its name",
    "recordings/store/recovery.py": BOUND + "a number before a dot in the name of a part, of a few characters",
    "recordings/forms.py": OWN + "writes JSON",
    "recordings/writer.py": OWN + "a new file for the recording",
    "reports/__init__.py": OWN + "its own modules, by a table of names",
    "recordings/timeline.py": BOUND + "a source of a recording, cut first; possessive patterns, one pass",
    "reports/card.py": OWN + "top-level names of its own table, which import nothing when they are looked for",
    "reports/needs.py": BOUND
    + "one program that the user names, to 16 MiB; top-level names only, which import nothing",
    "reports/reference.py": OWN + "the documentation of the installation",
    "reports/review.py": OWN + "modules that a policy names and the review knows",
    "reports/why.py": BOUND + "one name of a command line; top-level names only, which import nothing",
    "servers/mcp.py": OWN + "writes JSON, and reads it again",
    "servers/http/e2b.py": OWN + "times of files, of which the kernel tells",
    "servers/http/judge.py": OWN + "a number that msgspec has read",
    "servers/http/requests.py": BOUND + "a body of a set size, into the shape of its method; writes JSON",
    "servers/http/openapi.py": OWN + "paths of its own routes",
    "servers/jupyter/introspection.py": BOUND + "the line before a cursor, to 2,000 characters, and one dotted name",
    "servers/jupyter/notebook.py": BOUND + "the lines that a cell begins with, each in one pass; nine digits",
    "servers/service.py": OWN + "half characters in what json.dumps has escaped",
    "results/jsonable.py": OWN + "writes JSON",
    "common/signatures.py": OWN + "hints of the host's own tools",
    "common/matching.py": BOUND + "names, 5,000 of 60 characters at most; one pass for where words begin",
    "common/text.py": BOUND + "possessive patterns, shown linear in tests/common/test_text.py; numbers of lengths",
}


def uses(path: Path) -> Iterator[str]:
    """What a file has of the things that are searched for."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from MODULES & {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            yield from MODULES & {(node.module or "").partition(".")[0]}
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
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


def test_every_use_on_strangers_input_is_bounded_or_says_why_it_is_none() -> None:
    found = {str(path.relative_to(ROOT)): sorted({*uses(path)}) for path in files()}
    silent = {name: used for name, used in found.items() if used and name not in WHY}
    assert not silent, "move the reader to safeexec/untrusted/, or give the file its line in WHY"


def test_no_line_outlives_its_file() -> None:
    found = {str(path.relative_to(ROOT)) for path in files() if any(uses(path))}
    assert not WHY.keys() - found


def test_a_line_says_which_of_the_two_it_is() -> None:
    assert all(line.startswith((OWN, BOUND)) and len(line) > len(OWN) + 4 for line in WHY.values())


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(
        "import re, yaml.x\nfrom json import loads\nint(a)\nopen(b)\nos.open(c)\nimportlib.util.find_spec(d)\n"
    )
    assert sorted({*uses(path)}) == ["find_spec", "int", "json", "open", "os.open", "re", "yaml"]
