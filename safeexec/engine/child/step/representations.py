"""A value as a person sees it in a notebook: MIME type → data. Nothing is imported that the guest has not imported.

The `_repr_*_` methods are the guest's or a library's code and run under the guest's limits; what they raise is dropped.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Collection
from io import BytesIO
from typing import Any

from safeexec.common.identity import module_of
from safeexec.common.text import short_repr

TEXT_CHARACTERS = 10_000
FRAME_ROWS = 20
FRAME_COLUMNS = 20
CELL_CHARACTERS = 80
PICTURE_BYTES = 4 << 20
"""A picture whose PNG is larger is shown at a lower resolution."""
PIXELS = 20_000_000
"""So is a larger figure: the guest chooses figsize, and 100 inches at 300 dpi take 3.6 GB."""

_VEGA_LITE = re.compile(r"/vega-lite/v([0-9]{1,3})\b")
_METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_latex_", "text/latex"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_json_", "application/json"),
)
MOST_FORMULAS = 100
_HOLDERS = (list, tuple, set, dict)
_PLAIN_MODULES = frozenset(
    {"builtins", "collections", "decimal", "fractions", "datetime", "uuid", "enum", "functools", "re"}
)


def rich(value: Any) -> dict[str, Any]:
    """Return the rich forms of `value`, text as str and pictures as bytes; none where its repr is all there is."""
    kind = type(value)
    module = module_of(kind)
    if type(module) is not str or module in _PLAIN_MODULES:
        if kind in _HOLDERS and "sympy" in sys.modules:
            return _of_formulas(value, [*value, *value.values()] if kind is dict else value)
        return {}
    package = module.partition(".")[0]
    special = _SPECIAL.get(package)
    if special is not None:
        found = special(value)
        if found is not None:
            return found
    return _by_methods(value, kind)


def of_bundle(bundle: dict[Any, Any]) -> dict[str, Any]:
    """Return what a dict of MIME types gives, text as str and pictures as bytes. Raises `TypeError`."""
    if type(bundle) is not dict:
        raise TypeError(f"a bundle of forms is a dict, MIME type to data, not {short_repr(bundle, TEXT_CHARACTERS)}")
    return {mime: _as_data(item) for mime, item in bundle.items() if type(mime) is str}


def _by_methods(value: Any, kind: type) -> dict[str, Any]:
    bundle = _called(value, kind, "_repr_mimebundle_")
    if type(bundle) is tuple and bundle:
        bundle = bundle[0]
    data = of_bundle(bundle) if type(bundle) is dict else {}
    for name, mime in _METHODS:
        if mime not in data:
            data[mime] = _as_data(_called(value, kind, name))
    return {mime: item for mime, item in data.items() if item is not None}


def _called(value: Any, kind: type, name: str) -> Any:
    """Return what the method of the type answers; None where there is none, or it raises."""
    try:
        method = getattr(kind, name, None)
        return None if method is None else method(value)
    except Exception:
        return None


def _as_data(item: Any) -> Any:
    """Return text as str, pictures as bytes, JSON as text. Some libraries answer with (data, metadata)."""
    if type(item) is tuple and len(item) == 2:
        item = item[0]
    if item is None or type(item) in (str, bytes):
        return item
    if type(item) in (dict, list):
        try:
            return json.dumps(item, default=str)
        except (TypeError, ValueError, RecursionError):
            return None
    return None


# Libraries


def _of_pandas(value: Any) -> dict[str, Any] | None:
    """Return a DataFrame or Series; an index and everything else of pandas has only its text, a Styler its own HTML."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, (pandas.DataFrame, pandas.Series)):
        return None
    frame = value.to_frame(name=value.name if value.name is not None else "") if value.ndim == 1 else value
    data: dict[str, Any] = {"text/markdown": frame_markdown(frame)}
    try:
        data["text/html"] = frame.to_html(max_rows=FRAME_ROWS, max_cols=FRAME_COLUMNS, show_dimensions=True, border=0)
    except Exception:  # a label or a cell whose text cannot be made
        pass
    return data


def frame_markdown(frame: Any) -> str:
    """Return a DataFrame as a Markdown table: of a large one the first and last rows and columns, then its size."""
    rows, columns = frame.shape
    top = _ends(rows, FRAME_ROWS)
    left = _ends(columns, FRAME_COLUMNS)
    header = ["", *(_cell(frame.columns[position]) for position in left)]
    numeric = [frame.dtypes.iloc[position].kind in "iufc" for position in left]
    lines = [header, ["---", *("---:" if right else "---" for right in numeric)]]
    lines += [
        [_cell(frame.index[position]), *(_cell(frame.iat[position, column]) for column in left)] for position in top
    ]
    if rows > FRAME_ROWS:
        lines.insert(2 + FRAME_ROWS // 2, ["..."] * len(header))
    if columns > FRAME_COLUMNS:
        for line in lines:
            line.insert(1 + FRAME_COLUMNS // 2, "---" if line[0] == "---" else "...")
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    cut = rows > FRAME_ROWS or columns > FRAME_COLUMNS
    return f"{table}\n\n{rows} rows x {columns} columns" if cut else table


def _ends(count: int, limit: int) -> list[int]:
    if count <= limit:
        return list(range(count))
    return [*range(limit // 2), *range(count - limit // 2, count)]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        text = f"{value:.6g}" if value == value else "NaN"
    else:
        text = str(value)
    if len(text) > CELL_CHARACTERS:
        text = text[: CELL_CHARACTERS - 3] + "..."
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("\r", " ")


def _of_matplotlib(value: Any) -> dict[str, Any] | None:
    """Return a PNG. Raises what drawing raises: a guest's own artist, mathtext, no memory."""
    if not is_figure(value):
        return None
    width, height = value.get_size_inches()
    dpi = float(value.get_dpi())
    if width * height * dpi * dpi > PIXELS:
        dpi = max((PIXELS / (width * height)) ** 0.5, 1.0)
    buffer = BytesIO()
    value.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight")
    return {"image/png": buffer.getvalue()}


def is_figure(value: Any) -> bool:
    """Return whether a value is a figure of matplotlib."""
    kind = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    return kind is not None and isinstance(value, kind)


def _of_pillow(value: Any) -> dict[str, Any] | None:
    module = sys.modules.get("PIL.Image")
    if module is None or not isinstance(value, module.Image):
        return None
    picture = value
    if value.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        picture = value.convert("RGB")
    while True:
        buffer = BytesIO()
        if picture.width * picture.height <= PIXELS:
            picture.save(buffer, "PNG")
            if buffer.tell() <= PICTURE_BYTES:
                return {"image/png": buffer.getvalue()}
        picture = picture.resize((picture.width // 2 or 1, picture.height // 2 or 1))


def _of_formulas(value: Any, items: Collection[Any]) -> dict[str, Any]:
    """Return a formula, or what holds such `items` alone, as sympy prints it."""
    sympy = sys.modules.get("sympy")
    if sympy is None or not 0 < len(items) <= MOST_FORMULAS:
        return {}
    if not all(isinstance(one, (sympy.Basic, sympy.MatrixBase)) for one in items):
        return {}
    return {"text/latex": f"$${sympy.latex(value)}$$"}


def _of_altair(value: Any) -> dict[str, Any] | None:
    if not hasattr(type(value), "to_json"):
        return None
    text = value.to_json(indent=None)
    version = _VEGA_LITE.search(str(json.loads(text).get("$schema", "")))
    return {f"application/vnd.vegalite.v{version[1] if version else 5}+json": text}


_SPECIAL: dict[str, Callable[[Any], dict[str, Any] | None]] = {
    "pandas": _of_pandas,
    "matplotlib": _of_matplotlib,
    "PIL": _of_pillow,
    "sympy": lambda value: _of_formulas(value, [value]) or None,
    "plotly": lambda value: (
        {"application/vnd.plotly.v1+json": value.to_json()} if hasattr(type(value), "to_plotly_json") else None
    ),
    "altair": _of_altair,
}
