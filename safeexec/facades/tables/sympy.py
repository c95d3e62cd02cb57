"""x"""

from __future__ import annotations

from safeexec.facades.tables.notation import Table

TABLES: dict[str, Table] = {}
