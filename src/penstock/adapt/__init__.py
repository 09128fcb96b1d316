"""Watching and adapting: `monitor` fits estimates to what steps report. It decides nothing itself."""
