"""Ready-made host tools: fetch from named hosts, ask a person, read files below one directory.

from safeexec import Sandbox, toolkit

Sandbox("standard", tools=[toolkit.http_get(allow=["api.example.com"]), toolkit.read_host_file(root="docs")])
"""

from __future__ import annotations

from safeexec.engine.host.tools.answers import RelayedAnswer
from safeexec.toolkit.ready_made import ask_human, http_get, limited, read_host_file
from safeexec.toolkit.relayed import RelayedTools

__all__ = ["RelayedAnswer", "RelayedTools", "ask_human", "http_get", "limited", "read_host_file"]
