"""Exceptions of models, transcripts and repositories.

SandboxError
└── AgentError
    ├── ModelError             the model gave no reply
    │   ├── ModelKeyMissing        no API key and no server of one's own
    │   ├── ModelUnavailable       rate limits, 5xx, broken connections or streams, after all attempts
    │   └── ModelRequestRefused    the server refused the request itself (4xx); another attempt would not help
    ├── TranscriptError        a transcript is damaged, or holds fewer replies than were asked for
    └── RepairError            a repository or a patch cannot be worked with
"""

from __future__ import annotations

from safeexec.errors import SandboxError


class AgentError(SandboxError):
    """Base of the exceptions of `safeexec.agent`."""


class ModelError(AgentError):
    """The model gave no reply."""


class ModelKeyMissing(ModelError):
    """There is no API key. The message says how to get one and how to do without."""


class ModelUnavailable(ModelError):
    """The server did not answer properly in any attempt; `attempts` were made."""

    def __init__(self, message: str, *, attempts: int = 1) -> None:
        super().__init__(message)
        self.attempts = attempts


class ModelRequestRefused(ModelError):
    """The server refused the request; `status` is the HTTP status."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class TranscriptError(AgentError):
    """A transcript cannot be read, or holds fewer replies than were asked for."""


class RepairError(AgentError):
    """A repository, a path or a patch cannot be worked with; the message says why and what would do."""
