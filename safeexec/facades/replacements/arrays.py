"""`numpy.load` that never unpickles: the real one does when asked, and its archives do when told so later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Archive(Mapping[str, Any]):
    """The arrays of an ``.npz`` file, read."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self._arrays = arrays

    @property
    def files(self) -> list[str]:
        """The names of the arrays."""
        return list(self._arrays)

    def __getitem__(self, name: str) -> Any:
        return self._arrays[name.removesuffix(".npy")]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Nothing is open."""

    def close(self) -> None:
        """Nothing is open."""


def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: Any = "ASCII",
    **options: Any,
) -> Any:
    """`numpy.load` of arrays. Raises ValueError for objects that would have to be unpickled."""
    import numpy

    if allow_pickle:
        raise ValueError("np.load(allow_pickle=True) is refused: it runs any code that the file asks for")
    loaded = numpy.load(file, mmap_mode, allow_pickle=False, fix_imports=fix_imports, encoding=encoding, **options)
    if isinstance(loaded, numpy.lib.npyio.NpzFile):
        with loaded:
            return Archive({name: loaded[name] for name in loaded.files})
    return loaded


REPLACEMENTS: dict[str, Any] = {"numpy.load": load}
