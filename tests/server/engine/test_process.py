"""What the engine process takes up of settings: at the start, and when they are read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from penstock.engines.spark.engine import Engine
from penstock.errors import PolicyError
from penstock.server.engine.process import _Held
from penstock.server.settings import ConfinementSection, EngineSection, ServerSection, Settings


class Told:
    """An engine that only keeps what it is told."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        def hear(value: Any) -> None:
            self.said[name] = value
            if value == "one that cannot be":
                raise PolicyError("it cannot be")

        return hear

    def asked(self) -> dict[str, Any]:
        said, self.said = self.said, {}
        return said


def settings(tmp_path: Path, policy: str | None, *roots: Path, scheduling: Any = None) -> Settings:
    return Settings(
        server=ServerSection(state=tmp_path),
        engine=EngineSection.model_construct(policy=policy, scheduling=scheduling),
        confinement=ConfinementSection(roots=roots),
    )


def test_a_policy_that_was_set_meanwhile_stays_until_the_file_has_another(tmp_path: Path) -> None:
    engine, held = Told(), _Held(settings(tmp_path, "fcfs", scheduling="pool"))
    held.use(cast(Engine, engine))
    said = engine.asked()
    assert (said["use_policy"], said["use_scheduling"]) == ("fcfs", "pool")
    held.change(settings(tmp_path, "fcfs", tmp_path, scheduling="pool"))
    said = engine.asked()
    assert not {"use_policy", "use_scheduling"} & set(said)
    assert said["confine"].roots == (tmp_path,)
    held.change(settings(tmp_path, "chain", scheduling="gts"))
    said = engine.asked()
    assert (said["use_policy"], said["use_scheduling"]) == ("chain", "gts")
    again = _Held(settings(tmp_path, "chain", scheduling="gts"))  # the process that comes after a crash
    again.use(cast(Engine, engine))
    assert not {"use_policy", "use_scheduling"} & set(engine.asked())
    (tmp_path / "taken-up.json").unlink()  # another server
    anew = _Held(settings(tmp_path, "chain", scheduling="gts"))
    anew.use(cast(Engine, engine))
    assert engine.asked()["use_policy"] == "chain"


def test_a_policy_that_cannot_be_keeps_nothing_else_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine, held = Told(), _Held(settings(tmp_path, "fcfs"))
    held.use(cast(Engine, engine))
    held.change(settings(tmp_path, "one that cannot be", tmp_path))
    said = engine.asked()
    assert said["confine"].roots == (tmp_path,)
    assert "keep_control_log" in said
    assert "settings were not taken up: it cannot be" in capsys.readouterr().err
    held.change(settings(tmp_path, "one that cannot be"))
    assert engine.asked()["use_policy"] == "one that cannot be"  # it is tried again
