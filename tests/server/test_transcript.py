"""The manual's session with a server is what really happens.

Every ```console block of the page is replayed, in order, against one server: a line that begins with `$` is a
command, those below it are what it prints. `$ cat FILE` says what is in a file, which is written first.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.commands.console import out
from penstock.errors import PenstockError

PAGE = Path(__file__).parents[2] / "docs" / "tutorial-server.md"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
#: What differs between two runs, and what it is compared as.
MASKS = (
    (re.compile(r"^\w+: latency violated, .*\Z", re.DOTALL | re.MULTILINE), ""),  # why, if it is
    (re.compile(r" +"), " "),  # columns are as wide as what is in them
    (re.compile(r" $", re.MULTILINE), ""),
    (re.compile(r"(?<!≤ )\b\d[\d.]* (s|ms|µs)\b"), "# s"),  # measured; behind ≤ is what was asked for
    (re.compile(r"\b\d[\d.]*%"), "#%"),
    (re.compile(r"\b(spare|met|unknown|violated: latency)$", re.MULTILINE), "VERDICT"),
)


class Step(NamedTuple):
    command: list[str]
    printed: str


def steps(page: str) -> Iterator[Step]:
    for block in BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield Step(shlex.split(command), printed)


def masked(text: str) -> str:
    for pattern, instead in MASKS:
        text = pattern.sub(instead, text)
    return text.strip()


def penstock(arguments: list[str]) -> str:
    """What a command prints, as on a terminal."""
    done = CliRunner().invoke(app, arguments)
    if isinstance(done.exception, PenstockError):
        return f"error: {done.exception}"
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server of its own."""
    command = [sys.executable, "-c", "from penstock.cli import main; main()", "serve"]
    options = ["--state", str(tmp_path / "state"), "--port", "0", "--set", "engine.profiling=0"]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen([*command, *options], stdout=log, stderr=log, cwd=tmp_path) as process,
    ):
        try:
            yield ready(tmp_path, process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(40)


def ready(root: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        assert process.poll() is None, (root / "log").read_text()
        try:
            url = str(json.loads((root / "state" / "server.json").read_text())["url"])
            with urlopen(f"{url}/ready", timeout=5):
                return url
        except (OSError, ValueError, HTTPError, URLError):
            time.sleep(0.2)
    raise AssertionError((root / "log").read_text())


def test_what_differs_between_runs_is_masked_and_nothing_else() -> None:
    line = "hot    running     2    13.9 s    34%           ≤ 20 s      violated: latency  "
    assert masked(line) == masked("hot running 2 0.2 s 100% ≤ 20 s spare")
    assert masked(line) != masked("hot running 3 0.2 s 100% ≤ 20 s spare")
    assert masked(line) != masked("hot ended 2 0.2 s 100% ≤ 20 s spare")
    assert masked(line) != masked("hot running 2 0.2 s 100% ≤ 30 s spare")


@pytest.mark.jvm
def test_the_session_of_the_manual_is_what_happens(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_SERVER", server)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(out, "width", 110)
    said: list[str] = []
    for step in steps(PAGE.read_text("utf-8")):
        if step.command[0] == "cat":
            Path(step.command[1]).write_text(step.printed)
            continue
        assert step.command[0] == "penstock"
        printed = penstock(step.command[1:])
        said += [f"$ {shlex.join(step.command)}", printed]
        assert masked(printed) == masked(step.printed), "\n".join(said)
