"""Functions in Python over HTTP: for admins, below configured directories, off unless there are any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.server.engine.process import confinement_of
from tests.server.http.world import A, B, World

pytestmark = pytest.mark.jvm

SCORE = "CREATE FUNCTION score (x DOUBLE) RETURNS DOUBLE AS 'rating:score' LANGUAGE PYTHON DETERMINISTIC;"


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of modules, and one beside it."""
    found = tmp_path_factory.mktemp("functions")
    (found / "allowed").mkdir()
    (found / "allowed" / "rating.py").write_text(
        "def score(x):\n    return x / 2\n\n\ndef never(x):\n    raise ValueError('not today')\n"
    )
    return found / "allowed"


@pytest.fixture
def allowed(world: World, modules: Path) -> Iterator[None]:
    """The server has the setting confinement.functions."""
    rules = confinement_of(world.backend.settings)
    world.engine.confine(replace(rules, functions=(modules,)))
    yield
    world.engine.confine(rules)


def detail(answer: dict[str, str]) -> str:
    return answer["detail"].partition("\n")[0]


def test_there_are_none_unless_the_server_names_directories(world: World) -> None:
    assert detail(world.sql(SCORE, (B, "admin"), 400)) == (
        "line 1, column 17: function 'score': this server has no functions in Python; name directories of "
        "modules in the setting confinement.functions"
    )


@pytest.mark.usefixtures("allowed")
def test_only_admins_create_and_drop_them(world: World) -> None:
    for role in ("viewer", "operator"):
        assert detail(world.sql(SCORE, (B, role), 403)) == (
            f"CreateFunction needs the role admin, and this token has {role}; use another token"
        )
        world.sql("DROP FUNCTION score;", (B, role), 403)


@pytest.mark.usefixtures("allowed")
def test_modules_elsewhere_and_what_nobody_can_register_are_refused(world: World) -> None:
    system = SCORE.replace("rating:score", "os:system").replace("DOUBLE)", "STRING)")
    assert detail(world.sql(system, (B, "admin"), 400)).endswith(
        "function 'score' (os:system): module 'os' is not below the directories that this server allows "
        "for functions"
    )
    registered = SCORE.replace("AS 'rating:score'", "REGISTERED")
    assert detail(world.sql(registered, (B, "admin"), 400)) == (
        "line 1, column 17: function 'score': nobody can register one from afar; say where it is: "
        "AS 'module:function'"
    )
    assert world.ask("GET", "/functions").json() == []


@pytest.mark.usefixtures("allowed")
def test_a_team_has_its_own_and_sees_what_became_of_them(world: World) -> None:
    never = SCORE.replace("score", "never")
    world.sql(
        f"""{SCORE}{never}CREATE STREAM rated (id INT, v DOUBLE) USING push;
        CREATE CONTINUOUS QUERY scores AS SELECT id, score(v) AS y FROM rated WHERE score(v) > 1;
        CREATE CONTINUOUS QUERY fails AS SELECT id, never(v) AS y FROM rated;""",
        (B, "admin"),
    )
    world.push("rated", [{"id": 1, "v": 1.0}, {"id": 2, "v": 5.0}])
    world.ask("POST", "/settle", json={"timeout": 60})
    assert world.ask("GET", "/queries/scores/results").json()["rows"] == [{"id": 2, "y": 2.5}]
    queries = {one["name"]: one for one in world.ask("GET", "/queries").json()}
    assert queries["fails"]["failure"] == (
        "function 'never' (rating:never) raised ValueError: not today, at (1.0)"
    )
    assert world.ask("GET", "/functions").json()[0] == {
        "name": "score",
        "parameters": [{"name": "x", "type": "double"}],
        "returns": "double",
        "aggregate": False,
        "target": "rating:score",
        "timeout_s": 5.0,
        "memory_bytes": 256_000_000,
        "called_by": ["scores"],
    }
    assert world.ask("GET", "/functions", (A, "admin")).json() == []
    unknown = world.sql("EXPLAIN SELECT score(n) AS y FROM own;", (A, "operator"), 400)
    assert "there is no " in unknown["detail"]
    (shown,) = world.sql("SHOW FUNCTIONS;")["answers"]
    assert [row[0] for row in shown["rows"]] == ["score(x double) double", "never(x double) double"]
    assert world.ask("GET", "/queries/scores/explain").status_code == 200
    said = world.sql("DROP FUNCTION score;", (B, "admin"), 400)
    assert "function 'score' is used by query 'scores'; drop that first" in said["detail"]
    world.sql(
        "DROP QUERY scores; DROP QUERY fails; DROP FUNCTION score; DROP FUNCTION never; DROP STREAM rated;",
        (B, "admin"),
    )
