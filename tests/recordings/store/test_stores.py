"""What every store does: claims, appends, reads, lists and removes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from safeexec import Allow, Later, Policy, Sandbox
from safeexec.errors import SessionTaken, StoreError
from safeexec.recordings.store import Store, StoreOptions, open_store
from tests.untrusted.hostile import FILES, SECRET

Opened = Callable[..., Store]


@pytest.fixture(params=["directory", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made: list[Store] = []
    at = str(tmp_path / "store") if request.param == "directory" else request.getfixturevalue("server").url

    def get(**options: Any) -> Store:
        made.append(open_store(StoreOptions(at=at, **{"tenant": tmp_path.name, **options})))
        return made[-1]

    yield get
    for store in made:
        store.close()


def whole(store: Store, claim: Any, part: str) -> bytes:
    return b"".join(store.read(claim, part))


def test_what_is_appended_is_read(opened: Opened) -> None:
    store = opened()
    claim = store.claim("ada")
    assert (claim.parts, claim.generation) == ({}, 1)
    store.append(claim, "1.jsonl", 0, b"one\n")
    store.append(claim, "1.jsonl", 4, b"two\n", sync=True)
    store.append(claim, "1.state", 0, bytes(3_000_000))
    store.append(claim, "1.jsonl", 8, b"three\n")
    store.append(claim, "1.jsonl", 14, b"", sync=True)
    assert whole(store, claim, "1.jsonl") == b"one\ntwo\nthree\n"
    assert whole(store, claim, "1.state") == bytes(3_000_000)
    store.append(claim, "1.jsonl", 8, b"3\n")  # in place of what was there from that byte on
    assert whole(store, claim, "1.jsonl") == b"one\ntwo\n3\n"
    (row,) = store.list()
    assert (row.label, row.bytes >= 3_000_010, row.used > 0) == ("ada", True, True)
    store.release(claim)
    claim = store.claim("ada")
    assert (claim.parts, claim.generation) == ({"1.jsonl": 10, "1.state": 3_000_000}, 2)
    store.remove(claim, "1.state")
    store.remove(claim, "never there")
    store.release(claim)
    assert store.claim("ada").parts == {"1.jsonl": 10}


def test_one_owner_at_a_time(opened: Opened) -> None:
    first, second = opened(), opened()
    claim = first.claim("ada")
    for store in (first, second):
        with pytest.raises(SessionTaken, match=rf"'ada' is open elsewhere: process {os.getpid()} of [\w.-]+;"):
            store.claim("ada")
    second.claim("ben")
    opened(tenant="other").claim("ada")
    first.release(claim)
    first.release(claim)
    again = second.claim("ada")
    with pytest.raises(SessionTaken, match="has taken over the session 'ada'"):
        first.append(claim, "1.jsonl", 0, b"late\n")
    assert again.parts == {}
    second.remove(again)
    assert [row.label for row in first.list()] == ["ben"]
    assert first.claim("ada").parts == {}


def test_a_tenant_may_have_so_much(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(tenant_mb=1)
    monkeypatch.setattr("safeexec.recordings.store.interface.SUM_SECONDS", 0.0)
    claim = store.claim("ada")
    store.append(claim, "1.jsonl", 0, bytes(1 << 20))
    with pytest.raises(StoreError, match="take 1 MiB, and tenant_mb allows 1"):
        store.append(claim, "1.jsonl", 1 << 20, b"more")
    assert sum(map(len, store.read(claim, "1.jsonl"))) == 1 << 20
    store.append(claim, "1.jsonl", 1 << 20, b"", sync=True)


@pytest.mark.parametrize("kind", ["link to a file", "link to /dev/zero", "FIFO", "directory"])
def test_nothing_but_regular_files_is_opened_in_a_directory(tmp_path: Path, kind: str) -> None:
    store = open_store(tmp_path / "store")
    folder = tmp_path / "store/default/ada"
    folder.mkdir()
    FILES[kind](folder / "000001.jsonl")
    claim = store.claim("ada")
    assert claim.parts == {}
    with pytest.raises(StoreError, match="'ada'"):
        store.append(claim, "000001.jsonl", 0, b"x")
    with pytest.raises(StoreError, match="'ada'"):
        whole(store, claim, "000001.jsonl")
    store.release(claim)
    (folder / "lock").unlink()
    FILES[kind](folder / "lock")
    with pytest.raises(StoreError, match="'ada'"):
        store.claim("ada")
    assert {path.read_text() for path in folder.parent.glob("*.secret")} <= {f'KEY = "{SECRET}"\n'}
    store.close()


def test_a_link_in_the_place_of_a_session_is_not_followed(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    (tmp_path / "store/default/ada").symlink_to(tmp_path)
    with pytest.raises(StoreError, match="'ada' cannot be stored"):
        store.claim("ada")
    store.close()


@pytest.mark.parametrize("lock", [b"", bytes(60), b"not a number, and more than any number may have", b"9" * 20])
def test_a_damaged_lock_keeps_nobody_out(tmp_path: Path, lock: bytes) -> None:
    """As of a machine that lost its power: the kernel's lock is what counts, and nobody has it."""
    store = open_store(tmp_path)
    (tmp_path / "default/ada").mkdir()
    (tmp_path / "default/ada/lock").write_bytes(lock)
    claim = store.claim("ada")
    store.append(claim, "000001.jsonl", 0, b"x")
    with pytest.raises(SessionTaken, match=f"process {os.getpid()}"):
        store.claim("ada")
    store.close()


def test_what_waits_is_listed_unasked(opened: Opened) -> None:
    store = opened()
    policy = Policy.load("calculator").replace(tools={"approval": ["pay"]})

    def pay(amount: int, what: str = "") -> int:
        return amount

    given: dict[str, Any] = {"tools": [pay], "approval": lambda *_: Later("ask"), "store": store.options, "spare": 0}
    with Sandbox(policy, **given) as sandbox:
        waits = sandbox.session_for("ada").run("pay(3)").waiting_for
        sandbox.session_for("bob").run("pay(9, 'x' * 200_000)")
        sandbox.session_for("eve").run("x = 1")
    with Sandbox(policy, **given) as sandbox:
        first, second = sandbox.waiting()
        assert (first, second.label, second.arguments) == (waits, "bob", {})
        session = sandbox.session_for("bob")
        assert [call.arguments.get("amount") for call in sandbox.waiting()] == [3, 9]
        session.cancel_waiting()
        assert sandbox.session_for("ada").answer(Allow()).value == 3
        assert sandbox.waiting() == []
        sandbox.session_for("ada").run("pay(4)")
    for label, line in (("bob", b'{"kind":'), ("eve", b"\xff" * 70_000)):
        claim = store.claim(label)
        store.append(claim, "waits", 0, line)  # by a stranger
        store.release(claim)
    with Sandbox(policy, **given) as sandbox:
        assert [call.arguments for call in sandbox.waiting()] == [{"amount": 4}]
