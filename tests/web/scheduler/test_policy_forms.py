"""A policy as fields, and back into the text that the engine reads."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from penstock.model.scheduling import SCHEDULINGS
from penstock.policies.parsing import describe, parse
from penstock.policies.registry import NAMED
from penstock.web.scheduler.policy_forms import (
    CUTS,
    THREADS,
    filled_of,
    knobs,
    names_in,
    other_cuts,
    policy_text,
    usable,
)

POLICIES = {one["name"]: one for one in (asdict(describe(maker)) for maker in NAMED)}


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_as_it_is_at_first_is_its_name(name: str) -> None:
    policy = POLICIES[name]
    assert policy_text(policy, {knob.name: knob.default for knob in knobs(policy)}) == name


@pytest.mark.parametrize(
    ("name", "filled", "text"),
    [
        ("fas-mcq", {"beta": "0.25", "popularity": "True"}, "fas-mcq(beta=0.25, popularity=True)"),
        ("round-robin", {"rows": "500", "cut": "path"}, "round-robin(rows=500, cut='path')"),
        ("weighted-round-robin", {"weights": "{'join': 3}"}, "weighted-round-robin(weights={'join': 3})"),
        ("chain", {"rows": "", "fixed_cost": "False"}, "chain(fixed_cost=False)"),
    ],
)
def test_what_is_filled_in_is_read_and_shown_again(name: str, filled: dict[str, str], text: str) -> None:
    assert policy_text(POLICIES[name], filled) == text
    assert parse(text).text == text
    assert filled_of(text) == (name, {key: value for key, value in filled.items() if value})


def test_nonsense_is_left_to_the_engine_to_refuse() -> None:
    assert policy_text(POLICIES["fifo"], {"rows": "many"}) == "fifo(rows='many')"
    assert filled_of("fifo(rows=") == ("fifo", {})


def test_policies_that_only_the_simulator_can_run_are_not_offered() -> None:
    offered = usable(POLICIES.values())
    assert "mss" not in offered
    assert "chain" in offered


def test_every_thread_plan_is_offered() -> None:
    assert set(THREADS) == set(SCHEDULINGS)


def test_names_with_commas_between() -> None:
    assert names_in(" a, b ,, ") == ["a", "b"]


def test_cuts_that_fit_are_offered_and_why_others_are_not() -> None:
    cuts = {
        name: [knob.choices for knob in knobs(one) if knob.name == "cut"] for name, one in POLICIES.items()
    }
    assert [cuts["fcfs"], cuts["rate-based"], cuts["direct"]] == [[tuple(CUTS)], [("path", "fused")], []]
    assert other_cuts(POLICIES["fcfs"]) == ""
    assert other_cuts(POLICIES["rate-based"]) == (
        "Not every cut fits, but path or fused; only a unit that reaches the root puts out results."
    )
    assert other_cuts(POLICIES["stall-avoiding"]) == (
        "Its cut cannot be set apart: it is its own alone; fifo takes this one and others."
    )
