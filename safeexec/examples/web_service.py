"""A web service that runs code for its users: a session per user, requests side by side, metrics.

`uvicorn web_service:app` serves it; run as a program it sends itself a few requests. Sessions that nobody uses for ten
minutes are closed, at most 100 are open, and who comes then waits for one. Requests of one user take turns. Put your
own log-in in place of the header.

Needs: fastapi, httpx

Prints:

    alice: 200 ok 1
    bob: 200 error NameError: name 'total' is not defined
    alice: 200 ok 3
    alice: 200 timeout TimeoutError: …
    alice: 200 ok 3
    nobody: 401
    {'ok': 3, 'error': 1, 'timeout': 1}
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Header, HTTPException
from fastapi.testclient import TestClient
from pydantic import BaseModel

from safeexec import AsyncSandbox

sandbox = AsyncSandbox("calculator", max_sessions=100, idle_seconds=600)
outcomes: Counter[str] = Counter()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with sandbox:
        yield


app = FastAPI(lifespan=lifespan)


class UserCode(BaseModel):
    """What a user sends."""

    source: str


@app.post("/run")
async def run(code: UserCode, x_user: Annotated[str | None, Header()] = None) -> dict[str, Any]:
    """One step in the session of the user who asks."""
    if not x_user:
        raise HTTPException(401, "who are you?")
    session = await sandbox.session_for(x_user)
    result = await session.run(code.source, timeout=5, wait=10)
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


def main() -> None:
    with TestClient(app) as client:
        for user, source in REQUESTS:
            answer = client.post("/run", json={"source": source}, headers={"x-user": user})
            told, error = answer.json(), answer.json()["error"]
            shown = f"{error['type']}: {error['message']}" if error else told["value"]
            print(f"{user}: {answer.status_code} {told['outcome']} {shown}")
        print("nobody:", client.post("/run", json={"source": "1"}).status_code)
        print(client.get("/metrics").json())


if __name__ == "__main__":
    main()
