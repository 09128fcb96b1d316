"""One server at a time runs on a state."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest

from penstock.errors import ServerError
from penstock.server.config import Loaded, load
from penstock.server.processes.server import Server


def test_a_second_server_on_a_state_is_refused_and_leaves_the_first_one_its_address(tmp_path: Path) -> None:
    address = tmp_path / "server.json"
    address.write_text(json.dumps({"url": "http://127.0.0.1:8642"}))

    def loaded() -> Loaded:
        return load(None, {}, {"server.state": str(tmp_path), "server.port": 0})

    with (tmp_path / "server.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ServerError) as refused:
            Server(loaded).run()
    assert str(refused.value) == (
        f"a server runs on {tmp_path} already; stop it first, or name another directory with --state"
    )
    assert json.loads(address.read_text())["url"] == "http://127.0.0.1:8642"
