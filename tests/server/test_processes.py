"""The server's real processes: each is killed once under load, settings are read again, and it stops."""

from __future__ import annotations

import json
import re
import signal
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest

from penstock.errors import ServerError
from penstock.server.layout import StateLayout
from penstock.server.processes import port as ports
from penstock.server.processes.server import only_server
from tests.server.kills import World
from tests.server.serving import PATIENCE_S, PENSTOCK, Serving, Victim

# --- the port and the state, without processes ---


@pytest.fixture
def layout(tmp_path: Path) -> StateLayout:
    return StateLayout(tmp_path)


def test_a_port_that_somebody_else_has_is_refused_at_once(layout: StateLayout) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ServerError) as error:
            ports.listening("127.0.0.1", port, layout)
    assert str(error.value) == (
        f"cannot listen at 127.0.0.1, port {port}: Address already in use; choose another port with --port, "
        "or 0 for one that is free"
    )


def test_a_port_that_a_killed_server_had_is_waited_for(
    layout: StateLayout, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = socket.create_server(("127.0.0.1", 0))
    port = other.getsockname()[1]
    layout.address.write_text(json.dumps({"url": f"http://127.0.0.1:{port}", "pid": 1}))
    waits = 0

    def sleep(_: float) -> None:
        nonlocal waits
        waits += 1
        if waits == 3:
            other.close()

    monkeypatch.setattr(ports.time, "sleep", sleep)
    with ports.listening("127.0.0.1", port, layout) as found:
        assert found.getsockname()[1] == port
    assert waits == 3
    said = capsys.readouterr().err
    assert said.count(f"port {port} is still in use; waits for what is left of the server before") == 1


def test_a_port_is_not_waited_for_without_end(layout: StateLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_PATIENCE_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        layout.address.write_text(json.dumps({"url": f"http://127.0.0.1:{port}", "pid": 1}))
        with pytest.raises(ServerError, match="Address already in use"):
            ports.listening("127.0.0.1", port, layout)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"url": 5}', '{"url": "http://h:x"}', '{"url": "http://h:1"}']
)
def test_an_address_that_says_nothing_of_the_port_is_no_reason_to_wait(
    layout: StateLayout, text: str
) -> None:
    layout.address.write_text(text)
    assert not ports.was_killed(layout, 8642)


def test_only_one_server_runs_on_a_state(layout: StateLayout) -> None:
    with only_server(layout):
        with pytest.raises(ServerError) as error, only_server(layout):
            pass
        assert str(error.value) == (
            f"a server runs on {layout.state} already; stop it first, or name another directory with --state"
        )
    with only_server(layout):
        pass


# --- all of it ---


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "penstock.toml"
    path.write_text("[engine]\npolicy = 'fcfs'\n")
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, config: Path) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("served"), 7, "--config", str(config))
    yield made
    made.close()


@pytest.mark.jvm
@pytest.mark.slow
def test_each_process_is_killed_once_and_no_row_is_lost_or_comes_twice(world: World) -> None:
    serving = world.serving
    world.wait_for_pushes("pushes before the first kill")

    serving.kill(Victim.http)
    world.wait_for_pushes("pushes behind the end of http")

    before = serving.pid(Victim.engine)
    serving.kill(Victim.jvm)
    serving.wait_until(lambda: serving.pid(Victim.engine) != before, "the engine to leave without its JVM")
    away = serving.get("/ready")
    assert away.status_code == 503
    assert away.headers["Retry-After"] == "2"
    assert away.json()["detail"] == "the engine is starting; try again in a few seconds"
    refused = serving.get("/api/v1/status")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
    assert serving.get("/health").status_code == 200
    world.wait_for_pushes("pushes behind the end of the JVM")

    # The engine again, and the supervisor while that starts: one engine more that has to find its way.
    serving.kill(Victim.engine)
    serving.kill(Victim.supervisor)
    world.wait_for_pushes("pushes behind the end of the engine and of the supervisor")
    assert serving.address() == serving.url

    assert world.finish() == []


def _policy(serving: Serving) -> str:
    found = serving.get("/api/v1/scheduling")
    return str(found.json()["policy"]) if found.is_success else ""


@pytest.mark.jvm
@pytest.mark.slow
def test_settings_are_read_again(world: World, config: Path) -> None:
    serving = world.serving
    serving.wait_until(lambda: _policy(serving) == "fcfs", "the policy of the file")
    config.write_text("[engine]\npolicy = 'fifo'\n")
    serving.process.send_signal(signal.SIGHUP)
    serving.wait_until(lambda: _policy(serving) == "fifo", "the new policy of the file")

    with serving.client() as client:
        client.use_policy("fcfs")
    config.write_text("[engine]\npolicy = 'none of these'\n")
    serving.process.send_signal(signal.SIGHUP)
    serving.wait_until(lambda: "settings stay as they are: " in serving.tail(), "word of a broken file")
    assert _policy(serving) == "fcfs"


@pytest.mark.jvm
@pytest.mark.slow
def test_it_stops_with_0_while_clients_follow(world: World) -> None:
    serving = world.serving
    with serving.client() as client, client.subscribe("everything") as results:
        next(results)  # one that is connected for certain
        assert serving.stop() == 0
    said = serving.tail(8)
    assert "http has stopped" in said
    assert "engine has stopped (exit code 0)" in said
    assert not re.search("Cancel [1-9]", said), "somebody was cut off"
    assert not (serving.state / "server.json").exists()


@pytest.mark.slow
def test_a_crash_loop_is_logged_and_told(tmp_path: Path) -> None:
    """A state of a newer format, which no restart mends; the engine leaves before it needs Java."""
    (tmp_path / "state").mkdir()
    with closing(sqlite3.connect(tmp_path / "state" / "penstock.db")) as database:
        database.execute("PRAGMA user_version = 999")
    serving = Serving(tmp_path)
    try:
        serving.wait_until(lambda: "crash loop" in _said(serving), "word of the crash loop")
        assert serving.get("/health").status_code == 200
        assert serving.get("/ready").json()["detail"] == (
            "the engine is in a crash loop; it is tried every 30 seconds, and its log says why"
        )
        assert "was written by a newer Penstock (format 999" in serving.tail()
        assert "engine is in a crash loop: 5 exits within 120 s" in serving.tail()
        assert serving.stop(signal.SIGINT) == 0
    finally:
        serving.close()


def _said(serving: Serving) -> str:
    """What `/ready` says, as soon as somebody answers."""
    with suppress(httpx.TransportError, ValueError):
        return str(serving.get("/ready").json().get("detail"))
    return ""


@pytest.mark.slow
def test_a_second_server_on_the_same_state_is_refused(tmp_path: Path) -> None:
    with only_server(StateLayout(tmp_path)):
        found = subprocess.run(
            [PENSTOCK, "serve", "--state", tmp_path, "--port", "0"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert found.returncode == 2
    assert "already; stop it first, or name another directory with --state" in " ".join(found.stderr.split())
