"""Cuts: how the graph is divided into units, one way per file.

A cut is a function of the graph and the estimates; `layout.lay_out` says what it means. `base` has the
protocol and the walks over the graph they share, `charts` the chart partitioning that Chain and Stream
Mill's two cuts are cases of. Start with `operator`, then `segment`.
"""
