"""All experiments by id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from penstock.errors import ExperimentError, closest
from penstock.experiments import aqsios, mavstream, pipes, pipes_direct, stream_mill, streamapas
from penstock.experiments.report import Report, Settings

Experiment: TypeAlias = Callable[[Settings], Report]

EXPERIMENTS: Mapping[str, Experiment] = {
    "mavstream-latency": mavstream.latency,
    "mavstream-memory": mavstream.memory,
    "mavstream-throughput": mavstream.throughput,
    "mavstream-burst": mavstream.burst,
    "hmts-decoupling": pipes.decoupling,
    "hmts-di": pipes_direct.direct,
    "hmts-queries": pipes_direct.queries,
    "hmts-vs-gts": pipes.hybrid_against_graph,
    "hmts-vo": pipes.virtual_operators,
    "mss-latency": stream_mill.latency,
    "mss-memory": stream_mill.memory,
    "apas-workers": streamapas.workers,
    "apas-scale": streamapas.scale,
    "apas-buffers": streamapas.buffers,
    "apas-transport": streamapas.transport,
    "apas-composed": streamapas.composed,
    "fas-utilization": aqsios.utilization,
    "fas-tradeoff": aqsios.tradeoff,
    "fas-skew": aqsios.skew,
    "fas-bursts": aqsios.bursts,
    "fas-trace": aqsios.trace,
}


def find(id_: str) -> Experiment:
    """The experiment of that id."""
    if id_ not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise ExperimentError(f"no experiment '{id_}'.{closest(id_, EXPERIMENTS)} There are: {known}, all")
    return EXPERIMENTS[id_]
