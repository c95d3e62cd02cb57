"""Displays, changes and values of real sessions, as the caller gets them."""

from __future__ import annotations

import pytest

from safeexec import Sandbox, Session
from safeexec.results.observation import png_size


def test_changes_are_named_and_described(session: Session) -> None:
    first = session.run("x = 1; rows = [1, 2]\ndef area(width, height): return width * height")
    assert first.changes.created == ("x", "rows", "area")
    assert first.changes.descriptions == {"x": "int 1", "rows": "list of 2", "area": "function area(width, height)"}
    second = session.run("rows.append(3); del x")
    assert (second.changes.changed, second.changes.deleted) == (("rows",), ("x",))
    assert session.run("rows").changes == type(second.changes)()
    assert session.run("y = 5\n1 / 0").changes.created == ("y",)


def test_display_and_a_rich_value(session: Session) -> None:
    bold = "def __init__(self, text): self.text = text\n    def _repr_html_(self): return f'<b>{self.text}</b>'"
    result = session.run(f"class Bold:\n    {bold}\ndisplay(1, Bold('two'))\nBold('three')")
    assert [display.html for display in result.displays] == [None, "<b>two</b>", "<b>three</b>"]
    assert result.displays[0].text == "1"
    assert session.run("1").displays == ()


@pytest.mark.parametrize("call", ["print(half)", "sys.stdout.write(half)", "print(1, half)"])
def test_half_of_a_character_that_is_printed_is_one_error(session: Session, call: str) -> None:
    error = session.run(f"import sys\nhalf = chr(0xd800)\n{call}").error
    assert error is not None and error.type == "UnicodeEncodeError"
    assert error.traceback.count("UnicodeEncodeError") == 1


def test_without_an_input_what_is_registered_with_atexit_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "1")
    with Sandbox("confined-python") as sandbox, sandbox.session() as session:
        result = session.run("import atexit\n@atexit.register\ndef main(): print('bye')")
        assert result.outcome == "ok" and "atexit" in result.notes[0]
        assert not session.run("import logging, os\nmain()").notes
        assert not session.run("'SECRET_OF_THE_HOST' in os.environ").value


PLOTS = """
import matplotlib.pyplot as plt
import pandas as pd
plt.plot([1, 2]); plt.show()
figure, axes = plt.subplots(); axes.bar(['a'], [1])
df = pd.DataFrame({'a': [1, 2]})
"""


@pytest.mark.profile("data-analysis")
@pytest.mark.modules("matplotlib", "pandas")
def test_plots_and_frames_and_the_state_after_a_timeout(session: Session) -> None:
    """matplotlib closes the fonts it has open in every fork: a restore must not take their numbers for its own."""
    plotted = session.run(PLOTS).check()
    sizes = [png_size(display.png or b"") for display in plotted.displays]
    assert plotted.stderr == "" and len(sizes) == 2 and None not in sizes
    assert plotted.changes.descriptions["df"] == "DataFrame 2x1"
    stopped = session.run("while True: pass", timeout=0.5)
    assert (stopped.outcome, stopped.state, stopped.notes) == ("timeout", "restored", ())
    shown = session.run("df")
    assert shown.displays[0].markdown == "|  | a |\n| --- | ---: |\n| 0 | 1 |\n| 1 | 2 |"
    again = session.run("axes.set_title('still there'); plt.plot([2, 1]); None")
    assert [next(iter(display)) for display in again.displays] == ["image/png"]


@pytest.mark.profile("data-analysis")
@pytest.mark.modules("numpy", "pandas")
def test_frames_cross_when_they_are_asked_for(session: Session) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.5, None], "s": ["x", None]})
    session.set("df", frame)
    assert session.run("df.shape").value == (2, 2)
    session.run("df['b'] = df.a * 2")
    pandas.testing.assert_frame_equal(session.get("df"), frame.assign(b=frame.a * 2))
