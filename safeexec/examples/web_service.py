"""A web service that runs code for its users: a session per user, requests side by side, metrics.

`uvicorn web_service:app` serves it; run as a program it sends itself a few requests. Sessions that nobody uses for ten
minutes are closed, at most 100 are open, and who comes then waits for one. Requests of one user take turns. Put your
own log-in in place of the header.

Needs: starlette, httpx

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

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from safeexec import AsyncSandbox

sandbox = AsyncSandbox("calculator", max_sessions=100, idle_seconds=600)
outcomes: Counter[str] = Counter()


async def run(request: Request) -> JSONResponse:
    """One step in the session of the user who asks."""
    user = request.headers.get("x-user")
    if not user:
        return JSONResponse({"error": "who are you?"}, 401)
    source = (await request.json())["source"]
    session = await sandbox.session_for(user)
    result = await session.run(source, timeout=2, wait=10)
    outcomes[result.outcome] += 1
    return JSONResponse(result.to_dict())


async def metrics(request: Request) -> JSONResponse:
    return JSONResponse(dict(outcomes))


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    async with sandbox:
        yield


app = Starlette(routes=[Route("/run", run, methods=["POST"]), Route("/metrics", metrics)], lifespan=lifespan)

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
