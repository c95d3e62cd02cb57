"""A folder of plugins: found by their manifests, each under its own policy, and loaded again when its file changes.

`plugin_manifest` reads what a plugin says of itself before any sandbox is chosen; nothing of it runs. A plugin that
cannot be loaded is told and left out. A new text that cannot be loaded leaves the old one in service.

Prints:

    rounding 1.1 (calculator): 2.0
    broken: the plugin broken could not be loaded: NameError: name 'undefined' is not defined (main.py, line 1)
    shipping (plugin): 7.0
    rounding, edited: 2.5
    rounding, spoilt: 2.5
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from safeexec import Plugin, PluginError, Sandbox, plugin_manifest

TEXTS = {
    "rounding/plugin.yaml": "version: 1.1\npolicy: calculator\n",
    "rounding/main.py": "def price(weight: float) -> float:\n    return float(round(weight))\n",
    "broken/main.py": "x = undefined\n",
    "shipping/main.py": "def price(weight):\n    return 5 + weight\nif __name__ == '__main__':\n    print(price(1))\n",
}


class PriceRule(Protocol):
    def price(self, weight: float) -> float: ...


class Folder:
    """The plugins in one folder, and a sandbox for each policy that they name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sandboxes: dict[str, Sandbox] = {}
        self._changed: dict[Path, float] = {}
        self._stack = ExitStack()
        self.plugins: dict[str, Plugin] = {}

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _sandbox(self, policy: str) -> Sandbox:
        if policy not in self._sandboxes:
            self._sandboxes[policy] = self._stack.enter_context(Sandbox(policy))
        return self._sandboxes[policy]

    def refresh(self) -> Iterator[str]:
        """Load what is new and what has changed; say what could not be."""
        for place in sorted(path for path in self._path.iterdir() if path.is_dir()):
            newest = max(file.stat().st_mtime_ns for file in place.iterdir())
            if self._changed.get(place) == newest:
                continue
            self._changed[place] = newest
            try:
                if place.name in self.plugins:
                    self.plugins[place.name].reload()
                    continue
                manifest = plugin_manifest(place)
                sandbox = self._sandbox(manifest.policy or "plugin")
                plugin = sandbox.plugin(place, exports=PriceRule, state="fresh")
                self.plugins[place.name] = self._stack.enter_context(plugin)
            except PluginError as error:
                yield f"{place.name}: {str(error).splitlines()[0]}"


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        for name, text in TEXTS.items():
            file = Path(directory, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        with Folder(Path(directory)) as folder:
            problems = list(folder.refresh())
            rounding = folder.plugins["rounding"]
            print(f"rounding {rounding.manifest.version} (calculator): {rounding.price(2.4)}")
            print(*problems, sep="\n")
            print(f"shipping (plugin): {folder.plugins['shipping'].price(2)}")
            main_file = Path(directory, "rounding/main.py")
            main_file.write_text("def price(weight):\n    return round(weight * 2) / 2\n")
            list(folder.refresh())
            print(f"rounding, edited: {rounding.price(2.4)}")
            main_file.write_text("def price(weight:\n")
            list(folder.refresh())
            print(f"rounding, spoilt: {rounding.price(2.4)}")


if __name__ == "__main__":
    main()
