"""Libraries of documents and pictures, bs4, plotly and yaml: what single classes of theirs read, run or keep."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from safeexec.child.language.libraries.patching import change, put
from safeexec.facades.replacements.checked import checked_getattr, checked_setattr
from safeexec.identity import dict_of

_getattr = getattr


def guard() -> None:
    change("bs4.css", _close_selectors)
    put("_plotly_utils.basevalidators", "eval", lambda: _validator)
    change("plotly.express.trendline_functions", _drop_results)
    change("plotly.graph_objs._layout", _drop_module)
    change("yaml.constructor", _check_yaml_objects)
    change("yaml.representer", _check_yaml_states)


def _close_selectors(css: ModuleType) -> None:
    """`tag.css.api` is the module soupsieve: let it be a namespace of its functions."""
    if isinstance(real := vars(css).get("soupsieve"), ModuleType):
        vars(css)["soupsieve"] = SimpleNamespace(**{name: _getattr(real, name) for name in (*real.__all__, "escape")})


def _validator(name: str) -> Any:
    """`eval` where plotly means a class of its validators: text in other letters (NFKC) would be any code."""
    space = vars(sys.modules["_plotly_utils.basevalidators"])
    found = space.get(name)
    if not (isinstance(found, type) and issubclass(found, space["BaseValidator"])):
        raise NameError(f"name {name!r} is not defined", name=name)
    return found


def _drop_results(trendlines: ModuleType) -> None:
    """`trendline="ols"` without the objects of statsmodels that fitted it: they load pickles and run formulas."""
    space = vars(trendlines)
    fit = space["ols"]
    space["ols"] = lambda *args: (*fit(*args)[:2], None)


def _drop_module(layout: Any) -> None:
    """A class of plotly keeps the module `re`."""
    if "re" in dict_of(layout.Layout):
        del layout.Layout.re


def _check_yaml_objects(constructor: Any) -> None:
    """An object of the program's class is what its ``__new__`` gives."""

    def construct_yaml_object(self: Any, node: Any, cls: Any) -> Any:
        data = cls.__new__(cls)
        yield data
        if hasattr(data, "__setstate__"):
            data.__setstate__(self.construct_mapping(node, deep=True))
        else:
            for name, value in self.construct_mapping(node).items():
                checked_setattr(data, name, value)

    constructor.SafeConstructor.construct_yaml_object = construct_yaml_object


def _check_yaml_states(representer: Any) -> None:
    """What `object.__getstate__` gives holds whatever ``__slotnames__`` lists."""

    def represent_yaml_object(self: Any, tag: Any, data: Any, cls: Any, flow_style: Any = None) -> Any:
        return self.represent_mapping(tag, checked_getattr(data, "__getstate__")(), flow_style=flow_style)

    representer.SafeRepresenter.represent_yaml_object = represent_yaml_object
