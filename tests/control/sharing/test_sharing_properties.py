"""Random runs of the sharing machine: queries come, go, fail, are held, altered, run apart, with crashes."""

from __future__ import annotations

import random

import pytest

from penstock.control.sharing import commands as do
from penstock.control.sharing import events as ev
from penstock.control.sharing.machine import Sharing
from penstock.control.sharing.records import Alter, Hold, HostRecord, Phase, Resume, Stop
from penstock.errors import ControlError
from tests.control.sharing.world import World, check_ranges

#: What may happen, and how often.
MOMENTS = (
    ("arrive", 6),
    ("step", 8),
    ("control", 10),
    ("come", 3),
    ("ask", 6),
    ("fail_members", 1),
    ("fail_host", 1),
    ("crash", 1),
)


def run(seed: int, moments: int) -> World:
    """So many random moments; the world fails at once if a query gets a row twice or misses one."""
    chance = random.Random(seed)
    world = World(chance)
    names, weights = zip(*MOMENTS, strict=True)
    for _ in range(moments):
        getattr(world, chance.choices(names, weights)[0])()
    return world


@pytest.mark.parametrize("seed", range(150))
def test_every_query_gets_its_rows_once_and_every_request_is_answered(seed: int) -> None:
    world = run(seed, 250)
    queries = len(world.sharing.book.queries)
    events = world.calm(400, resumed=1.0 if seed % 2 else 0.5)
    assert world.is_calm, (world.pending, world.sharing.book.queries, world.sharing.book.hosts)
    assert events < 100 * (queries + 5)
    for name, query in world.sharing.book.queries.items():
        check_ranges(name, world.seen[name])
        assert query.held == world.wanted[name]
        stands = query.held or query.failed is not None
        assert (query.host in world.held) == stands, (query, world.sharing.book.hosts[query.host])


def two_members() -> Sharing:
    """A shared query with two members, which has begun."""
    sharing = Sharing()
    sharing.handle(ev.Admitted({"p": "h", "q": "h"}, (HostRecord("h", "h", "a", stateful=True),)))
    sharing.handle(ev.HostStarted("h"))
    return sharing


def test_a_member_that_is_held_goes_on_in_a_host_of_its_own_which_returns_when_it_is_resumed() -> None:
    sharing = two_members()
    assert sharing.handle(ev.Asked("q", Hold())) == [
        do.PlanHost("h.1", like="h"),
        do.SubmitHost("h.1", "h", held=True),
    ]
    assert sharing.handle(ev.HostStarted("h.1")) == [do.Move("q", "h", "h.1")]
    assert sharing.handle(ev.Asked("q", Resume())) == [do.ReleaseHost("h.1")]
    assert sharing.handle(ev.HostStepped("h.1", {"s": 4})) == []
    assert sharing.handle(ev.HostStepped("h.1", {"s": 9}, caught_up=True)) == [do.StopHost("h.1", beside="h")]
    assert sharing.handle(ev.HostEnded("h.1")) == [do.Merge("h.1", "h")]
    assert sharing.queries["q"].phase is Phase.running


def test_a_member_that_is_held_before_it_begins_is_split_off_when_it_does() -> None:
    sharing = Sharing()
    sharing.handle(ev.Admitted({"p": "h", "q": "h"}, (HostRecord("h", "h", "a"),)))
    assert sharing.handle(ev.Asked("q", Hold())) == []
    assert sharing.handle(ev.HostStarted("h"))[-1] == do.SubmitHost("h.1", "h", held=True)


def test_the_others_wait_until_a_member_that_failed_has_a_host_of_its_own() -> None:
    sharing = two_members()
    assert sharing.handle(ev.MembersFailed("h", ("q",))) == [
        do.SuspendHost("h"),
        do.PlanHost("h.1", like="h"),
        do.SubmitHost("h.1", "h", held=True),
    ]
    assert sharing.handle(ev.HostStarted("h.1")) == [do.Move("q", "h", "h.1"), do.ReleaseHost("h")]


def test_a_query_that_fails_while_it_is_altered_can_be_stopped() -> None:
    sharing = Sharing()
    sharing.handle(ev.Admitted({"q": "q"}, (HostRecord("q", "q"),)))
    sharing.handle(ev.HostStarted("q"))
    altered = sharing.handle(ev.Asked("q", Alter(1, "a")))
    assert altered[-1] == do.SubmitHost("shape-a", "q", replacing=True)
    assert sharing.handle(ev.HostFailed("q")) == [do.Withdraw("shape-a")]
    assert sharing.handle(ev.Asked("q", Stop(drain=True))) == [do.StopHost("q")]
    assert sharing.handle(ev.HostEnded("q")) == [do.Leave("q", "q", drain=False)]
    assert not sharing.queries


def test_what_was_under_way_is_asked_for_again_after_a_crash() -> None:
    sharing = two_members()
    sharing.handle(ev.Asked("q", Hold()))
    sharing.handle(ev.Asked("p", Stop(drain=True)))
    again = Sharing()
    queries, hosts = tuple(sharing.queries.values()), tuple(sharing.hosts.values())
    assert again.handle(ev.Restored(queries, hosts)) == [
        do.SubmitHost("h.1", "h", held=True),
        do.SuspendHost("h.1"),
        do.SettleHost("h"),
    ]
    with pytest.raises(ControlError, match="must be its first event"):
        again.handle(ev.Restored(queries, hosts))


def test_nothing_can_be_asked_of_a_query_that_there_is_not() -> None:
    with pytest.raises(ControlError, match="no query 'x' runs"):
        Sharing().handle(ev.Asked("x", Hold()))
