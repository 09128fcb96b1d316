"""Policies by name."""

from __future__ import annotations

import pytest

from penstock.errors import PolicyError
from penstock.policies.parsing import MAKERS, parse
from penstock.policies.ranks.freshness import Freshness


@pytest.mark.parametrize("name", MAKERS)
def test_a_name_alone_is_a_policy(name: str) -> None:
    assert parse(name).text == name


def test_parameters_stand_in_brackets() -> None:
    policy = parse(" fas-mcq( beta = 0.25 ) ")
    assert policy.rank == Freshness(0.25)
    assert parse(policy.text) == policy


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fas-mq", "no policy 'fas-mq'. Did you mean 'fas-mcq'? There are: round-robin"),
        ("", "'' is not a policy; write a name, or a name(parameter=value, …)"),
        ("chain flush", "'chain flush' is not a policy"),
        ("fas-mcq(beta=2)", "policy 'fas-mcq': beta = 2 is wrong: input should be less than or equal to 1"),
        (
            "fas-mcq(beta=-0.1)",
            "policy 'fas-mcq': beta = -0.1 is wrong: input should be greater than or equal to 0",
        ),
        (
            "fas-mcq(bta=1)",
            "policy 'fas-mcq' has no parameter 'bta'. Did you mean 'beta'? It takes: beta, popularity, rows",
        ),
        (
            "fas-mcq(0.5)",
            "policy 'fas-mcq': '(0.5)' is not a list of parameters; write them as name=value, …",
        ),
        ("fas-mcq(beta=)", "policy 'fas-mcq': '(beta=)' is not a list of parameters"),
        ("fas-mcq(beta=open('x'))", "is not a list of parameters"),
        ("fas-mcq(beta='much')", "policy 'fas-mcq': beta = 'much' is wrong: input should be a valid number"),
        ("simplified-segment(gamma=1)", "gamma = 1 is wrong: input should be less than 1"),
        ("segment(tau=-1)", "tau = -1 is wrong"),
        ("segment(tau=1.5)", "tau = 1.5 is wrong"),
        ("chain-flush(limit_s=0)", "limit_s = 0 is wrong: input should be greater than 0"),
        ("round-robin(rows=0)", "rows = 0 is wrong"),
        ("round-robin(seconds=0)", "seconds = 0 is wrong"),
        ("weighted-round-robin(weights={'join': 0})", "weights = 0 is wrong"),
        ("mss(objective='both')", "objective = 'both' is wrong: input should be 'latency' or 'memory'"),
        ("random(seed=-1)", "seed = -1 is wrong"),
    ],
)
def test_a_mistake_gets_one_clear_error(text: str, says: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse(text)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
