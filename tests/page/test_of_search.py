"""A search as the page shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from safeexec import Budget, Sandbox, search
from safeexec.page.of_file import page_of
from safeexec.page.of_search import of_search


def test_a_search_is_shown_with_its_scores(tmp_path: Path) -> None:
    with Sandbox("standard") as sandbox, sandbox.session() as session:
        session.run("x = 0")
        programs = ["x += 1", "x += 3", "1 / 0"]
        with search(
            session, programs, lambda s: float(s.get("x")), budget=Budget(steps=12), method="beam", width=2, depth=2
        ) as found:
            tree = found.tree.to_dict()
            wanted = found.sources
    path = tmp_path / "search.json"
    path.write_text(json.dumps(tree))
    page = page_of(path)
    best = next(node for node in page.nodes if "best" in node.labels)
    way: list[str] = []
    node = best
    while node.parent >= 0:
        assert not node.undone
        way.insert(0, node.source)
        node = page.nodes[node.parent]
    assert way == wanted
    failed = next(node for node in page.nodes if node.source == "1 / 0")
    assert (failed.outcome, failed.undone) == ("error", True)
    assert failed.error is not None
    tree["nodes"][failed.step]["result"]["outcome"] = "timeout"
    assert of_search(tree).nodes[failed.step].outcome == "timeout"
    assert best.score == 6.0
    assert (page.kept, page.left) == ("on the way to the best", "not on the way to the best")


NODE = {"id": 0, "parent": None, "source": "", "status": "root"}


@pytest.mark.parametrize(
    "tree",
    [
        {"nodes": 1},
        {"nodes": [{}]},
        {"nodes": [NODE, NODE]},
        {"nodes": [{**NODE, "parent": 0}]},
        {"nodes": [NODE, {**NODE, "id": 1, "parent": 5}]},
        {"nodes": [{**NODE, "result": {"stdout": 3}}]},
    ],
)
def test_what_is_no_search_is_refused(tree: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"node|Expected|Object"):
        of_search(tree)


def test_numbers_that_lead_nowhere() -> None:
    page = of_search({"nodes": [{**NODE, "score": "inf", "same_as": 99}], "best": 7})
    assert page.nodes[0].score is None
