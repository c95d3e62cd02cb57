"""Every place where an installed library turns text into an attribute, a module or code has been judged."""

from __future__ import annotations

import pathlib

import pytest

from tests.search.sites import LIBRARIES, STANDARD, sites, sites_of, unjudged


@pytest.mark.parametrize("package", [*LIBRARIES, "the standard library"])
def test_no_place_is_without_a_verdict(package: str) -> None:
    found = sites(STANDARD if package not in LIBRARIES else (package,))
    assert not unjudged(found), "judge these in safeexec/child/language/sites.py"


def test_what_is_spelled_is_no_site_and_the_rest_is(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "library.py"
    source.write_text(
        "def spelled(x, kind):\n"
        "    return getattr(x, 'name'), getattr(x, f'visit_{kind}'), getattr(x, 'on_' + kind)\n"
        "def computed(x, kind):\n"
        "    return getattr(x, kind), getattr(x, f'__{kind}__'), import_module(kind), eval(kind)\n"
    )
    found = set(sites_of("library", source))
    assert {(site.function, site.kind) for site in found} == {
        ("computed", "attribute"), ("computed", "module"), ("computed", "code")
    }  # fmt: skip
    assert len(unjudged(found)) == 3
