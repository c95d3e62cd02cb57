"""Templates of a program that a library formats by, or renders.

``tqdm(bar_format="{bar.__init__.__globals__}")``: in the functions that format by a template of the program's
(`sites.FORMATTERS`), what `str.format` gives is what the program's own code is given. A template of jinja2 runs code:
only those of pandas are rendered.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from types import CodeType, ModuleType
from typing import Any, NoReturn

from safeexec.child.language.libraries.patching import change
from safeexec.child.language.libraries.sites import FORMATTERS
from safeexec.compiler import names
from safeexec.facades.replacements.checked import checked_getattr
from safeexec.identity import dict_of

_getattr, _setattr, _type = getattr, setattr, type


def guard() -> None:
    for place in FORMATTERS:
        change(place.partition(":")[0], _check_formats, place)
    change("pandas.io.formats.style", _close_styler)
    change("zipfile", _show_paths)


def _check_formats(home: ModuleType, place: str) -> None:
    """Let a function of a library have the guarded `format`: its code is made anew, in which `format` is asked for as
    the program's own code asks for it.
    """
    space = vars(home)
    classes, _, name = place.partition(":")[2].rpartition(".")
    found = dict_of(space[classes])[name] if classes else space[name]
    function: Any = inspect.unwrap(_getattr(found, "fget", None) or _getattr(found, "__func__", found))
    code = function.__code__
    spec = function.__globals__["__spec__"]  # `linecache` has for any name what a program's loader told `traceback`
    lines = spec.loader.get_source(spec.name).splitlines(keepends=True)[code.co_firstlineno - 1 :]
    tree = ast.parse(textwrap.dedent("".join(inspect.getblock(lines))))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    if classes:  # for names that begin with __
        tree.body = [ast.ClassDef(classes, [], [], [definition], [])]
    ast.increment_lineno(ast.fix_missing_locations(_Formats().visit(tree)), code.co_firstlineno - 1)
    flags = code.co_flags & annotations.compiler_flag
    made = _code_in(compile(tree, code.co_filename, "exec", flags, dont_inherit=True), name)
    function.__code__ = made.replace(co_qualname=code.co_qualname)
    function.__globals__[names.GUARD_ATTRIBUTE] = checked_getattr


class _Formats(ast.NodeTransformer):
    """``x.format`` as ``_getattr_(x, "format")``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr not in ("format", "format_map"):
            return node
        guard = ast.Name(names.GUARD_ATTRIBUTE, ast.Load())
        return ast.copy_location(ast.Call(guard, [node.value, ast.Constant(node.attr)], []), node)


def _code_in(code: CodeType, name: str) -> CodeType:
    """The code of the first function of this name in `code`."""
    inner = [item for item in code.co_consts if isinstance(item, CodeType)]
    return next((item for item in inner if item.co_name == name), None) or _code_in(inner[0], name)


class _ClosedAttribute:
    """Stands in a class for what guest code may not have."""

    def __init__(self, name: str) -> None:
        self._message = f"{name} is refused: a jinja2 template runs code"

    def __get__(self, instance: object, owner: object = None) -> NoReturn:
        raise AttributeError(self._message)


class _Template:
    """A template of pandas' own: it can be rendered, and leads to no environment."""

    __slots__ = ("globals", "render")

    def __init__(self, real: Any, all_of_them: dict[int, Any]) -> None:
        def render(**names: Any) -> str:
            return str(real.render(**{name: all_of_them.get(id(value), value) for name, value in names.items()}))

        self.globals: dict[str, Any] = real.globals
        self.render = render


def _close_styler(style: Any) -> None:
    """The environment and the loader of `Styler` run any template, and their templates lead to them."""
    renderer: Any = sys.modules["pandas.io.formats.style_render"].StylerRenderer
    real: dict[int, Any] = {}
    for name in [name for name in vars(renderer) if name.startswith("template_") and name != "template_dir"]:
        template = vars(renderer)[name]
        made = _Template(template, real)
        real[id(made)] = template
        _setattr(renderer, name, made)
    for name in ("env", "loader"):
        _setattr(renderer, name, _ClosedAttribute(f"Styler.{name}"))

    def from_custom_template(cls: type, /, *args: object, **options: object) -> NoReturn:
        """Refused."""
        raise PermissionError("Styler.from_custom_template is refused: a jinja2 template runs code")

    style.Styler.from_custom_template = classmethod(from_custom_template)


def _show_paths(zipfile: Any) -> None:
    """A path in an archive keeps the template of its `repr` in an attribute."""
    zipfile.Path.__repr__ = lambda self: f"{_type(self).__name__}({self.root.filename!r}, {self.at!r})"
