"""Every cut, rank and named policy documents itself in fixed sections; the manual is made of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

from penstock.policies import cuts, ranks
from penstock.policies.parsing import describe, name_of, sections
from penstock.policies.ranks.base import Rank
from penstock.policies.registry import NAMED

ROOT = Path(__file__).parents[2]


def classes(package: object, suffix: str) -> list[type]:
    found = []
    for module in pkgutil.iter_modules(package.__path__):  # type: ignore[attr-defined]
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")  # type: ignore[attr-defined]
        for _, one in inspect.getmembers(loaded, inspect.isclass):
            own = one.__module__ == loaded.__name__ and not one.__name__.startswith("_")
            if own and (
                (suffix and one.__name__.endswith(suffix))
                or (not suffix and issubclass(one, Rank) and one is not Rank)
            ):
                found.append(one)
    return found


CUTS = classes(cuts, "Cut")
RANKS = classes(ranks, "")
SECTIONS = ["Paper", "Equation", "Reads", "Use when", "Avoid when", "Cost"]


def test_there_are_as_many_as_the_papers_have() -> None:
    assert len(CUTS) == 10
    assert len(RANKS) == 14
    assert len(NAMED) == 19


@pytest.mark.parametrize("documented", CUTS + RANKS, ids=lambda one: one.__name__)
def test_a_cut_or_rank_has_all_sections(documented: type) -> None:
    summary, found = sections(documented)
    assert list(found) == SECTIONS
    assert summary.endswith(".")
    assert ": " in summary


@pytest.mark.parametrize("rank", RANKS, ids=lambda one: one.__name__)
def test_a_rank_says_that_it_reads_what_it_declares(rank: type[Rank]) -> None:
    assert set(sections(rank)[1]["Reads"].split(", ")) == set(rank.reads)


@pytest.mark.parametrize("maker", NAMED, ids=name_of)
def test_a_named_policy_is_described_with_all_its_parameters(maker: object) -> None:
    described = describe(maker)  # type: ignore[arg-type]
    assert all(
        [described.summary, described.paper, described.equation, described.use_when, described.avoid_when]
    )
    assert all(parameter.meaning for parameter in described.parameters)


def test_the_manual_is_up_to_date() -> None:
    from penstock.cli import _manual

    page = (ROOT / "docs/policies.md").read_text("utf-8")
    assert page == _manual([describe(maker) for maker in NAMED]), "run `make docs`"
