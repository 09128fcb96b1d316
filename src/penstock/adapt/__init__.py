"""Watching and adapting: `monitor` fits estimates to what steps report and samples find.

`observations` is what it is told, `fits` how numbers follow it; `budget` decides which samples are taken.
"""
