"""The prompt, with keys pressed as at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from penstock.client import Client
from penstock.commands.remote import Remote
from penstock.commands.shell import Shell, history_file
from penstock.errors import ServerError
from tests.client.protocol import World, running


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[World, str]]:
    world = World()
    with running(world) as url:
        yield world, url


@pytest.fixture
def world(served: tuple[World, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    served[0].__dict__.update(World().__dict__)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return served[0]


def typed(url: str, keys: str) -> Shell:
    """A session in which those keys are pressed, and then Ctrl-D."""
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text(f"{keys}\x04")
        with Client(url) as client:
            shell = Shell(Remote(client, as_json=False))
            shell.run()
            return shell


def statements(world: World) -> list[str]:
    return [text for method, path, text in world.asked if (method, path) == ("POST", "/sql")]


def test_a_statement_goes_over_lines_until_its_semicolon(served: tuple[World, str], world: World) -> None:
    typed(served[1], "SHOW\rSTREAMS;\r")
    assert statements(world) == ["SHOW\nSTREAMS;"]
    assert "+SHOW\n+STREAMS;" in history_file().read_text()
    assert history_file().stat().st_mode & 0o077 == 0


def test_several_statements_run_one_after_the_other(served: tuple[World, str], world: World) -> None:
    typed(served[1], "SHOW STREAMS; SHOW VIEWS; -- all\r")
    assert statements(world) == ["SHOW STREAMS;", "SHOW VIEWS;"]


def test_ctrl_c_drops_what_is_being_typed(served: tuple[World, str], world: World) -> None:
    typed(served[1], "DROP STREAM\x03SHOW VIEWS;\r")
    assert statements(world) == ["SHOW VIEWS;"]


@pytest.mark.usefixtures("world")
def test_a_mistake_is_shown_with_its_place_and_the_session_goes_on(
    served: tuple[World, str], capsys: pytest.CaptureFixture[str]
) -> None:
    typed(served[1], "EXPLAIN SELECT tmp FROM temps;\r\\x\rSHOW STREAMS;\r")
    shown = capsys.readouterr()
    assert shown.err == (
        "error: line 1, column 16: there is no column 'tmp'\n"
        "  EXPLAIN SELECT tmp FROM temps;\n"
        "                 ^\n"
        "error: there is no \\x here; \\? says what there is\n"
    )
    assert "(1 stream)" in shown.out


def test_commands_with_a_backslash(
    served: tuple[World, str], world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.results = [[{"room": "a", "temp": float(n)}] for n in range(30)]
    typed(served[1], "\\d\r\\d temps\r\\r hot\r\\s\r\\?\r")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["temps", "stream", "t", "TIMESTAMP,", "room", "STRING,", "temp", "DOUBLE"] in lines
    assert ["a", "29"] in lines
    assert ["a", "9"] not in lines  # only the last twenty
    assert statements(world) == ["DESCRIBE `temps`;"]
    assert ["\\q", "leave", "(or", "Ctrl-D);", "Ctrl-C", "drops", "what", "is", "being", "typed"] in lines


def test_quit_and_help_are_understood(
    served: tuple[World, str], world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(served[1], "help\rquit;\rSHOW VIEWS;\r")
    assert "\\?          this" in capsys.readouterr().out
    assert statements(world) == []


def test_nobody_there_is_said_before_anything_is_typed() -> None:
    with pytest.raises(ServerError, match=r"no server answers at http://127\.0\.0\.1:1;"):
        typed("http://127.0.0.1:1", "")


@pytest.mark.usefixtures("world")
def test_q_leaves_and_names_come_from_the_server(served: tuple[World, str]) -> None:
    with Client(served[1]) as client:
        shell = Shell(Remote(client, as_json=False), session=object())
        assert shell.take("\\q")
        assert shell.names.queries == ("hot", "slow", "broken")
        assert shell.names.columns == {"temps": ("t", "room", "temp")}
