"""Batches that are kept for queries to come: in order, without a gap, until they expire."""

from __future__ import annotations

import random

import pytest

from penstock.engines.spark.ingest.retained import Kept, Retained
from penstock.model.batch import Batch


def kept(stream: str, n: int, until_s: float) -> Kept:
    return Kept(n, Batch(1, 1.0, 0.0, 0.0, 0.0, stream, n, n + 1), until_s)


@pytest.mark.parametrize("seed", range(50))
def test_each_batch_is_kept_in_order_and_goes_no_sooner_than_it_may(seed: int) -> None:
    draw = random.Random(seed)
    retained, now_s = Retained(), 0.0
    logged = {"a": 0, "b": 0, "c": 0}
    gone = dict.fromkeys(logged, 0)
    until: dict[tuple[str, int], float] = {}
    for _ in range(300):
        now_s += draw.random()
        stream = draw.choice(list(logged))
        match draw.choice(["keep", "keep", "expire", "drop"]):
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
            case "drop":
                found = retained.of(stream)
                assert [one.n for one in found] == list(range(gone[stream], logged[stream]))
                since = draw.randint(0, logged[stream])
                assert retained.of(stream, since) == [one for one in found if one.n >= since]
                assert retained.drop(stream) == bool(found)
                gone[stream] = logged[stream]
        assert {name for name in logged if gone[name] < logged[name]} == set(retained)
        for name in retained:
            assert name in retained
            assert retained.first(name).n == gone[name]
        fronts = [until[name, gone[name]] for name in retained]
        assert retained.next_s == min(fronts, default=float("inf"))
