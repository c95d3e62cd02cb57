"""Displays, errors and notes of real sessions, as the caller gets them."""

from __future__ import annotations

import pytest

from safeexec import Sandbox, Session
from safeexec.results.observation import png_size


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
