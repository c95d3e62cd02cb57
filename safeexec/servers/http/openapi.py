"""The OpenAPI document of `safeexec serve`: made of the routes and of the shapes that they take."""

from __future__ import annotations

import inspect
import re
from collections.abc import Container
from typing import Any, Final

import msgspec

from safeexec import Display, __version__
from safeexec.servers.http.e2b_sandboxes import has_own_tokens
from safeexec.servers.http.requests import Offered

REFERENCE = "#/components/schemas/{name}"
ERROR = {
    "type": "object",
    "required": ["code", "type", "message"],
    "properties": {"code": {"type": "integer"}, "type": {"type": "string"}, "message": {"type": "string"}},
}


def document(routes: list[Offered], tokenless: Container[str]) -> dict[str, Any]:
    """Return the document of endpoints that say themselves what they take and give; `tokenless` are the paths that
    need no token.
    """
    shapes = {shape for route in routes for shape in (route.takes, route.gives) if shape is not None}
    ordered = sorted(shapes, key=lambda shape: str(shape.__name__))
    _, schemas = msgspec.json.schema_components(ordered, schema_hook=_other, ref_template=REFERENCE)
    paths: dict[str, Any] = {}
    for route in routes:
        for verb in sorted((route.methods or set()) - {"HEAD"}):
            described = _operation(route, verb)
            if route.path in tokenless:
                described["security"] = []
            elif has_own_tokens(route.path):
                described["security"] = [{"sandbox": []}, {"traffic": []}]
            paths.setdefault(route.path, {})[verb.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "safeexec", "version": __version__},
        "security": [{"bearer": []}, {"key": []}, {"basic": []}],
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Error": ERROR},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "sandbox": {"type": "apiKey", "in": "header", "name": "X-Access-Token"},
                "traffic": {"type": "apiKey", "in": "header", "name": "E2B-Traffic-Access-Token"},
            },
        },
    }


_EVENT: Final = {
    "description": "each event of the stream",
    "type": "object",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
    "required": ["event", "data"],
}


def _operation(route: Offered, verb: str) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)\}", route.path)
    given = _content(route.gives.__name__) if route.gives is not None else {}
    if "stream" in getattr(route.takes, "__struct_fields__", ()):
        given["text/event-stream"] = {"schema": _EVENT}
    described: dict[str, Any] = {
        "summary": (inspect.getdoc(route.endpoint) or "").split("\n")[0],
        "operationId": re.sub(r"\W+", "_", f"{verb.lower()}{route.path}"),
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names),
            *({"name": name, "in": "query", "schema": {"type": "string"}} for name in route.queries),
        ],
        "responses": {
            "2XX": {"description": "done", **({"content": given} if given else {})},
            "4XX": {"description": "refused", "content": _content("Error")},
            "5XX": {"description": "not ready, not offered, or gone"},
        },
    }
    if route.takes is not None:
        needed = any(field.required for field in msgspec.structs.fields(route.takes))
        described["requestBody"] = {"required": needed, "content": _content(route.takes.__name__)}
    return described


def _content(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _other(kind: type) -> dict[str, Any]:
    """Return the schema of a shape that msgspec does not know."""
    if kind is Display:
        return {"type": "object", "properties": {"data": {"type": "object"}, "truncated": {"type": "boolean"}}}
    raise NotImplementedError(kind)
