"""The papers' experiments, run from the page: one at a time, in a process of its own at the lowest priority.

    outcome     what came of a run, kept in the state directory
    child       the process that runs one
    laboratory  starts it, hears how far it is, cancels it, and keeps what came of it

Only `child` imports what draws. Start with `laboratory`.
"""
