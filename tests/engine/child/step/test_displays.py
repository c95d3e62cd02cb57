"""What a step shows: figures, frames, pictures, formulas, objects with rich forms, and `display()`."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from safeexec.engine.child.step import displays
from safeexec.engine.child.step.displays import Displays
from safeexec.results.observation import png_size
from tests.alone import alone


def forms(shown: Displays, value: Any = None) -> list[dict[str, bytes]]:
    return [display.data for display in shown.collect(value)]


def test_an_update_takes_the_place_of_what_was_shown() -> None:
    shown = Displays()
    told: list[Any] = []
    shown.report = lambda display: told.append((display.data["text/plain"], display.display_id, display.update))
    handle = shown.display(1, display_id=True)
    shown.display("between")
    handle.update(2)
    assert forms(shown) == [{"text/plain": b"2"}, {"text/plain": b"'between'"}]
    assert [(text, update) for text, _, update in told] == [(b"1", False), (b"'between'", False), (b"2", True)]
    assert told[0][1] == told[2][1] == handle.display_id != told[1][1]
    handle.update(3)  # in a later step, whose result has it
    assert forms(shown) == [{"text/plain": b"3"}]


def test_forms_may_be_given_as_they_are() -> None:
    shown = Displays()
    handle = shown.display({"text/html": "<i>", 1: "left out"}, {"application/json": {"a": [1]}}, raw=True)
    assert handle is None
    assert forms(shown) == [
        {"text/html": b"<i>", "text/plain": b""},
        {"application/json": b'{"a": [1]}', "text/plain": b""},
    ]
    handle = shown.display({"text/plain": "old"}, raw=True, display_id="one")
    handle.update({"image/png": b"p", "text/plain": "new"}, raw=True)
    assert forms(shown) == [{"image/png": b"p", "text/plain": b"new"}]
    with pytest.raises(TypeError, match="a bundle of forms is a dict"):
        shown.display("<i>", raw=True)


class Rich:
    def _repr_html_(self) -> str:
        return "<b>rich</b>"

    def _repr_png_(self) -> bytes:
        raise ValueError("no picture today")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return {"application/json": {"a": 1}, "text/markdown": "**rich**", "no mime type": "x"}, {}

    def __repr__(self) -> str:
        return "Rich()"


def test_rich_forms_of_an_object_and_one_that_cannot_be_shown() -> None:
    (found,) = forms(Displays(), Rich())
    assert (found.pop("application/json"), found.pop("text/markdown")) == (b'{"a": 1}', b"**rich**")
    assert found == {"text/html": b"<b>rich</b>", "text/plain": b"Rich()"}
    shown = Displays()
    shown.display(Broken())
    told = f"<{__name__}.Broken object; its repr failed: RuntimeError: no repr>"
    assert forms(shown) == [{"text/plain": told.encode()}]


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_sizes_and_numbers_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(displays, "MAX_BYTES", 1000)

    class Huge:
        def _repr_html_(self) -> str:
            return "x" * 5000

        def __repr__(self) -> str:
            return "Huge()"

    (display,) = Displays().collect(Huge())
    assert display.truncated
    assert display.data["text/plain"].startswith(b"Huge()\n(text/html of 5000 bytes left out")
    shown = Displays()
    shown.display(*range(60))
    found = shown.collect(None)
    assert len(found) == 51
    assert found[-1].data["text/plain"] == b"10 more displays were left out: a step may show 50"


def told_by(code: str) -> Any:
    """What `code` tells, run in a process of its own whose libraries are not loaded yet. `forms()` are the MIME types
    of the displays, `sizes()` those of the PNGs, `data()` what they hold.
    """
    start = """
        import json, warnings
        from safeexec.engine.child.step.displays import Displays
        from safeexec.results.observation import png_size
        shown = Displays()
        shown.prepare()
        def forms(value=None): return [sorted(display.data) for display in shown.collect(value)]
        def sizes(): return [png_size(display.data["image/png"]) for display in shown.collect(None)]
        def data(): return [{mime: held.decode() for mime, held in one.data.items()} for one in shown.collect(None)]
        def tell(*told): print(json.dumps(told))
    """
    done = alone(textwrap.dedent(start) + textwrap.dedent(code))
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


PICTURE = ["image/png", "text/plain"]
DRAWN: dict[str, tuple[str, list[Any]]] = {
    "open figures become pictures once, and the current one stays": (
        """
        plt.plot([1, 2])
        plt.figure(figsize=(2, 1)); plt.plot([2, 1])
        (first, second), again, left = sizes(), sizes(), plt.get_fignums()
        plt.plot([1, 3])
        tell(first[0] > second[0], first[1] > second[1], again, left, len(plt.gca().get_lines()), forms())
        """,
        [True, True, [], [2], 2, [PICTURE]],
    ),
    "a shown figure is done at once": (
        """
        plt.plot([1, 2]); plt.show()
        lines = len(plt.gca().get_lines())
        plt.bar([1], [2])
        tell(lines, forms(), len(plt.get_fignums()))
        """,
        [0, [PICTURE] * 2, 1],
    ),
    "a shown figure that is held is shown again when it changes, and not when it is saved": (
        """
        import io
        figure, axes = plt.subplots(); axes.plot([1, 2]); plt.show()
        first = forms()
        figure.savefig(io.BytesIO(), dpi=50, bbox_inches="tight")
        saved = forms()
        axes.set_title("Better")
        tell(first, saved, forms())
        """,
        [[PICTURE], [], [PICTURE]],
    ),
    "open figures are found though the program took the names of pyplot": (
        "plt.plot([1, 2])\nplt.figure = plt.gcf = (8, 5)\ntell(forms())",
        [[PICTURE]],
    ),
    "each way to show separates figures and keeps their order": (
        """
        plt.plot([1, 2]); plt.show()
        shown.display("between")
        plt.plot([2, 1]); plt.gcf().show()
        plt.plot([1, 3])
        tell(forms(), len(plt.gca().get_lines()))
        """,
        [[PICTURE, ["text/plain"], PICTURE, PICTURE], 1],
    ),
    "a figure is shown once and done when the step ends, as its value and where it is displayed": (
        """
        figure, axes = plt.subplots(); axes.plot([1])
        as_value, opened = forms(figure), plt.get_fignums()
        figure, axes = plt.subplots(); axes.plot([1])
        shown.display(figure)
        tell(as_value, opened, forms(), plt.get_fignums())
        """,
        [[PICTURE], [], [PICTURE], []],
    ),
    "a giant figure is drawn smaller, and one that cannot be drawn says why": (
        r"""
        plt.figure(figsize=(500, 500), dpi=300); plt.plot([1])
        ((width, height),) = sizes()
        plt.figure(); plt.title(r"$\frac{1}{$")
        why = shown.collect(None)[0].data["text/plain"].decode()
        could_not = "<matplotlib.figure.Figure: it could not be shown (ValueError: "
        tell(width * height < 25_000_000, why.startswith(could_not), forms())
        """,
        [True, True, []],
    ),
}


@pytest.mark.modules("matplotlib")
@pytest.mark.parametrize(("code", "told"), DRAWN.values(), ids=DRAWN)
def test_figures_of_matplotlib(code: str, told: list[Any]) -> None:
    """In a process of their own: matplotlib keeps fonts open, and `prepare` changes it for good."""
    start = "warnings.simplefilter('error')\nimport matplotlib\nmatplotlib.use('Agg')\n"
    assert told_by(f"{start}from matplotlib import pyplot as plt\n{textwrap.dedent(code)}") == told


class TestPandas:
    pandas = pytest.importorskip("pandas")

    def test_a_frame_is_html_markdown_and_text(self) -> None:
        frame = self.pandas.DataFrame({"name": ["a|b", "c\nd"], "x": [1, 2.5]}, index=["i", "j"])
        (data,) = forms(Displays(), frame)
        assert data["text/markdown"].decode() == (
            "|  | name | x |\n| --- | --- | ---: |\n| i | a\\|b | 1 |\n| j | c d | 2.5 |"
        )
        assert b"<table" in data["text/html"]
        assert data["text/plain"].decode() == repr(frame)

    def test_a_large_frame_shows_its_ends_and_its_size(self) -> None:
        frame = self.pandas.DataFrame({f"c{number}": range(1000) for number in range(50)})
        (data,) = forms(Displays(), frame)
        lines = data["text/markdown"].decode().split("\n")
        assert lines[-1] == "1000 rows x 50 columns"
        assert len(lines) == 2 + 21 + 2
        assert lines[0].count("|") == 23
        assert len(data["text/html"]) < 50_000

    def test_a_series_is_a_table_of_one_column(self) -> None:
        (data,) = forms(Displays(), self.pandas.Series([1, 2], name="x"))
        assert data["text/markdown"].decode() == "|  | x |\n| --- | ---: |\n| 0 | 1 |\n| 1 | 2 |"


def test_pillow_pictures_are_png() -> None:
    image = pytest.importorskip("PIL.Image")
    (data,) = forms(Displays(), image.new("CMYK", (30, 20)))
    assert png_size(data["image/png"]) == (30, 20)
    (data,) = forms(Displays(), image.effect_noise((3000, 3000), 100))
    assert len(data["image/png"]) <= 4 << 20


def test_sympy_is_latex() -> None:
    sympy = pytest.importorskip("sympy")
    (data,) = forms(Displays(), sympy.Symbol("x") ** 2 / 3)
    assert data == {"text/latex": rb"$$\frac{x^{2}}{3}$$", "text/plain": b"x**2/3"}


def test_plotly_is_json_whether_displayed_or_shown() -> None:
    pytest.importorskip("plotly")
    (told,) = told_by("""
        import plotly.graph_objects as go, plotly.io
        figure = go.Figure(go.Bar(y=[1, 2]))
        shown.display(figure); figure.show(); plotly.io.show(figure.to_dict())
        tell(data())
    """)
    found = [json.loads(display["application/vnd.plotly.v1+json"]) for display in told]
    assert len(found) == 3 and found[0]["data"][0]["type"] == "bar" and found[0] == found[1] == found[2]
