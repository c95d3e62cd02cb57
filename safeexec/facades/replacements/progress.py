"""tqdm without its monitor thread: a state with threads cannot be checkpointed."""

from __future__ import annotations

from typing import Any

from safeexec.facades.replacements.checked import Lazy


def _bar() -> Any:
    from tqdm import tqdm  # type: ignore[import-untyped]

    if tqdm.monitor_interval:  # a session's own take-over has set it: nothing is stored while the program runs
        tqdm.monitor_interval = 0
    return tqdm


def _range() -> Any:
    from tqdm import trange

    _bar()
    return trange


REPLACEMENTS: dict[str, Any] = {
    f"{module}.{name}": Lazy(make)
    for module in ("tqdm", "tqdm.auto", "tqdm.notebook", "tqdm.std")
    for name, make in (("tqdm", _bar), ("trange", _range))
}
