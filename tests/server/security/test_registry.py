"""Namespaces, grants and positions, as they are after a restart."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.errors import AccessError, EngineError
from penstock.model.quotas import Quotas
from penstock.server.security.registry import Registry


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    made = Registry(tmp_path / "server.db")
    yield made
    made.close()


def test_all_of_it_is_back_after_a_restart(tmp_path: Path) -> None:
    first = Registry(tmp_path / "server.db")
    assert first.put_namespace("team", Quotas(queries=5, rows_per_s=100.5, memory_bytes=1 << 40, weight=2))
    assert not first.put_namespace("team", Quotas(queries=6))
    first.grant("default", "Orders", "team")
    first.put_position("team", "Q", "board", "17-3")
    first.close()
    again = Registry(tmp_path / "server.db")
    assert again.namespaces() == {"default": Quotas(), "team": Quotas(queries=6)}
    assert again.granted_to("team") == {"orders"}
    assert again.position("team", "q", "board") == "17-3"
    again.close()


def test_grants(registry: Registry) -> None:
    for name in ("a", "b", "c"):
        registry.put_namespace(name, Quotas())
    registry.grant("a", "orders", "b")
    registry.grant("a", "ORDERS", "c")
    registry.grant("a", "other", "b")
    assert registry.grants_of("a", "Orders") == ("b", "c")
    assert registry.granted_to("b") == {"a.orders", "a.other"}
    assert registry.revoke("a", "orders", "b")
    assert not registry.revoke("a", "orders", "b")
    assert registry.granted_to("b") == {"a.other"}
    registry.stream_dropped("a", "Other")
    assert registry.granted_to("b") == frozenset()
    with pytest.raises(AccessError, match=r"^there is no namespace 'd'$"):  # nor near
        registry.grant("a", "orders", "d")
    with pytest.raises(AccessError, match="stream 'orders' is of that namespace already"):
        registry.grant("a", "orders", "a")


def test_positions_of_one_namespace_are_not_those_of_another(registry: Registry) -> None:
    registry.put_position("a", "q", "n", "1-0")
    registry.put_position("b", "q", "n", "2-0")
    registry.put_position("a", "q", "m", "3-0")
    assert registry.positions("a", "q") == {"m": "3-0", "n": "1-0"}
    assert registry.drop_position("a", "q", "m")
    assert not registry.drop_position("a", "q", "m")
    registry.query_dropped("a", "q")
    assert registry.position("a", "q", "n") is None
    assert registry.position("b", "q", "n") == "2-0"


def test_a_namespace_goes_with_what_was_granted_but_not_with_objects(registry: Registry) -> None:
    registry.put_namespace("a", Quotas())
    registry.put_namespace("b", Quotas())
    registry.grant("a", "s", "b")
    registry.put_position("b", "q", "n", "1-0")
    said = "namespace 'b' still has 3 objects and 1 tokens; drop the objects and revoke the tokens first"
    with pytest.raises(AccessError, match=said) as refused:
        registry.drop_namespace("b", objects=3, tokens=1)
    assert refused.value.status == 409
    registry.drop_namespace("b", objects=0)
    registry.put_namespace("b", Quotas())
    assert registry.granted_to("b") == frozenset()
    assert registry.positions("b", "q") == {}
    with pytest.raises(AccessError, match="the namespace 'default' cannot be deleted"):
        registry.drop_namespace("default", objects=0)


@pytest.mark.parametrize("name", ["", "A", "a.b", "1a", "a" * 33, "a b", "../a", "ä"])
def test_names_that_namespaces_cannot_have(registry: Registry, name: str) -> None:
    with pytest.raises(AccessError, match="cannot be a namespace; use up to 32 small letters, digits"):
        registry.put_namespace(name, Quotas())


def test_quotas_that_make_no_sense(registry: Registry) -> None:
    with pytest.raises(AccessError, match="weight is -1; it must be at least 0 and below 2"):
        registry.put_namespace("a", Quotas(weight=-1))
    assert "a" not in registry.namespaces()


def test_a_state_of_another_version_says_so(tmp_path: Path) -> None:
    Registry(tmp_path / "server.db").close()
    with sqlite3.connect(tmp_path / "server.db") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    said = r"the server's state was written by another version of Penstock \(format 99, not 1\); use"
    with pytest.raises(EngineError, match=said):
        Registry(tmp_path / "server.db")
    (tmp_path / "junk.db").write_bytes(b"junk" * 500)
    with pytest.raises(EngineError, match="the server's state cannot be opened"):
        Registry(tmp_path / "junk.db")
