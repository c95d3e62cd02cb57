"""A Python executor for OpenEnv's environments, with the interface of their own `PyExecutor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openenv.core.env_server.types import CodeExecResult

from safeexec import Sandbox

if TYPE_CHECKING:
    from safeexec import Policy


class SafePyExecutor:
    """Runs the code of an environment's actions in one session. `reset` begins a new episode."""

    def __init__(self, policy: str | Policy = "standard", *, timeout: float | None = None, **options: Any) -> None:
        """`timeout`: seconds of one action, the policy's where none is given. `options` are those of `Sandbox`."""
        self._sandbox = Sandbox(policy, **options).open()
        self._timeout = timeout
        self._session = self._sandbox.session()

    def run(self, code: str) -> CodeExecResult:
        """Run one action. Its value is printed last, as at a prompt; what went wrong is on standard error, with the
        program's own exit status or 1.
        """
        result = self._session.run(code, timeout=self._timeout)
        stdout, stderr = result.stdout, result.stderr
        if result.ok and result.value is not None:
            stdout += result.text + "\n"
        if not result.ok:
            stderr += result.observation()
        return CodeExecResult(stdout=stdout, stderr=stderr, exit_code=result.exit_status or (0 if result.ok else 1))

    def reset(self) -> None:
        """Begin again with nothing defined."""
        self._session.close()
        self._session = self._sandbox.session()

    def __enter__(self) -> SafePyExecutor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the sandbox."""
        self._sandbox.close()
