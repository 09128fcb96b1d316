"""The experiments that run on Spark, by id."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import ExperimentError
from penstock.experiments import catalogue
from penstock.experiments.on_spark import (
    aqsios,
    mavstream,
    pipes_decoupling,
    pipes_direct,
    pipes_stall,
    streamapas,
)
from penstock.experiments.on_spark.sweeping import Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    "mavstream-latency": mavstream.latency,
    "mavstream-memory": mavstream.memory,
    "mavstream-throughput": mavstream.throughput,
    "mavstream-burst": mavstream.burst,
    "hmts-decoupling": pipes_decoupling.decoupling,
    "hmts-di": pipes_direct.direct,
    "hmts-queries": pipes_direct.queries,
    "hmts-vs-gts": pipes_stall.hybrid_against_graph,
    "apas-workers": streamapas.workers,
    "apas-scale": streamapas.scale,
    "fas-utilization": aqsios.utilization,
    "fas-tradeoff": aqsios.tradeoff,
}


def find(id_: str) -> Experiment:
    """The experiment of that id on Spark."""
    if id_ not in EXPERIMENTS:
        catalogue.find(id_)
        known = ", ".join(EXPERIMENTS)
        raise ExperimentError(
            f"'{id_}' is not run on Spark; leave out --engine, or choose one of: {known}, all"
        )
    return EXPERIMENTS[id_]
