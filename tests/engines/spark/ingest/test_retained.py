"""Batches that wait for the first query of their stream: in order, without a gap, until they expire."""

from __future__ import annotations

import random

import pytest

from penstock.engines.spark.ingest.retained import Kept, Retained
from penstock.model.batch import Batch


def kept(stream: str, n: int, until_s: float) -> Kept:
    return Kept(n, Batch(1, 1.0, 0.0, 0.0, 0.0, stream, n, n + 1), until_s)


@pytest.mark.parametrize("seed", range(50))
def test_each_batch_is_taken_once_in_order_and_expires_no_sooner_than_it_may(seed: int) -> None:
    draw = random.Random(seed)
    retained, now_s = Retained(), 0.0
    logged = {"a": 0, "b": 0, "c": 0}
    gone = dict.fromkeys(logged, 0)
    until: dict[tuple[str, int], float] = {}
    for _ in range(300):
        now_s += draw.random()
        stream = draw.choice(list(logged))
        match draw.choice(["keep", "keep", "expire", "take"]):
            case "keep":
                more = []
                for _ in range(draw.randint(0, 3)):
                    more.append(kept(stream, logged[stream], now_s + 10 * draw.random()))
                    until[stream, logged[stream]] = more[-1].until_s
                    logged[stream] += 1
                retained.keep(stream, more)
            case "expire":
                for name, found in retained.take_expired(now_s).items():
                    assert [one.n for one in found] == list(range(gone[name], gone[name] + len(found)))
                    assert found
                    assert all(one.until_s <= now_s for one in found)
                    gone[name] += len(found)
                assert all(until[name, gone[name]] > now_s for name in retained)
                assert retained.next_s > now_s
            case "take":
                found = retained.take(stream)
                assert [one.n for one in found] == list(range(gone[stream], logged[stream]))
                gone[stream] = logged[stream]
        assert {name for name in logged if gone[name] < logged[name]} == set(retained)
        for name in retained:
            assert name in retained
            assert retained.first(name).n == gone[name]
        fronts = [until[name, gone[name]] for name in retained]
        assert retained.next_s == min(fronts, default=float("inf"))
