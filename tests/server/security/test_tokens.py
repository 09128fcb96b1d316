"""Tokens: known by their hash, in a file that nobody else can read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import AccessError
from penstock.server.security.roles import Role
from penstock.server.security.tokens import Identity, TokenFile


def test_a_token_says_who_somebody_is(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    text, token = tokens.create(Role.OPERATOR, "team", note="of the dashboard")
    assert text.startswith(f"pnst_{token.id}_")
    assert tokens.identify(text) == Identity(token.id, Role.OPERATOR, "team")
    assert tokens.tokens() == (token,)


def test_neither_the_file_nor_what_is_listed_has_the_secret(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    text, _ = tokens.create(Role.ADMIN)
    secret = text.split("_", 2)[2]
    assert len(secret) == 43  # 256 bits
    assert secret not in (tmp_path / "tokens.json").read_text()
    assert secret not in repr(tokens.tokens())
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_what_another_process_writes_counts_at_once(tmp_path: Path) -> None:
    here, there = TokenFile(tmp_path / "tokens.json"), TokenFile(tmp_path / "tokens.json")
    first, token = here.create(Role.VIEWER)
    assert there.identify(first) is not None
    second, _ = there.create(Role.VIEWER)
    assert here.identify(second) is not None
    there.revoke(token.id)
    assert here.identify(first) is None
    assert here.identify(second) is not None


def test_that_the_last_token_is_revoked_does_not_open_the_server(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    assert not tokens.is_configured
    text, token = tokens.create(Role.ADMIN)
    tokens.revoke(token.id)
    assert tokens.is_configured
    assert tokens.identify(text) is None
    with pytest.raises(AccessError, match=f"there is no token '{token.id}'"):
        tokens.revoke(token.id)


def test_a_token_ends_when_its_time_is_over(tmp_path: Path) -> None:
    now_s = 100.0
    tokens = TokenFile(tmp_path / "tokens.json", clock=lambda: now_s)
    text, _ = tokens.create(Role.VIEWER, expires_s=110.0)
    assert tokens.identify(text) is not None
    now_s = 110.0
    assert tokens.identify(text) is None


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"version": 2, "tokens": []}', '{"version": 1, "tokens": [1]}']
)
def test_a_file_that_cannot_be_read_lets_nobody_in(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokens.json"
    path.touch(mode=0o600)
    path.write_text(content)
    with pytest.raises(AccessError, match="the file of tokens cannot be read") as refused:
        TokenFile(path).identify("pnst_x")
    assert str(tmp_path) not in str(refused.value)


def test_a_file_that_others_can_use_is_refused(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    tokens.create(Role.VIEWER)
    os.chmod(tmp_path / "tokens.json", 0o644)
    with pytest.raises(
        AccessError, match=r"can be used by others \(mode 644\); take that right away with chmod 600"
    ):
        TokenFile(tmp_path / "tokens.json").tokens()


def test_two_that_make_tokens_at_once_lose_none(tmp_path: Path) -> None:
    files = [TokenFile(tmp_path / "tokens.json") for _ in range(5)]
    made = [file.create(Role.VIEWER)[1].id for file in files]
    assert {one["id"] for one in json.loads((tmp_path / "tokens.json").read_text())["tokens"]} == {*made}


@given(st.text(max_size=80), st.data())
def test_no_other_text_is_taken_for_a_token(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    tokens = TokenFile(tmp_path_factory.mktemp("tokens") / "tokens.json")
    right, _ = tokens.create(Role.VIEWER)
    place = data.draw(st.integers(0, len(right) - 1))
    letter = data.draw(st.sampled_from("abc09_-"))
    changed = right[:place] + letter + right[place + 1 :]
    assert (tokens.identify(changed) is not None) == (changed == right)
    assert tokens.identify(text) is None
