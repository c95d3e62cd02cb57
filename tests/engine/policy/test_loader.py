"""Mistakes of a policy file: each names its place, what was expected, and the nearest valid word; all at once."""

# ruff: noqa: E501  (a case is a line: the file and what is said about it)
from __future__ import annotations

import pytest

from safeexec import Policy, PolicyError
from tests.untrusted.hostile import FILES

MISTAKES = [
    # (text, the error's message)
    ("limit: {}", "p.yaml:1:1: limit: unknown key; did you mean limits?"),
    ("limits:\n  wall_second: 5", "p.yaml:2:3: limits.wall_second: unknown key; did you mean wall_seconds?"),
    ("limits:\n  wall_seconds: 5s", "p.yaml:2:3: limits.wall_seconds: expected a number of seconds, such as 5.0; found the text '5s'"),
    ("limits: {memory_mb: -1}", "p.yaml:1:10: limits.memory_mb: expected int >= 16 (a whole number of MiB), found -1"),
    ("limits: {threads: true}", "p.yaml:1:10: limits.threads: expected a whole number; found true"),
    ("limits: 5", "p.yaml:1:1: limits: expected a mapping with wall_seconds"),
    ("socketpair: on", "socketpair: expected true or false; found the text 'on'"),
    ("on_error: kep", "p.yaml:1:1: on_error: expected keep or restore; found the text 'kep'; did you mean keep?"),
    ("imports:\n  os: except [environ]", "p.yaml:2:3: imports.os: expected all or none, or a list of names, or a mapping with except, add, remove; found the text 'except [environ]'; did you mean {except: [environ]}?"),
    ("requirements: networkx>=3,<4", "p.yaml:1:1: requirements: expected a list of names, or a mapping with add, remove; found the text 'networkx>=3,<4'; a list of one name is ['networkx>=3,<4']"),
    ("builtins: print", "p.yaml:1:1: builtins: expected a list of names, or a mapping with add, remove; found the text 'print'; a list of one name is [print]"),
    ("builtins: all", "p.yaml:1:1: builtins: expected a list of names, or a mapping with add, remove; found the text 'all'"),
    ("imports: {math: '*'}", "found the text '*'; did you mean all?"),
    ("limits: {memory_mb: '512'}", "p.yaml:1:10: limits.memory_mb: expected a whole number of MiB; found the text '512'; write it without quotes"),
    ("only_narrower: 'true'", "p.yaml:1:1: only_narrower: expected true or false; found the text 'true'; write it without quotes"),
    ("memory_mb: 512", "p.yaml:1:1: memory_mb: unknown key; did you mean limits.memory_mb?"),
    ("limits: {on_error: keep}", "p.yaml:1:10: limits.on_error: unknown key; did you mean on_error?"),
    ("limits: {workspace: none}", "p.yaml:1:10: limits.workspace: unknown key; did you mean filesystem.workspace?"),
    ("filesystem: {clock: real}", "p.yaml:1:14: filesystem.clock: unknown key; did you mean determinism.clock or tools.clock?"),
    ("tools: {approval: [all]}", "p.yaml:1:20: tools.approval[0]: every tool is '*' here"),
    ("tools: {approval: ['pay_*']}", "p.yaml:1:20: tools.approval[0]: no tool has a `*` in its name, and patterns are not read"),
    ("tools: {allow: ['*']}", "p.yaml:1:17: tools.allow[0]: no tool has a `*` in its name, and patterns are not read"),
    ("imports: [math, json]", "p.yaml:1:1: imports: expected a mapping; found a list; write `math: …` for each"),
    ("imports: {math: yes}", "p.yaml:1:11: imports.math: expected all or none, or a list of names, or a mapping with except, add, remove; found the text 'yes'; did you mean all?"),
    ("builtins: [3]", "p.yaml:1:12: builtins[0]: expected text; found 3"),
    ("builtins: [prnt]", "p.yaml:1:12: builtins[0]: Python has no builtin prnt; did you mean print?"),
    ("builtins: {ad: [print]}", "p.yaml:1:12: builtins.ad: unknown key; did you mean add?"),
    ("imports: {any: {except: [nunpy]}}", "p.yaml:1:26: imports.any.except[0]: no module of this name is installed; did you mean numpy?"),
    ("imports: {statistcs: all}", "p.yaml:1:11: imports.statistcs: no module of this name is installed; did you mean statistics?"),
    ("extends: standard\nimports: {randm: none}", "p.yaml:2:11: imports.randm: no module of this name is installed; did you mean random?"),
    ("extends: standard\nimports: {xml.etree.ElementTre: none}", "imports.xml.etree.ElementTre: xml.etree has no module of this name; did you mean ElementTree?"),
    ("imports: {json: {remove: [loads]}}", "p.yaml:1:18: imports.json.remove: json is not inherited, so nothing can be removed; write except instead"),
    ("language: {constructs: {except: [wile]}}", "p.yaml:1:34: language.constructs.except[0]: no construct is called 'wile'; did you mean while?"),
    ("require: [secomp]", "p.yaml:1:11: require[0]: no mechanism is called 'secomp'; did you mean seccomp?"),
    ("filesystem: {read: [data]}", "p.yaml:1:21: filesystem.read[0]: expected an absolute path without .., found 'data'"),
    ("determinism: {clock: noon}", "p.yaml:1:15: determinism.clock: expected real or an ISO 8601 instant"),
    ("danger_allow_commands: [rm -rf]", "expected the name or path of one program without arguments"),
    ("attributes: {danger_allow: [os.system]}", "only bare attribute names are allowed here"),
    ("attributes: {danger_allow: [a b]}", "p.yaml:1:29: attributes.danger_allow[0]: 'a b' is no attribute name"),
    ("imports: {os-path: all}", "p.yaml:1:11: imports.os-path: a module is written as in an import statement, such as numpy or os.path"),
    ("danger_allow_modules: [a-b]", "p.yaml:1:24: danger_allow_modules[0]: 'a-b' is no name"),
    ('limits: {threads: {"\\e[2J": 1}}', "expected a whole number; found a mapping (\\x1b[2J)"),
    (f"hints: {{{', '.join(f'b{number}: x' for number in range(501))}}}", "p.yaml:1:1: hints: 501 hints; a policy has at most 500"),
    ("hints: {open: ''}", "p.yaml:1:9: hints.open: expected one or two sentences"),
    ("limits: {wall_seconds: 90}", "p.yaml:1:10: limits.wall_seconds: wall_seconds (90) is more than max_wall_seconds (60)"),
    ("extends: calculater", "p.yaml:1:1: extends: no policy is called 'calculater'; did you mean calculator?"),
    ("extends: calculator\nbuiltins: {remove: [open]}", "p.yaml:2:21: builtins.remove[0]: open is not inherited"),
    ("", "the file is empty"),
    ("a: b: c", "p.yaml:1:5: not YAML: mapping values are not allowed in this context; a text that holds `: ` is written in quotes"),
    ("limits:\n\tmemory_mb: 64", "p.yaml:2:1: not YAML: found character that cannot start any token; a tab cannot indent; use spaces"),
    ("description: @home", "p.yaml:1:14: not YAML: found character that cannot start any token; a text that begins with this character is"),
    ("tools: {approval: [*]}", "`*` begins an alias; write it in quotes: '*'"),
    ("null", "p.yaml:1:1: expected a mapping of keys, found nothing"),
    ("builtins: {}", "p.yaml:1:1: builtins: expected names to add or to remove"),
    ("builtins: {add: [print, len], remove: [print]}", "p.yaml:1:1: builtins: print cannot be both added and removed"),
    ("imports: {math: {except: [comb], add: [pi]}}", "p.yaml:1:11: imports.math: except replaces what is inherited, add and remove change it: write one or the other"),
    ("filesystem: {read: [\"/a\\0b\"]}", "filesystem.read[0]: expected an absolute path without .., found '/a\\x00b'"),
    ("filesystem: {read: [//]}", "filesystem.read[0]: the whole file system cannot be opened; name the directories"),
    ("hints: {a b: x}", "p.yaml:1:9: hints.a b: expected a refused name, such as random, numpy.load, open, __globals__ or while"),
    ("determinism: {seed: 99999999999999999999}", "p.yaml:1:15: determinism.seed: expected int <= 9223372036854775807, found 99999999999999999999"),
    ('"lim\\x1bits": 1', "p.yaml:1:1: 'lim\\x1bits': unknown key; did you mean limits?"),
    ("limits: {memory_mb: " + "9" * 500 + "}", "expected a whole number of MiB; found"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_is_named(text, message):
    with pytest.raises(PolicyError) as caught:
        Policy.from_yaml(text, filename="p.yaml")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("imports: {maths: all, math: some}", ["imports.maths", "imports.math"]),
        ("determinism: {seed: -1, clock: noon}", ["determinism.seed", "determinism.clock"]),
        # What depends on a setting that is wrong is not told.
        ("limits: {wall_seconds: 90, max_wall_seconds: x}", ["limits.max_wall_seconds"]),
        ("extends: [calculator]\nbuiltins: {remove: [print]}", ["extends"]),
        ("extends: calculator\nbuiltins: {remove: [open], ad: [print]}", ["builtins.ad"]),
        ("extends: confined-python\nlanguage: {mode: strict}\nbuiltins: [print]", ["language.mode"]),
    ],
)
def test_a_wrong_key_hides_no_mistake_beside_it(text, paths):
    with pytest.raises(PolicyError) as caught:
        Policy.from_yaml(text)
    assert [one.path for one in caught.value.mistakes] == paths


def test_what_is_wrong_along_extends_is_reported_together(tmp_path):
    (tmp_path / "base.yaml").write_text("limits: {\n")
    (tmp_path / "child.yaml").write_text("extends: ./base.yaml\nimports: {maths: all}\nbuiltins: {remove: [print]}\n")
    with pytest.raises(PolicyError) as caught:
        Policy.load(tmp_path / "child.yaml")
    lines = str(caught.value).splitlines()
    assert lines[0] == "2 mistakes:"  # what the base has of builtins is not known, so nothing is said of it
    assert "base.yaml:2:1: not YAML" in lines[1]
    assert "child.yaml:2:11: imports.maths" in lines[2]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("builtins: [%s]", "print_{}"),
        ("imports: {%s: all}", "statistics{}"),
        ("imports: {%s: all}", "encodings.utf_7{}"),
    ],
)
def test_many_words_are_not_all_compared_with_those_that_are_known(text: str, word: str) -> None:
    """4,000 took 5 to 11 s."""
    with pytest.raises(PolicyError) as caught:
        Policy.from_yaml(text % (": all, " if "{" in text else ", ").join(map(word.format, range(150))))
    assert sum("did you mean" in mistake.text for mistake in caught.value.mistakes) == 100


def test_an_error_stays_readable_however_much_is_wrong():
    text = "".join(f"key{number}: {'x' * 20}\n" for number in range(2000))
    with pytest.raises(PolicyError) as caught:
        Policy.from_yaml(text)
    lines = str(caught.value).splitlines()
    assert lines[0] == "2000 mistakes:"
    assert lines[-1] == "  and 1900 more"
    with pytest.raises(PolicyError, match="at most 5000 values"):
        Policy.from_yaml(f"builtins: [{'prnt, ' * 30_000}]")
    with pytest.raises(PolicyError) as caught:
        Policy.from_yaml(f"limits: {{memory_mb: {'x' * 100_000}}}")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("given", [{"extends": "calculator"}, None, 5, b"calculator"])
def test_what_is_no_policy_is_told(given):
    with pytest.raises(PolicyError, match=f"a name, a path or a Policy, not {type(given).__name__}"):
        Policy.load(given)


def test_a_file_that_is_too_long_is_not_read(tmp_path):
    with pytest.raises(PolicyError, match="at most 262144"):
        Policy.from_yaml("#" * 300_000)
    path = tmp_path / "p.yaml"
    path.write_bytes(b"#" * 3_000_000)
    with pytest.raises(PolicyError, match="it has 3000000 bytes, and 1048576 are allowed"):
        Policy.load(path)


@pytest.mark.parametrize("kind", FILES)
def test_what_is_no_regular_file_is_refused_and_not_waited_for(kind, tmp_path):
    if kind == "link to a file":
        pytest.skip("the caller's own link to a file is followed")
    path = tmp_path / "below" / "p.yaml"
    path.parent.mkdir()
    FILES[kind](path)
    with pytest.raises(PolicyError):
        Policy.load(path)
    (tmp_path / "child.yaml").write_text("extends: ./below/p.yaml\n")
    with pytest.raises(PolicyError, match=r"child.yaml:1:1: extends:"):
        Policy.load(tmp_path / "child.yaml")


def test_marks_and_line_ends_of_other_systems_are_read_and_what_is_not_text_is_told(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_bytes(b"\xef\xbb\xbflimits:\r\n  threads: 010\r\n")
    assert Policy.load(path).limits.threads == 10, "a decimal, whatever YAML 1.1 took it for"
    path.write_bytes(b"limits: {}\r\ndescription: \xc3\xa4\xff")
    with pytest.raises(PolicyError, match=r"p.yaml:2:15: not UTF-8 text: byte 27 is 0xff"):
        Policy.load(path)
