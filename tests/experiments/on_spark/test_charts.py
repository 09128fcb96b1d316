"""Predicted against measured, as a picture: what its labels say."""

from __future__ import annotations

from matplotlib.figure import Figure

from penstock.experiments.on_spark.charts import scatter
from tests.experiments.on_spark.test_comparing import of_latencies


def test_the_scatter_says_the_median_error_of_each_figure_and_of_all() -> None:
    figure = Figure()
    found = {"one": of_latencies(a=([1.0], [1.5])), "other": of_latencies(a=([1.0], [1.1]), b=([2.0], [2.2]))}
    scatter(found, figure)
    latency, memory, staleness = figure.axes
    assert latency.get_legend_handles_labels()[1] == ["one: 50%", "other: 10%"]
    assert latency.get_title() == "10% in the median"
    assert memory.get_title() == staleness.get_title() == "0% in the median"


def test_what_is_nothing_has_no_place_on_it_and_makes_no_error() -> None:
    figure = Figure()
    scatter({"one": of_latencies(a=([1.0], [0.0]))}, figure)
    assert figure.axes[0].get_legend() is None
    assert figure.axes[1].get_legend_handles_labels()[1] == ["one: 0%"]
