"""A web service that runs code for its users: a session per user, kept over restarts, requests side by side, metrics.

`uvicorn web_service:app` serves it; run as a program it sends itself a few requests. Sessions that nobody uses for ten
minutes are left to the store, at most 100 are open, and who comes then waits for one. Requests of one user take turns.
What a user has is in the store, and found again when the service began anew: set STATES to a directory that stays. Put
your own log-in in place of the header.

Needs: fastapi, httpx

Prints:

    alice: 200 ok 1
    bob: 200 error NameError: name 'total' is not defined
    alice: 200 ok 3
    alice: 200 timeout TimeoutError: …
    alice: 200 ok 3
    nobody: 401
    {'ok': 3, 'error': 1, 'timeout': 1}
    after a restart
    alice: 200 ok 3
"""

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Header, HTTPException, Request
from fastapi.testclient import TestClient
from pydantic import BaseModel

from safeexec import AsyncSandbox

states = Path(os.environ.get("STATES", "states"))
sandbox = AsyncSandbox("calculator", max_sessions=100, idle_seconds=600, store=states)
outcomes: Counter[str] = Counter()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with sandbox:
        yield


app = FastAPI(lifespan=lifespan)


class UserCode(BaseModel):
    """The body of a user's request."""

    source: str


async def left(request: Request) -> None:
    """Return when the client has left."""
    while not await request.is_disconnected():
        await asyncio.sleep(0.1)


@app.post("/run")
async def run(code: UserCode, request: Request, x_user: Annotated[str | None, Header()] = None) -> dict[str, Any]:
    """Run one step in the session of the user of this request."""
    if not x_user:
        raise HTTPException(401, "who are you?")
    session = await sandbox.session_for(x_user)
    step = asyncio.create_task(session.run(code.source, timeout=5, wait=10))
    gone = asyncio.create_task(left(request))
    await asyncio.wait({step, gone}, return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if not step.done():
        step.cancel()  # nobody waits for it any more: it is stopped, and undone
        await asyncio.wait({step})
        raise HTTPException(499, "the client left")
    result = step.result()
    outcomes[result.outcome] += 1
    return result.to_dict()


@app.get("/metrics")
async def metrics() -> dict[str, int]:
    return dict(outcomes)


REQUESTS = [
    ("alice", "total = 1\ntotal"),
    ("bob", "total"),
    ("alice", "total += 2\ntotal"),
    ("alice", "import time\ntotal = 0\ntime.sleep(3600)"),
    ("alice", "total"),
]


def send(client: TestClient, user: str, source: str) -> None:
    answer = client.post("/run", json={"source": source}, headers={"x-user": user})
    told, error = answer.json(), answer.json()["error"]
    shown = f"{error['type']}: {error['message']}" if error else told["value"]
    print(f"{user}: {answer.status_code} {told['outcome']} {shown}")


def main() -> None:
    global sandbox
    with tempfile.TemporaryDirectory() as directory:
        sandbox = AsyncSandbox("calculator", store=directory)
        with TestClient(app) as client:
            for user, source in REQUESTS:
                send(client, user, source)
            print("nobody:", client.post("/run", json={"source": "1"}).status_code)
            print(client.get("/metrics").json())
        sandbox = AsyncSandbox("calculator", store=directory)
        with TestClient(app) as client:
            print("after a restart")
            send(client, "alice", "total")


if __name__ == "__main__":
    main()
