"""The server of one program that has started it for itself, in a container: it brings its own policies.

A client of any other server names what the server offers. Here the client is the host: it may as well have opened the
sandbox where it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from safeexec import AsyncSandbox, Policy, SandboxError, __version__
from safeexec.recordings.format import ToolShape
from safeexec.servers.service import Answer, Service, Tell, fitted


class Bringer(msgspec.Struct):
    """The version of who brings a policy. What another one brings is not read: it may have what this one has not."""

    version: str


class Brought(Bringer, forbid_unknown_fields=True):
    """A policy as its YAML, with the lines that it comes from, and how its sandbox is to be opened."""

    name: str
    yaml: str
    origins: dict[str, str]
    options: dict[str, int | float | None] = {}
    tools: list[ToolShape] = []


class NotNeeded(msgspec.Struct, forbid_unknown_fields=True):
    """A policy that is not needed any more, by the name that it got here."""

    policy: str


class OwnedService(Service):
    """The service of that program: sandboxes of policies that it has brought."""

    owned = True

    def __init__(self) -> None:
        super().__init__("calculator", ())
        self._options: dict[str, Mapping[str, Any]] = {}

    async def call(self, name: str, parameters: bytes | msgspec.Raw, tell: Tell | None = None) -> Answer:
        """Answer as any server does, and two calls more."""
        if name == "sandbox.bring":
            if (await fitted(name, parameters, Bringer)).version != __version__:
                return {"policy": "", "version": __version__}
            return await self._bring(await fitted(name, parameters, Brought))
        if name == "sandbox.drop":
            return await self._drop((await fitted(name, parameters, NotNeeded)).policy)
        return await super().call(name, parameters, tell)

    async def _bring(self, brought: Brought) -> Answer:
        policy = Policy.from_yaml(brought.yaml, name=brought.name)
        key = f"{next(self._numbers)} {brought.name}"[:1000]
        self.policies[key] = msgspec.structs.replace(policy, origins=brought.origins)
        if brought.tools:
            self._tools[key] = brought.tools
            try:
                self.relayed(key)
            except SandboxError:
                await self.forget(key)
                raise
        self._options[key] = brought.options
        return {"policy": key, "version": __version__}

    async def _drop(self, key: str) -> Answer:
        if key not in self._options:
            raise SandboxError(f"no policy {key[:100]!r} was brought")
        del self._options[key]
        await self.forget(key)
        return {}

    def new_sandbox(self, name: str) -> AsyncSandbox:
        return AsyncSandbox(self.policies[name], tools=self.relayed(name), **self._options.get(name, {}))
