"""Guest code fetches prices through a tool that reaches one host and no other: the sandbox itself has no network.

`toolkit.http_get` runs in this process, resolves a name once, follows no redirect to elsewhere, bounds time and size,
and sends a key that guest code never sees. A small server stands in for the price service here; for one on the Internet
leave out `private=True`.

Needs: httpx

Prints:

    {'value': 11428.0, 'largest': 'XYZ'}
    http_get ok
    http_get ok
    PermissionError: http_get(): example.com:80 may not be reached from here; allowed: 127.0.0.1:…
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from safeexec import Sandbox, toolkit

PRICES = {"/ABC": 41.30, "/XYZ": 89.50}
PROGRAM = """
import json
worth = {}
for name, count in holdings.items():
    answer = http_get(f"{service}/{name}")
    worth[name] = count * json.loads(answer["text"])["price"]
{"value": round(sum(worth.values()), 2), "largest": max(worth, key=worth.get)}
"""


class Prices(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        known = self.headers["x-api-key"] == "secret" and self.path in PRICES
        body = json.dumps({"price": PRICES.get(self.path)}).encode()
        self.send_response(200 if known else 403)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def price_service() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Prices) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def main() -> None:
    with price_service() as place:
        fetch = toolkit.http_get(allow=[place], headers={"x-api-key": "secret"}, private=True)
        with Sandbox("calculator", tools=[fetch]) as sandbox, sandbox.session() as session:
            session.namespace.update(service=f"http://{place}", holdings={"ABC": 60, "XYZ": 100})
            result = session.run(PROGRAM).check()
            print(result.value)
            for call in result.tool_calls:
                print(call.tool, call.outcome)
            refused = session.run("http_get('http://example.com/')")
            print(f"{refused.error.type}: {refused.error.message}" if refused.error else refused.value)


if __name__ == "__main__":
    main()
