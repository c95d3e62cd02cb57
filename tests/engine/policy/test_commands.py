"""`safeexec policy` and `safeexec card` as commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from safeexec import Policy
from safeexec.cli import main


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit status, stdout, stderr."""
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def mine(tmp_path) -> Callable[..., str]:
    """The path of a policy of this text, which extends `calculator`."""

    def write(text: str, extends: str = "extends: calculator\n") -> str:
        (tmp_path / "mine.yaml").write_text(f"{extends}{text}\n")
        return str(tmp_path / "mine.yaml")

    return write


def test_the_shipped_profiles_are_listed_checked_and_printed_as_they_can_be_read_again_without_a_finding(capsys, mine):
    status, out, _ = run(capsys, "policy", "list")
    assert status == 0 and "data-analysis" in out and "calculator.yaml" in out
    assert run(capsys, "policy", "check")[0] == 0
    status, out, _ = run(capsys, "policy", "show", "data-analysis")
    assert status == 0
    assert Policy.from_yaml(out, name="data-analysis") == Policy.load("data-analysis")
    pinned = mine(run(capsys, "policy", "show", "calculator")[1], extends="")
    assert run(capsys, "policy", "check", "--strict", pinned) == (0, f"{pinned}: ok\n", "")


@pytest.mark.parametrize(
    ("text", "status", "finding"),
    [
        ("attributes: {refuse: [math.squrt]}", 1, "refuse.math.squrt: math has no such name; did you mean sqrt?"),
        ("tools: {allow: [add], approval: [send]}", 1, "`tools.allow` leaves send out, so nobody is asked about it"),
        ("imports: {threading: all}", 0, "note: imports.threading: most of its work needs `limits.threads: 16`"),
        ("danger_allow_executable_mappings: true", 0, "danger_allow_executable_mappings: it has no effect any more"),
        ("filesystem: {read: [/nowhere/data]}", 0, "note: filesystem.read./nowhere/data: there is no such path"),
        ("imports: {nowhere: all}", 0, "note: imports.nowhere: the module is not installed"),
        ("imports: {socket: all}", 0, "note: imports.socket: it can be imported, but it uses the network"),
        ("imports: {turtle: all}", 0, "note: imports.turtle: it can be imported, but it needs a display, or a person"),
        ("builtins: [print]", 0, "mine.yaml:2: note: builtins: a list takes the place of what is inherited"),
        ("checkpoints: off\non_error: restore", 1, "on_error: with `checkpoints: off` nothing is kept to go back to"),
        ("builtins: []", 0, "note: builtins: no builtin is open; `extends: standard`, for one"),
        ("hints: {math: No.}", 0, "note: hints.math: it is allowed, so that nobody reads the hint"),
        ("imports: {math: [squrt]}", 1, "mine.yaml:2: imports.math.squrt: math has no such name; did you mean sqrt?"),
        ("imports: {random: [all]}", 1, "imports.random.all: random has no such name; write `random: all`"),
        (
            "imports: {msgspec.jsn: all}",
            0,
            "note: imports.msgspec.jsn: msgspec has no module of this name; did you mean",
        ),
        ("imports: {any: all, msgspec.jsn: none}", 0, "note: imports.msgspec.jsn: msgspec has no module of this name"),
        ("attributes: {danger_allow: [__globals_]}", 0, "note: attributes.danger_allow.__globals_: nothing refuses it"),
        ("hints: {math: [No.], 5: No.}", 1, "mine.yaml:2:22: hints.5: expected a refused name, such as random"),
        (
            "only_narrower: true\nbuiltins: {add: [open]}",
            1,
            "mine.yaml:3:1: builtins: is wider than calculator.yaml has",
        ),
    ],
)
def test_check_looks_at_what_changes_nothing(capsys, mine, text, status, finding):
    found, _, err = run(capsys, "policy", "check", mine(text))
    assert (found, finding in err) == (status, True), err


def test_a_slip_in_what_is_left_out_is_told_once(capsys, mine):
    err = run(capsys, "policy", "check", mine("imports: {any: {except: [json.decodr, msgspec.jsn]}}"))[2]
    assert (err.count("decodr"), err.count("jsn"), err.count("json has no module")) == (0, 1, 1), err


def test_check_imports_no_module_that_acts_then(mine, monkeypatch, tmp_path):
    """A stranger's policy had `venv.__main__` make an environment of each argument, and could open a browser."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["safeexec", "made"])
    names = "antigravity: [x], venv.__main__: [x], venv: [__main__.x]"
    text = f"imports: {{{names}}}\nattributes: {{refuse: [antigravity.x, venv.__main__.x]}}"
    assert "no such name" not in "".join(finding.text for finding in Policy.load(mine(text)).check())
    assert not (tmp_path / "made").exists() and "antigravity" not in sys.modules


def test_a_file_that_narrows_is_not_told_what_the_one_that_it_extends_says_to_others(capsys, mine, tmp_path):
    """It may not take away an approval, and needs no hint, for what it closes or opens beyond the base."""
    (tmp_path / "base.yaml").write_text(
        "extends: calculator\ntools: {approval: [pay]}\nhints: {while: No., open: No.}\n"
    )
    team = mine("only_narrower: true\ntools: {allow: none}", extends="extends: base.yaml\n")
    assert run(capsys, "policy", "check", "--strict", team) == (0, f"{team}: ok\n", "")
    team = mine("builtins: {add: [open]}", extends="extends: base.yaml\n")
    assert run(capsys, "policy", "check", "--strict", team)[2] == ""
    listed = mine("", extends="extends: expression\n")
    assert run(capsys, "policy", "check", listed)[2] == "", "a list takes the place of what it inherits there"


def test_what_is_wider_than_allowed_is_told_one_by_one(capsys, mine):
    path = mine("only_narrower: true\nlimits: {memory_mb: 9000}\nbuiltins: {add: [open], remove: [sum]}")
    status, out, _ = run(capsys, "policy", "check", "--json", path)
    found = {finding["path"]: (finding["rule"], finding["text"]) for finding in json.loads(out)[0]["findings"]}
    assert (status, [*found]) == (1, ["limits.memory_mb", "builtins"])
    assert found["builtins"] == (
        "mine.yaml:4:1",
        "is wider than calculator.yaml has it (-sum +open), and only_narrower is true",
    )


def test_a_file_that_extends_nothing_cannot_narrow(capsys, mine):
    path = mine("only_narrower: true\nbuiltins: [print]", extends="")
    status, _, err = run(capsys, "policy", "check", path)
    assert (status, err) == (1, "mine.yaml:1:1: only_narrower: narrower than what? The file has no `extends`\n")


def test_check_tells_all_mistakes_of_a_file_in_one_round(capsys, mine):
    wrong = "limits: {memory: 1}\nbuiltins: {add: [opne]}\nimports:\n  math: [squrt]\n"
    path = mine(wrong + "requirements: [../x.whl, 'humanize==']")
    status, out, err = run(capsys, "policy", "check", path)
    assert (status, out) == (1, f"{path}: 5 mistakes\n")
    places = ("2:10: limits.memory", "3:18: builtins.add[0]", "5: imports.math.squrt", "6:16: requirements[0]")
    for told in (*places, "6:26: requirements[1]"):
        assert f"mine.yaml:{told}" in err
    status, out, err = run(capsys, "policy", "check", "--json", path, "calculator")
    wrong, right = json.loads(out)
    assert (status, err, right) == (1, "", {"policy": "calculator", "ok": True, "findings": []})
    paths = {finding["path"] for finding in wrong["findings"]}
    assert paths == {"limits.memory", "builtins.add[0]", "imports.math.squrt", "requirements[0]", "requirements[1]"}
    status, out, _ = run(capsys, "policy", "check", "--json", "nowhere.yaml")
    assert (status, json.loads(out)[0]["ok"]) == (1, False)


@pytest.mark.parametrize("text", ["limits: {", "extends: mine", "extends: [calculator]", "a: b: c", "builtins: [3]"])
def test_of_a_file_that_cannot_be_read_nothing_is_said_to_be_closed(capsys, mine, text):
    assert "is open; `extends" not in run(capsys, "policy", "check", mine(text, extends=""))[2]


def test_a_hint_that_nobody_reads_is_a_note_and_in_a_strict_check_a_mistake(capsys, mine):
    path = mine("hints: {math: No.}")
    assert run(capsys, "policy", "check", path)[0] == 0
    assert run(capsys, "policy", "check", "--strict", path)[0] == 1
    path = mine("hints: {requests: Use fetch., fetch_all: Use fetch., __globals__: No.}")
    assert run(capsys, "policy", "check", path)[2] == ""


def test_list_goes_on_after_a_profile_that_is_wrong(capsys, tmp_path, monkeypatch):
    (tmp_path / "broken.yaml").write_text("limit: {}\n")
    (tmp_path / "fine.yaml").write_text('description: "two\\nlines\\e[31m"\nextends: calculator\n')
    monkeypatch.setenv("SAFEEXEC_POLICY_PATH", str(tmp_path))
    status, out, err = run(capsys, "policy", "list")
    assert status == 1 and "two lines\n" in out and "data-analysis" in out
    assert "broken.yaml:1:1: limit: unknown key; did you mean limits?" in err


def test_diff(capsys):
    assert run(capsys, "policy", "diff", "standard", "standard") == (0, "", "")
    narrowed = Policy.load("standard").replace(imports={"numpy": {"except": ["save"]}, "math": ["pi"]})
    assert [str(one) for one in Policy.load("standard").diff(narrowed)] == [
        "imports.math: all → [pi]   [narrower]   (replace())",
        "imports.numpy: nothing → except [save]   [wider]   (replace())",
    ]
    _, out, _ = run(capsys, "policy", "diff", "standard", "calculator")
    assert "imports: " in out and " -argparse " in out and " -stdlib " in out and "imports.ast" not in out
    status, out, _ = run(capsys, "policy", "diff", "standard", "data-analysis")
    assert status == 1 and "builtins: +open   [wider]   (data-analysis.yaml:" in out and "+numpy" in out


@pytest.mark.parametrize(
    ("changes", "direction"),
    [
        ({"imports": {"math": ["pi"]}}, "narrower"),
        ({"imports": {"colorsys": "all"}}, "wider"),
        ({"imports": {"math": {"except": ["pi"]}}}, "narrower"),
        ({"builtins": {"add": ["open"], "remove": ["print"]}}, "both"),
        ({"limits": {"memory_mb": 64}}, "narrower"),
        ({"description": "Other."}, "other"),
        ({"require": []}, "wider"),
        ({"language": {"constructs": {"except": ["while"]}}}, "narrower"),
    ],
)
def test_a_difference_says_which_way_it_goes(changes, direction):
    before = Policy.load("calculator")
    assert {one.direction for one in before.diff(before.replace(**changes))} == {direction}


def test_a_language_layer_is_narrower_than_none():
    """What it allows is less than everything, though the policy without one lists nothing."""
    none, some = Policy.load("confined-python"), Policy.load("data-analysis")
    for before, after, direction in ((none, some, "narrower"), (some, none, "wider")):
        found = {one.path: one.direction for one in before.diff(after)}
        assert found["language.mode"] == direction
        assert not {"builtins", "attributes"} & found.keys() and not any("imports" in path for path in found)


def test_what_is_taken_from_a_word_has_the_line_that_takes_it(mine):
    policy = Policy.load(mine("imports: {requests: none, random: none}", extends="extends: data-analysis\n"))
    found = {one.path: (one.after, one.rule) for one in Policy.load("data-analysis").diff(policy)}
    line = policy.origin("imports.requests")
    assert line.startswith("mine.yaml:")
    assert found["imports.any"] == ({"except": ["requests", "random"]}, line)
    assert found["imports.stdlib"] == ({"except": ["random"]}, line), "requests is no part of it"


def test_a_team_may_only_narrow_what_the_company_allows(capsys, tmp_path):
    company, team = tmp_path / "company.yaml", tmp_path / "team.yaml"
    company.write_text("extends: calculator\n")
    check = ("policy", "diff", "--only-narrower", str(company), str(team))
    extends, wider = f"extends: {company}\n", "imports: {random: none, colorsys: all}\nlimits: {memory_mb: 4000}\n"
    team.write_text(f"{extends}imports: {{random: none}}\nlimits: {{memory_mb: 64}}\nhints: {{random: No.}}\n")
    status, out, err = run(capsys, *check)
    assert (status, err) == (0, "") and "[narrower]" in out
    team.write_text(extends + wider)
    status, _, err = run(capsys, *check)
    assert status == 1 and "imports.colorsys" in err and "limits.memory_mb" in err and "random" not in err


def test_what_a_word_takes_exception_to_loses_the_line_that_is_inherited(tmp_path):
    assert "pickle" in Policy.load("standard").imports
    company = tmp_path / "company.yaml"
    company.write_text("extends: standard\nimports: {stdlib: {except: [pickle, os]}, os.path: all}\n")
    policy = Policy.load(str(company))
    assert not {"pickle", "os"} & policy.imports.keys() and "os.path" in policy.imports
    assert "company.yaml:2" in str(policy.why("pickle")) and "refused" in str(policy.why("pickle"))
    assert {one.direction for one in Policy.load("standard").diff(policy)} == {"narrower"}


def test_the_approval_of_a_tool_that_cannot_be_called_any_more_is_no_loss():
    company = Policy.load("calculator").replace(tools={"allow": ["price", "order"], "approval": ["order"]})
    found = company.diff(company.replace(tools={"allow": ["price"], "approval": []}))
    assert [(one.path, one.direction) for one in found] == [("tools.allow", "narrower")]
    assert any(one.allows_more for one in company.diff(company.replace(tools={"approval": []})))
    assert not any(one.allows_more for one in company.diff(company.replace(determinism={"seed": 1})))


def test_a_refusal_does_not_say_that_a_module_is_open_which_the_policy_takes_away(capsys, mine):
    policy = mine("imports: {random: none}", extends="extends: standard\n")
    told = run(capsys, "policy", "why", "random", "--policy", policy)[1]
    assert "those of the standard library, but `random`" in told


def test_why(capsys):
    status, out, _ = run(capsys, "policy", "why", "math", "walrus")
    assert (status, out.count("allowed by calculator.yaml:")) == (0, 2)
    status, out, _ = run(capsys, "policy", "why", "os.system", "--policy", "data-analysis")
    assert status == 1 and "refused by standard.yaml:" in out
    assert run(capsys, "policy", "why", "from", "math", "import", "sqrt")[0] == 0
    (answer,) = json.loads(run(capsys, "policy", "why", "breakpoint", "--json")[1])
    assert (answer["kind"], answer["allowed"]) == ("builtin", False)


def test_why_of_a_program(capsys, tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import html\nprint(html.escape('<'))\n")
    status, out, _ = run(capsys, "policy", "why", "--program", str(path), "-p", "calculator")
    assert status == 1
    assert "line 2: html.escape (module): refused by calculator.yaml:" in out
    assert out.endswith("extends: calculator\nimports:\n  html: [escape]\n")
    status, out, _ = run(capsys, "policy", "why", "--program", str(path), "-p", "standard")
    assert status == 0
    assert out == "standard allows html.escape (line 2), print (line 2)\nstandard refuses nothing of it\n"
    path.write_bytes(b"\xef\xbb\xbfimport os\r\nos.system('ls')\r\n")
    status, out, _ = run(capsys, "policy", "why", "--program", str(path))
    why = "it starts programs or reaches other processes, which the kernel refuses here"
    assert (status, out.splitlines()[-1]) == (1, f"# not in it: os.system (line 2): {why}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("policy", "show", "nope"),
        ("policy", "why"),
        ("policy", "why", "1 + 1"),
        ("policy", "why", "--program", "/nowhere.py"),
        ("card", "--policy", "nope"),
    ],
)
def test_mistakes_end_with_status_2(capsys, arguments):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("safeexec: ") and "Traceback" not in err


def test_card(capsys):
    assert run(capsys, "card")[1].startswith("Python sandbox, profile standard")
    assert run(capsys, "card", "--policy", "calculator", "--format", "markdown")[1].startswith("# Python sandbox")
    assert json.loads(run(capsys, "card", "--policy", "plugin", "--format", "json")[1])["profile"] == "plugin"
