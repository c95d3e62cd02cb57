"""Each target for a few inputs, always the same, and all that was found before; ``python -m tests.fuzz``: more."""

from __future__ import annotations

import pytest

from tests.fuzz.table import TARGETS
from tests.fuzz.target import CORPUS, run


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.filterwarnings("ignore")
def test_a_target_holds(name: str) -> None:
    target = TARGETS[name]
    if missing := target.missing():
        pytest.skip(f"{', '.join(missing)}: not installed")
    with target.opened() as holds:
        finding = run(target, holds, target.examples)
    if finding is not None:
        raise AssertionError(f"not so for {finding.input!r}") from finding.error


def test_every_corpus_is_of_a_target() -> None:
    assert {path.stem for path in CORPUS.glob("*")} <= TARGETS.keys()
