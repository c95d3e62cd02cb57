"""How a table is written: names in whitespace-separated text, so that a reviewer reads lists and not punctuation."""

from __future__ import annotations

from collections.abc import Mapping

from safeexec.facades.tables.reasons import INTERNAL, Reason, Tag


class Table:
    """The verdicts on one module's public names. The text is split on first use: most tables are never asked.

    allow       documented names that guest code may use
    files       allowed names that work on files: they exist only where the policy has a workspace
    evaluates   allowed names that run text as code; the language layer does not see that code, the kernel holds it
    replaced    allowed names whose object comes from `safeexec.facades.replacements`
    refuse      names that guest code may not use, with the reason; a key may hold several names
    internal    names that look documented (listed in ``__all__``, or defined in the module) and are not: refused.
                A constant in capitals needs no entry unless ``__all__`` lists it: it is refused without one
    aliases     attributes that are reviewed modules of another name: ``pandas.offsets`` is ``pandas.tseries.offsets``
    note        what a reviewer should know
    """

    __slots__ = ("_parts", "_verdicts", "aliases", "note")

    def __init__(
        self,
        allow: str = "",
        *,
        files: str = "",
        evaluates: str = "",
        replaced: str = "",
        refuse: Mapping[str, Reason] | None = None,
        internal: str = "",
        aliases: Mapping[str, str] | None = None,
        note: str = "",
    ) -> None:
        self._parts = (allow, files, evaluates, replaced, refuse or {}, internal)
        self._verdicts: tuple[dict[str, Tag], frozenset[str], dict[str, Reason], frozenset[str]] | None = None
        self.aliases = aliases or {}
        self.note = note

    def _read(self) -> tuple[dict[str, Tag], frozenset[str], dict[str, Reason], frozenset[str]]:
        if self._verdicts is None:
            allow, files, evaluates, replaced, refuse, internal = self._parts
            tags: dict[str, Tag] = dict.fromkeys(allow.split(), "")
            tags |= dict.fromkeys(replaced.split(), "")
            tags |= dict.fromkeys(files.split(), "files")
            tags |= dict.fromkeys(evaluates.split(), "evaluates")
            refused = dict.fromkeys(internal.split(), INTERNAL)
            for names, reason in refuse.items():
                refused |= dict.fromkeys(names.split(), reason)
            documented = frozenset(name for name, reason in refused.items() if reason.tag != "internal")
            self._verdicts = (tags, frozenset(replaced.split()), refused, documented)
        return self._verdicts

    @property
    def allowed(self) -> dict[str, Tag]:
        """Allowed name → its tag (``""`` for most)."""
        return self._read()[0]

    @property
    def replaced(self) -> frozenset[str]:
        """The allowed names that have a safe replacement."""
        return self._read()[1]

    @property
    def refused(self) -> dict[str, Reason]:
        """Refused name → the reason."""
        return self._read()[2]

    @property
    def refusals(self) -> frozenset[str]:
        """The refused names that the module documents: each refusal deserves a sentence of its own."""
        return self._read()[3]

    def contradictions(self) -> set[str]:
        """Names that are both allowed and refused (a mistake in the table)."""
        return set(self.allowed) & set(self.refused)
