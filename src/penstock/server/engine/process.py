"""The engine process: `python -m penstock.server.engine.process`, started by the supervisor.

It listens only once the state is open and rows are taken in. `child` says how it gets its settings.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.statements.confinement import OWN, SINKS, SPARK, Confinement
from penstock.errors import PenstockError, StateInUseError
from penstock.server.channel.frames import Notice
from penstock.server.channel.host import Host
from penstock.server.child import first_settings, follow
from penstock.server.engine.old_results import OldResults
from penstock.server.engine.service import EngineService
from penstock.server.layout import StateLayout
from penstock.server.logging import say
from penstock.server.settings import Settings
from penstock.server.supervision import STATE_IN_USE

#: Seconds between two looks whether the engine still runs.
_LOOK_S = 0.5


def make_engine(
    settings: Settings,
    tell: Callable[[str], None],
    published: Callable[[str, str], None],
    *,
    confined: bool = True,
) -> Engine:
    """The engine that settings ask for; results go to files of the state."""
    layout, asked = StateLayout(settings.server.state), settings.engine
    return Engine(
        layout.state,
        out=layout.results,
        workers=asked.workers,
        memory_bytes=asked.memory,
        train_rows=asked.train_rows,
        steps=asked.steps,
        master=asked.master,
        conf=asked.conf,
        profiling=asked.profiling,
        confinement=confinement_of(settings) if confined else None,
        tell=tell,
        published=published,
    )


def confinement_of(settings: Settings) -> Confinement:
    """What statements may reach."""
    asked = settings.confinement
    formats, sinks = frozenset(asked.formats), frozenset(asked.formats) & SINKS
    spark = {name: options for name, options in SPARK.items() if name in formats}
    return Confinement(
        asked.roots,
        asked.roots_of,
        formats=formats & OWN,
        spark=spark,
        kafka_servers=frozenset(asked.kafka_servers) if "kafka" in formats else frozenset(),
        sinks=sinks,
        functions=asked.functions,
    )


def main() -> None:
    """Runs until it is told to stop, the engine stops, or the supervisor is gone."""
    settings, stop = first_settings(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    code = 0
    try:
        _serve(settings, stop)
    except StateInUseError as error:
        say("engine", str(error))
        code = STATE_IN_USE
    except PenstockError as error:
        say("engine", str(error))
        code = 1
    except Exception:
        say("engine", f"a defect of Penstock: {traceback.format_exc()}")
        code = 1
    sys.stdout.flush()
    os._exit(code)  # calls that still wait for something hold nothing up: nobody hears their answers


def _serve(settings: Settings, stop: threading.Event) -> None:
    hosts: list[Host] = []

    def published(directory: str, name: str) -> None:
        for host in hosts:
            host.notify(Notice("published", {"directory": directory, "file": name}))

    def tell(text: str) -> None:
        say("engine", text)

    held = _Held(settings)
    follow("engine", held.change, stop.set)  # from the start: it may be the supervisor's end that comes
    with make_engine(settings, tell, published) as engine:
        held.use(engine)
        engine.start()
        host = Host(StateLayout(settings.server.state).socket, EngineService(engine), tell)
        hosts.append(host)
        say("engine", "ready")
        try:
            while not stop.wait(_LOOK_S):
                engine.check()
        finally:
            host.close()


class _Held:
    """The settings that hold, and the engine that is to use them, once there is one.

    A policy or scheduling that somebody has set stays until the file has another than was taken up before:
    by this process, or by one that the same server had before it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine: Engine | None = None
        layout = StateLayout(settings.server.state)
        self._old_results, self._file = OldResults(layout.results), layout.taken_up
        self._taken_up = _read(self._file)
        self._lock = threading.Lock()

    def use(self, engine: Engine) -> None:
        """The engine is there."""
        with self._lock:
            self._engine = engine
            self._take_up(engine)

    def change(self, settings: Settings) -> None:
        """Other settings hold from now on."""
        with self._lock:
            self._settings = settings
            if self._engine is not None:
                self._take_up(self._engine)

    def _take_up(self, engine: Engine) -> None:
        """What can be changed while it runs."""
        settings = self._settings
        policy, scheduling = settings.engine.policy, settings.engine.scheduling
        self._old_results.keep(settings.retention.results)
        try:
            engine.confine(confinement_of(settings))
            engine.keep_control_log(settings.retention.control_log / 60)
            if policy is not None and policy != self._taken_up.get("policy"):
                engine.use_policy(policy)
            if scheduling is not None and scheduling != self._taken_up.get("scheduling"):
                engine.use_scheduling(scheduling)
            self._taken_up = {"policy": policy, "scheduling": scheduling}
            self._file.write_text(json.dumps(self._taken_up), "utf-8")
        except (PenstockError, OSError) as error:
            say("engine", f"settings were not taken up: {error}")


def _read(file: Path) -> dict[str, str | None]:
    """What was taken up before; nothing if that cannot be said."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


if __name__ == "__main__":
    main()
