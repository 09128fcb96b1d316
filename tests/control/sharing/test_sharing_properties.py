"""Random runs of the sharing machine: queries come, go, fail, are held, altered, run apart, with crashes."""

from __future__ import annotations

import random

import pytest

from penstock.control.sharing import commands as do
from penstock.control.sharing import events as ev
from penstock.control.sharing.machine import Sharing
from penstock.control.sharing.records import (
    Alter,
    Hold,
    HostRecord,
    Phase,
    Resume,
    RunApart,
    ShapeFacts,
    Stop,
)
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
        if query.phase is Phase.running and not query.asked:
            assert world.seen[name].definition == world.altered.get(name, 0)
        stands = query.held or query.failed is not None
        assert (query.host in world.held) == stands, (query, world.sharing.book.hosts[query.host])


@pytest.mark.parametrize("seed", range(2))
def test_two_thousand_queries_come_and_go(seed: int) -> None:
    """What is looked for after every event in the runs above would take most of the time here."""
    chance = random.Random(seed)
    world = World(chance, checked=False)
    while len(world.sharing.book.queries) < 2000:
        world.come()
    names, weights = zip(*MOMENTS, strict=True)
    for _ in range(3000):
        getattr(world, chance.choices(names, weights)[0])()
    world.calm(2000)
    assert world.is_calm
    assert not list(world.sharing.book.problems())
    for name in world.sharing.book.queries:
        check_ranges(name, world.seen[name])


SHAPE = ShapeFacts("a", stateful=True)


def two_members() -> Sharing:
    """A shared query with two members, which has begun."""
    sharing = Sharing()
    sharing.handle(ev.Admitted({"p": "h", "q": "h"}, (HostRecord("h", "h", SHAPE),)))
    sharing.handle(ev.HostStarted("h"))
    return sharing


def test_a_member_that_is_held_goes_on_in_a_host_of_its_own_which_returns_when_it_is_resumed() -> None:
    sharing = two_members()
    assert sharing.handle(ev.Asked("q", Hold())) == [
        do.PlanHost("h.1", "h", like="h"),
        do.SubmitHosts(("h.1",), "h", held=True),
    ]
    assert sharing.handle(ev.HostStarted("h.1")) == [do.Move("q", "h", "h.1")]
    assert sharing.handle(ev.Moved("q")) == []
    assert sharing.handle(ev.Asked("q", Resume())) == [do.ReleaseHost("h.1"), do.ReportPosition("h.1")]
    assert sharing.handle(ev.HostStepped("h.1")) == []
    assert sharing.handle(ev.HostStepped("h.1", caught_up=True)) == [do.StopHost("h.1", beside="h")]
    assert sharing.handle(ev.HostLeaving("h.1")) == [do.Merge("h.1", "h")]
    assert sharing.handle(ev.HostEnded("h.1")) == []
    assert sharing.book.queries["q"].phase is Phase.running


def test_a_member_that_is_held_before_it_begins_is_split_off_when_it_does() -> None:
    sharing = Sharing()
    sharing.handle(ev.Admitted({"p": "h", "q": "h"}, (HostRecord("h", "h", SHAPE),)))
    assert sharing.handle(ev.Asked("q", Hold())) == []
    assert sharing.handle(ev.HostStarted("h"))[-1] == do.SubmitHosts(("h.1",), "h", held=True)


def test_the_others_wait_until_a_member_that_failed_has_a_host_of_its_own() -> None:
    sharing = two_members()
    assert sharing.handle(ev.MembersFailed("h", {"q": "why"})) == [
        do.PlanHost("h.1", "h", like="h"),
        do.SubmitHosts(("h.1",), "h", held=True),
    ]
    assert sharing.handle(ev.HostStarted("h.1")) == [do.Move("q", "h", "h.1")]
    assert sharing.handle(ev.Moved("q")) == [do.ReleaseHost("h")]
    assert sharing.book.queries["q"].failed == "why"


def test_what_cannot_be_moved_is_tried_again_after_a_while() -> None:
    sharing = two_members()
    sharing.handle(ev.MembersFailed("h", {"q": "why"}))
    sharing.handle(ev.HostStarted("h.1"))
    assert sharing.handle(ev.MoveFailed("q")) == [do.TryLater("q"), do.StopHost("h.1")]
    assert sharing.book.hosts["h"].held
    assert sharing.handle(ev.TimeToTry("q"))[-1] == do.SubmitHosts(("h.2",), "h", held=True)


def test_a_query_that_fails_while_it_is_altered_can_be_stopped() -> None:
    sharing = Sharing()
    sharing.handle(ev.Admitted({"q": "q"}, (HostRecord("q", "q"),)))
    sharing.handle(ev.HostStarted("q"))
    altered = sharing.handle(ev.Asked("q", Alter(1, SHAPE)))
    assert altered[-1] == do.SubmitHosts(("shape-a",), "q", replacing=True)
    assert sharing.handle(ev.HostFailed("q", "why"))[:2] == [do.Withdraw("shape-a"), do.ForgetHost("shape-a")]
    assert sharing.handle(ev.Asked("q", Stop(drain=True)))[-1] == do.StopHost("q")
    assert sharing.handle(ev.HostLeaving("q")) == []
    assert sharing.handle(ev.HostEnded("q")) == [do.Leave("q", "q", drain=False)]
    assert not sharing.book.queries


def test_a_query_that_is_to_stop_is_not_held_or_resumed_any_more() -> None:
    """Although it is still being altered, and so has not stopped yet."""
    sharing = two_members()
    assert sharing.handle(ev.Asked("q", Alter(1, SHAPE))) == [do.SettleHost("h", "q")]
    assert sharing.handle(ev.Asked("q", Stop(drain=False))) == []
    assert sharing.handle(ev.Asked("q", Hold())) == []
    assert not sharing.book.queries["q"].held
    assert sharing.handle(ev.HostSettled("h", "q")) == [
        do.Become("q", "h", "h", 1, drain=True),
        do.SettleHost("h", "q"),
    ]
    assert sharing.handle(ev.HostSettled("h", "q")) == [do.Leave("q", "h", drain=False)]


def test_a_member_that_fails_while_it_is_to_stop_leaves_where_it_stands() -> None:
    sharing = two_members()
    assert sharing.handle(ev.Asked("q", Stop(drain=True))) == [do.SettleHost("h", "q")]
    assert sharing.handle(ev.MembersFailed("h", {"q": "why"})) == [
        do.WithdrawSettling("h", "q"),
        do.SettleHost("h", "q", as_it_stands=True),
    ]
    assert sharing.handle(ev.HostSettled("h", "q")) == [
        do.Leave("q", "h", drain=False),
        do.ReleaseHost("h"),
    ]


def test_who_runs_apart_by_wish_stays_apart_when_it_is_resumed_without_need() -> None:
    sharing = two_members()
    sharing.handle(ev.Asked("q", RunApart(apart=True)))
    sharing.handle(ev.HostStarted("h.1"))
    sharing.handle(ev.Moved("q"))
    assert sharing.handle(ev.Asked("q", Resume())) == []
    assert sharing.runs_apart("q")


def test_nobody_returns_to_a_host_that_never_begins() -> None:
    """An alteration was to begin it, another query of its shape began meanwhile beside it, and it failed."""
    sharing = two_members()
    sharing.handle(ev.Asked("q", Alter(1, ShapeFacts("b"))))
    new = HostRecord("shape-b.1", "shape-b", ShapeFacts("b"), returns=True)
    sharing.handle(ev.Admitted({"r": "shape-b.1"}, (new,)))
    sharing.handle(ev.MembersFailed("h", {"q": "why"}))
    assert "shape-b" not in sharing.book.hosts
    assert not sharing.book.hosts["shape-b.1"].returns


def test_nobody_joins_a_host_that_waits_for_another_to_come_to_stand() -> None:
    sharing = two_members()
    sharing.handle(ev.Asked("q", Alter(1, ShapeFacts("b"))))
    assert not sharing.takes_in(sharing.book.hosts["shape-b"])
    sharing.handle(ev.HostStarted("shape-b"))
    assert sharing.takes_in(sharing.book.hosts["shape-b"])


def test_what_was_under_way_is_asked_for_again_after_a_crash() -> None:
    sharing = two_members()
    sharing.handle(ev.Asked("q", Hold()))
    sharing.handle(ev.Asked("p", Stop(drain=True)))
    again = Sharing()
    queries, hosts = tuple(sharing.book.queries.values()), tuple(sharing.book.hosts.values())
    assert again.handle(ev.Restored(queries, hosts)) == [
        do.SubmitHosts(("h.1",), "h", held=True),
        do.SettleHost("h", "p"),
    ]
    with pytest.raises(ControlError, match="must be its first event"):
        again.handle(ev.Restored(queries, hosts))


def test_only_records_that_an_event_has_changed_need_be_written() -> None:
    sharing = two_members()
    sharing.handle(ev.Asked("q", Hold()))
    assert sharing.book.changed_queries.keys() == {"q"}
    assert sharing.book.changed_hosts.keys() == {"h", "h.1"}


def test_nothing_can_be_asked_of_a_query_that_there_is_not() -> None:
    with pytest.raises(ControlError, match="no query 'x' runs"):
        Sharing().handle(ev.Asked("x", Hold()))
