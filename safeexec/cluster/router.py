"""Finds the replica of a session for Ray Serve. It is loaded by whatever hands requests on."""

from __future__ import annotations

from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter
from ray.serve.request_router import PendingRequest, RunningReplica


class SessionRouter(ConsistentHashRouter):  # type: ignore[misc]
    """A session's id begins with the name of the replica that opened it: its calls go there while that replica lives,
    however many come or go beside it. All else is Ray's: the hash ring alone would move a third of all sessions with
    each replica more.
    """

    async def choose_replicas(
        self, candidate_replicas: list[RunningReplica], pending_request: PendingRequest | None = None
    ) -> list[list[RunningReplica]]:
        """Return the replicas to ask, best first."""
        ranks: list[list[RunningReplica]] = await super().choose_replicas(candidate_replicas, pending_request)
        if pending_request is None:
            return ranks
        name = pending_request.metadata.session_id.partition(".")[0]
        own = [one for one in candidate_replicas if name and one.replica_id.unique_id == name]
        return [own] if own else ranks
