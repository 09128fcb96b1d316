"""A query that is being written is explained: what it would be, and what of it runs already."""

from __future__ import annotations

import pytest

from tests.server.http.world import A, B, World

pytestmark = pytest.mark.jvm
OPERATOR, VIEWER = (B, "operator"), (B, "viewer")


@pytest.fixture(scope="module", autouse=True)
def made(world: World) -> None:
    world.sql(
        "CREATE STREAM rooms (t TIMESTAMP, room STRING, temp DOUBLE, WATERMARK FOR t AS t) USING push; "
        "CREATE CONTINUOUS QUERY cold AS SELECT room FROM rooms WHERE room IS NOT NULL;"
    )


def test_a_draft_is_explained_and_nothing_is_created(world: World) -> None:
    before = world.ask("GET", "/queries", VIEWER).json()
    body = {"select": "SELECT room, temp FROM rooms WHERE room IS NOT NULL", "latency": "2s"}
    answered = world.ask("POST", "/explain", VIEWER, json=body)
    assert answered.status_code == 200
    found = answered.json()
    assert found["columns"] == [{"name": "room", "type": "string"}, {"name": "temp", "type": "double"}]
    select = next(one for one in found["operators"] if one["kind"] == "select")
    assert (select["name"] in found["shared"], select["shared_with"]) == (True, ["cold"])
    assert found["operators"][0]["name"] == "rooms"
    assert found["cost"]["processor_s_per_s"] > found["cost"]["new_processor_s_per_s"]
    assert world.ask("GET", "/queries", VIEWER).json() == before


def test_mistakes_of_a_draft_have_their_place_in_the_select(world: World) -> None:
    wrong = world.ask("POST", "/explain", VIEWER, json={"select": "SELECT room,\n  tmp FROM rooms"})
    assert (wrong.status_code, wrong.json()["line"], wrong.json()["column"]) == (400, 2, 3)
    wish = world.ask("POST", "/explain", VIEWER, json={"select": "SELECT room FROM rooms", "latency": "soon"})
    assert wish.status_code in (400, 409)
    assert "line" not in wish.json()
    two = world.ask("POST", "/explain", VIEWER, json={"select": "SELECT 1;\nDROP STREAM rooms"})
    assert two.status_code in (400, 409)
    assert world.ask("GET", "/streams/rooms", VIEWER).status_code == 200


def test_what_others_run_cannot_be_learned_from_a_draft(world: World) -> None:
    world.ask("PUT", f"/streams/rooms/grants/{A}", OPERATOR)
    theirs = world.ask(
        "POST",
        "/explain",
        (A, "viewer"),
        json={"select": f"SELECT room FROM {B}.rooms WHERE room IS NOT NULL"},
    ).json()
    assert (theirs["shared"], theirs["together"]) == ([], [])
    assert theirs["operators"][0]["name"] == f"{B}.rooms"
    assert all(not one["shared_with"] for one in theirs["operators"])
    unknown = world.ask("POST", "/explain", (A, "viewer"), json={"select": "SELECT room FROM rooms"})
    assert unknown.status_code == 400


def test_what_is_wrong_with_a_name_has_no_place_in_the_select(world: World) -> None:
    for name in ("a.b", "cold"):
        refused = world.ask(
            "POST", "/queries", OPERATOR, json={"name": name, "select": "SELECT room FROM rooms"}
        )
        assert refused.status_code == 400
        assert f"'{name}'" in refused.json()["detail"]
        assert "line" not in refused.json()
