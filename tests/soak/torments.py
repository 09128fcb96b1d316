"""The bad things that happen: to the engine's process, to its inputs and outputs, and by its own users."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.chaos.lives import PATIENCE_S, Life
from tests.soak.world import STREAMS, World

#: What the engine's own process is told to do.
ORDERS = (
    "bad statement",
    "failing query",
    "closed subscriber",
    "raising callback",
    "hold and resume",
    "another policy",
    "many results",
)
#: What is done to it from outside; kills of the driver are apart.
OUTSIDE = (
    "unreadable directory",
    "unusable sink",
    "chmod of a read file",
    "copies of a read file",
    "bad table",
    "killed executor",
)
KILL = "killed the driver"
#: Seconds that an order may take.
ORDER_S = 90.0


class Tormentor:
    """Starts the engine, and does one bad thing after the other; what must not be is in `problems`."""

    def __init__(self, root: Path, world: World, start: Callable[[], list[str]], seed: int) -> None:
        self._root, self._world, self._start = root, world, start
        self._chance, self._orders = random.Random(seed), 0
        self._undo: list[Callable[[], None]] = []
        self.problems: list[str] = []
        self.life: Life | None = None

    @property
    def pid(self) -> int | None:
        """The engine's process."""
        return None if self.life is None else self.life.pid

    def begin(self) -> None:
        """Starts the engine, and waits until it is there."""
        (self._root / "ready").unlink(missing_ok=True)
        life = Life(self._start(), self._root / "said.txt", self.problems, talks=True)
        life.wait_until((self._root / "ready").exists)
        if not (self._root / "ready").exists():
            self.problems.append(f"it did not start:\n{life.tail()}")
        self.life = life

    def torment(self, *, may_kill: bool) -> str:
        """Takes back what was done before, does something else, and says what."""
        self.mend()
        if may_kill and self._chance.random() < 0.5:
            return self._kill()
        what = self._chance.choice((*ORDERS, *OUTSIDE))
        match what:
            case "unreadable directory":
                name = self._chance.choice(STREAMS)
                self._world.away(name)
                self._undo.append(lambda: self._world.back(name))
                return f"{what}: {name}"
            case "unusable sink":
                return f"{what}: {self._away(self._root / 'copies')}"
            case "bad table":
                (self._root / "places.csv").write_text("device,place\nd0,p1,too,many\n")
                self._undo.append(self._world.change_table)
                return what
            case "chmod of a read file" | "copies of a read file":
                return f"{what}: {self._touch(what)}"
            case "killed executor":
                return self._kill_executor()
            case order:
                return f"{order}: {self.order(order)}"

    def mend(self) -> None:
        """Takes back what was done to inputs and outputs."""
        while self._undo:
            self._undo.pop()()

    def _kill(self) -> str:
        assert self.life is not None
        self.life.kill()
        self.begin()
        return KILL

    def _away(self, path: Path) -> str:
        """A directory is a file for a while."""
        if not path.is_dir():
            return "nothing there yet"
        aside = path.with_name(f".{path.name}.away")
        path.rename(aside)
        path.write_text("not a directory\n")

        def back() -> None:
            path.unlink()
            aside.rename(path)

        self._undo.append(back)
        return path.name

    def _touch(self, what: str) -> str:
        file = self._world.read_file()
        if file is None:
            return "nothing there yet"
        if what.startswith("chmod"):
            file.chmod(self._chance.choice((0o600, 0o640, 0o644)))
        else:  # a hard link changes the file's inode, a copy beside the directory nothing
            aside = self._root / "aside"
            aside.mkdir(exist_ok=True)
            with suppress(FileExistsError):
                os.link(file, aside / f"link-{file.name}")
            shutil.copy2(file, aside / f"copy-{file.name}")
        return f"{file.parent.name}/{file.name}"

    def _kill_executor(self) -> str:
        listed = subprocess.run(["ps", "-A", "-o", "pid=,args="], capture_output=True, text=True, check=True)
        mine = os.environ.get("MASTER", "")
        found = [
            int(line.split()[0])
            for line in listed.stdout.splitlines()
            if "CoarseGrainedExecutorBackend" in line and mine.startswith("spark://") and "java" in line
        ]
        if not found:
            return f"no executor to kill; instead, {self.order('many results')}"
        os.kill(self._chance.choice(found), signal.SIGKILL)
        return "killed executor"

    def order(self, what: str, patience_s: float = ORDER_S) -> str:
        """Tells the engine to do something, and waits for its answer."""
        assert self.life is not None
        self._orders += 1
        self.life.tell(json.dumps({"n": self._orders, "do": what}))
        until_s = time.monotonic() + patience_s
        while time.monotonic() < until_s and self.life.wait(0.05) is None:
            said = self._answer()
            if said is not None:
                break
        said = self._answer()
        if said is None:
            self.problems.append(f"no answer to '{what}':\n{self.life.tail()}")
            return "no answer"
        if said.startswith("PROBLEM"):
            self.problems.append(f"{what}: {said.removeprefix('PROBLEM ')}")
        return said

    def _answer(self) -> str | None:
        path = self._root / "answers"
        if not path.exists():
            return None
        last = json.loads(path.read_text().splitlines()[-1])
        return str(last["said"]) if last["n"] == self._orders else None

    def end(self, patience_s: float) -> None:
        """The last rows have come: it drains, and must end well."""
        self.mend()
        assert self.life is not None
        self.order("drain", patience_s)
        code = self.life.wait(PATIENCE_S)
        if code != 0:
            self.problems.append(f"it ended with {code}:\n{self.life.tail()}")
            self.life.kill()
        self.life = None
