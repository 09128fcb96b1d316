"""Cuts by name, and which of them a policy can be set with: `fcfs(cut=chain)`.

Any cut is right for any graph (`layout.check_cut`), and results never depend on it. What a cut has to fit is
the rank: an equation that is about paths says nothing of half a path, and Chain lets no row flow on directly
from one segment of its envelope to the next (PIPES 2007, 4.2). A policy's section `Cuts` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field

from penstock.policies.cuts.base import Cutter
from penstock.policies.cuts.chain import ChainCut
from penstock.policies.cuts.composition import CompositionCut
from penstock.policies.cuts.fused import FusedCut
from penstock.policies.cuts.latency_chart import LatencyChartCut
from penstock.policies.cuts.memory_chart import MemoryChartCut
from penstock.policies.cuts.operator import OperatorCut
from penstock.policies.cuts.path import PathCut
from penstock.policies.cuts.segment import SegmentCut
from penstock.policies.cuts.simplified_segment import SimplifiedSegmentCut
from penstock.policies.cuts.stall_avoiding import StallAvoidingCut
from penstock.policies.forecast import Objective


class NamedCut(NamedTuple):
    """A cut, and what it is to keep small, if that depends on estimates."""

    cutter: Cutter
    objective: Objective | None = None


CUTS: Mapping[str, NamedCut] = {
    "operator": NamedCut(OperatorCut()),
    "path": NamedCut(PathCut()),
    "segment": NamedCut(SegmentCut(), "memory"),
    "simplified-segment": NamedCut(SimplifiedSegmentCut(), "memory"),
    "chain": NamedCut(ChainCut(), "memory"),
    "memory-chart": NamedCut(MemoryChartCut(), "memory"),
    "latency-chart": NamedCut(LatencyChartCut(), "latency"),
    "stall-avoiding": NamedCut(StallAvoidingCut(), "stalls"),
    "composition": NamedCut(CompositionCut()),
    "fused": NamedCut(FusedCut()),
}

_MEANING = Field(description="how the graph is divided into units")
AnyCut: TypeAlias = Annotated[
    Literal[
        "operator",
        "path",
        "segment",
        "simplified-segment",
        "chain",
        "memory-chart",
        "latency-chart",
        "stall-avoiding",
        "composition",
        "fused",
    ],
    _MEANING,
]
#: Units that go from where rows wait on to where results come out.
WholeCut: TypeAlias = Annotated[Literal["path", "fused"], _MEANING]
#: Units with a queue wherever less memory is freed from there on than before.
MemoryCut: TypeAlias = Annotated[Literal["chain", "memory-chart", "segment"], _MEANING]
#: The same, and such as free some of it in smaller or in larger steps.
ReleaseCut: TypeAlias = Annotated[
    Literal["segment", "simplified-segment", "chain", "memory-chart", "operator"], _MEANING
]
