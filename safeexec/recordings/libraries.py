"""Which versions of libraries a recording was made with, and a replay has."""

from __future__ import annotations

import sys
from collections.abc import Iterable

DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "yaml": "PyYAML", "bs4": "beautifulsoup4"}
"""Libraries that are installed under another name."""
USUAL = ("numpy", "pandas", "scipy", "sklearn", "matplotlib")
"""What is looked for where a policy does not name its imports."""


def libraries(imports: Iterable[str]) -> dict[str, str]:
    """Return the versions of the libraries among these modules that are installed."""
    from importlib.metadata import PackageNotFoundError, version

    tops = {name.partition(".")[0] for name in imports} - sys.stdlib_module_names
    found = {}
    for name in sorted(tops or USUAL):
        try:
            found[name] = version(DISTRIBUTIONS.get(name, name))
        except (PackageNotFoundError, ValueError):
            continue
    return found
