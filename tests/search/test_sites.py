"""Every place where an installed library turns text into an attribute, a module or code has been judged."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys

import pytest

from tests.search.sites import LIBRARIES, NOT_REACHED, STANDARD, Site, sites, sites_of, unjudged


@pytest.mark.parametrize("package", [*sorted(LIBRARIES), "the standard library"])
def test_no_place_is_without_a_verdict(package: str) -> None:
    found = sites(STANDARD if package not in LIBRARIES else (package,))
    assert not unjudged(found), "judge these in child/language/libraries/sites.py, or in tests/search/judged.py"


_LOADED = """
import importlib, pathlib, sys, warnings
from safeexec import Policy
from safeexec.facades.tables import modules
from safeexec.facades.tables.groups import OF_SESSIONS
imports = Policy.load("data-analysis").language_plan().imports
before = set(sys.modules)
warnings.simplefilter("ignore")
for name in sorted(modules()):
    above = {name.rsplit(".", depth)[0] for depth in range(name.count(".") + 1)}
    if above & imports.keys() and not above & OF_SESSIONS:
        try: importlib.import_module(name)
        except ImportError: pass
found = set()
for name in sys.modules.keys() - before:
    file = getattr(sys.modules[name], "__file__", None) or ""
    if file.endswith(".py") and {"site-packages", "dist-packages"} & set(pathlib.Path(file).parts):
        found.add(name.partition(".")[0])
print(*found)
"""


def test_every_package_that_comes_with_what_programs_import_is_searched() -> None:
    """A program meets objects of packages that it cannot import: plotly gives what it is told to narwhals."""
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, timeout=120, check=True)
    loaded = set(done.stdout.split())
    assert "numpy" in loaded or importlib.util.find_spec("numpy") is None
    assert loaded <= {*LIBRARIES, *" ".join(NOT_REACHED.values()).split()}


def test_what_is_spelled_is_no_site_and_the_rest_is(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "library.py"
    source.write_text(
        "def spelled(x, kind):\n"
        "    return getattr(x, 'name'), getattr(x, f'visit_{kind}')\n"
        "def added(x, kind): return getattr(x, 'on_' + kind)\n"
        "def dict_of(x): return getattr(x, '__dict__', {})\n"
        "def computed(x, kind):\n"
        "    return getattr(x, kind), getattr(x, f'__{kind}__'), import_module(kind), eval(kind)\n"
        "def stored(x, kind): object.__setattr__(x, 'name', kind), x.__setattr__('name', kind)\n"
        "def stored_as_told(x, kind): object.__setattr__(x, kind, 'name'), x.__setattr__(kind, 'name')\n"
    )
    found = set(sites_of("library", source))
    assert {(site.function, site.kind) for site in found} == {
        ("added", "attribute"),
        ("computed", "attribute"), ("computed", "module"), ("computed", "code"), ("computed", "returned"),
        ("stored_as_told", "attribute"), ("dict_of", "attribute"),
    }  # fmt: skip
    assert len(unjudged(found)) == 7


def test_dicts_frames_and_modules_that_are_held_or_given_back_are_sites(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "library.py"
    source.write_text(
        "import sys\n"
        "def spelled(x): return 'a' in x.__dict__, x.__dict__['a'], x.__dict__.get('a'), x.__dict__.update(a=1)\n"
        "def read(x, name): return x.__dict__.items(), x.__dict__[name], vars(x)\n"
        "def own(self, value): self.__dict__.update(a=value), self.__dict__.clear()\n"
        "def written(self, x, name, value):\n"
        "    self.__dict__[name] = value\n"
        "    self.__dict__.update(value)\n"
        "def into_others(x, name, value): x.__dict__[name] = value\n"
        "def into_all(x, value): x.__dict__.update(value)\n"
        "def in_place(x, value): x.__dict__ = value\n"
        "def above(): return sys._getframe(1)\n"
        "def state(x): return x.__getstate__()\n"
        "class Holds:\n"
        "    import json\n"
        "    system = sys\n"
        "    def __init__(self): self.held = sys; self.not_held = sys.path\n"
        "    def load(self, name): self.loaded = import_module('math'); self.not_loaded = sys.path[0]\n"
        "    def absolute(self):\n"
        "        from concurrent import futures\n"
        "        self.other = futures\n"
        "def given(): return sys\n"
        "def given_with(): return 1, import_module('math')\n"
        "def not_given(): return sys.path\n"
    )
    found = {(site.function, site.kind, site.call) for site in sites_of("library", source)}
    assert found == {
        ("read", "dict", "__dict__"), ("read", "dict", "vars"), ("written", "dict", "__dict__"),
        ("into_others", "dict", "__dict__"),
        ("into_all", "dict", "__dict__"), ("in_place", "dict", "__dict__"), ("above", "frame", "_getframe"),
        ("state", "state", "__getstate__"), ("Holds", "held", "json"), ("Holds", "held", "system"),
        ("Holds.__init__", "held", "held"), ("Holds.load", "held", "loaded"), ("Holds.absolute", "held", "other"),
        ("given", "returned", "sys"), ("given_with", "returned", "import_module('math')"),
    }  # fmt: skip


def test_templates_of_literals_are_no_sites_and_the_rest_is(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "library.py"
    source.write_text(
        "from other import GIVEN\n"
        "FIXED = 'a {}' + 'b {}'\n"
        "LINES = {'x': FIXED, 'y': '\\n'.join(['{}', FIXED])}\n"
        "class Texts:\n"
        "    line = '{}'\n"
        "    def format(self, x): return self.format(x), self.line.format(x), Texts.line.format(x)\n"
        "def fixed(x, digits):\n"
        "    text = FIXED if x else f'{{:{len(x)}}}'\n"
        "    text += '%%.%df' % digits\n"
        "    for more in (FIXED, '{}'): text = more.format(x)\n"
        "    return LINES['x'].format(x), map('{}'.format, x), x.format(), x.format == 'csr'\n"
        "def again(x):\n"
        "    text = '{} {{}}'\n"
        "    text = text.format(x)\n"
        "    return text\n"
        "def given(x, text): return text.format(x)\n"
        "def imported(x): return GIVEN.format(x)\n"
        "def part(x, width): return f'{{:{width}}}'.format(x), ('{:' + width + '}').format_map(x)\n"
        "def method(x, text): return [text.format, lambda value: text.format(value)]\n"
        "def twice(x):\n"
        "    text = '{} {{}}'\n"
        "    text = text.format(x)\n"
        "    return text.format(x)\n"
        "def added(x, text):\n"
        "    texts = []\n"
        "    texts.append(text)\n"
        "    return [item.format(x) for item in texts]\n"
    )
    found = [site for site in sites_of("library", source) if site.kind == "format"]
    assert {site.function for site in found} == {
        "Texts.format", "given", "imported", "part", "method", "twice", "added"
    }  # fmt: skip
    assert {site.call for site in found if site.function == "Texts.format"} == {"self.line.format"}
    assert len(unjudged(set(found))) == len(set(found))


def test_what_reads_dicts_of_a_module_is_no_verdict_on_its_templates() -> None:
    assert unjudged({Site("logging.handlers", "shown", "format", "text.format")})
    assert not unjudged({Site("logging.handlers", "shown", "dict", "__dict__")})


def test_a_verdict_on_a_whole_module_is_for_the_places_that_it_had() -> None:
    judged = {Site("hashlib", "one", "attribute", "getattr"), Site("hashlib", "one", "dict", "__dict__")}
    assert not unjudged(judged)
    found = unjudged({*judged, Site("hashlib", "another", "attribute", "getattr")})
    assert found == ["hashlib:*: it covers 2 places, and was judged for 1"]


def test_what_lists_the_members_of_an_object_is_a_site(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "library.py"
    source.write_text(
        "def listed(x): return inspect.getmembers(x)\n"
        "def static(x, name): return inspect.getattr_static(x, name), getattr_static(x, name)\n"
        "def spelled(x): return inspect.getattr_static(x, 'name')\n"
        "def of_a_file(tar): return tar.getmembers()\n"
    )
    found = set(sites_of("library", source))
    assert {(site.function, site.kind) for site in found} == {("listed", "members"), ("static", "members")}
