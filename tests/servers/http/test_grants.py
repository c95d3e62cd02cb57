"""Who a token is, and what the file of the tokens may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec import SandboxError
from safeexec.servers.http.grants import MAX_TOKEN, Grant, Tokens, read_tenants, read_token

WORD = "a-token-of-many-letters"


def test_a_server_of_one_tenant_takes_one_word_and_nothing_that_it_could_not_keep(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"\n{WORD}\n")
    assert read_token(path) == WORD and read_tenants(path) == {"": Grant(token=WORD)}
    path.write_text(f"alice: {WORD}")
    assert read_token(path) == WORD
    for text in (f"alice: {WORD}\nbob: {WORD}-2", f"alice: {{token: {WORD}, sessions: 1}}"):
        path.write_text(text)
        with pytest.raises(SandboxError, match="one tenant and no quotas") as told:
            read_token(path)
        assert WORD not in str(told.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is empty: write one word, the token"),
        ("{ }", "it names no tenant"),
        ("- a", "expected a mapping"),
        ("short", "a token has 16 to 1000 characters"),
        ("alice: short", "alice: a token has 16 to 1000 characters"),
        ("alice: {sessions: 1}", "alice: a token has 16 to 1000 characters"),
        (f"alice: {{tokn: {WORD}}}", "alice: unknown key 'tokn'; did you mean token?"),
        (f"alice: {{{WORD}: 1}}", "alice: unknown key; the keys are token, policies"),
        (f"alice: {{token: {WORD}, sessions: 0}}", "alice: sessions is a whole number of at least 1"),
        (f"alice: {{token: {WORD}, policies: standard}}", "alice: policies is a list of names"),
        (f"alice: {{token: {WORD}, policies: []}}", "alice: policies is a list of names, at least one"),
        ("alice: {token: 12345678901234567890}", "alice: the token is a number: write it in quotes"),
        (f"alice: {WORD}\nalice: {WORD}", "tokens.yaml:2:1: the key is written twice, first in line 1"),
        ("alice: [", "tokens.yaml:2:1: not YAML"),
    ],
)
def test_what_is_wrong_with_a_token_file_is_told_in_words(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "tokens.yaml").write_text(text)
    with pytest.raises(SandboxError) as raised:
        read_tenants(tmp_path / "tokens.yaml")
    assert told in str(raised.value) and WORD not in str(raised.value)


def test_all_mistakes_of_a_token_file_are_told_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "tokens.yaml"
    path.write_text(f"alice: short\nbob:\n  tokn: {WORD}\ncarl: {WORD}\ndora:\n  token: {WORD}\n")
    with pytest.raises(SandboxError) as raised:
        read_tenants(path)
    assert [line.removeprefix(f"{path}:").partition(";")[0] for line in str(raised.value).splitlines()] == [
        "1: alice: a token has 16 to 1000 characters",
        "2: bob: unknown key 'tokn'",
        "5: dora: it has the same token as carl",
    ]


def test_a_token_is_its_owners_alone_and_one_that_is_too_long_is_not_looked_at() -> None:
    longest = "x" * MAX_TOKEN
    tokens = Tokens([(WORD, 1), (longest, 2), (longest + "x", 3)])
    owners = [tokens.owner(token.encode()) for token in (WORD, longest, longest + "x", WORD[:-1], "")]
    assert owners == [1, 2, None, None, None]
