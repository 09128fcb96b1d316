"""Penstock: many continuous queries on one Apache Spark, each with the service its owner asked for.

The packages below are layers; each imports only those above it in this list (a test enforces it):

    errors          the exception tree
    model           what there is: schemas, operators, plans, graph, QoS, batches, estimates
    plan            what is done to plans: validation, sharing, plan JSON
    policies        what decides: cuts, ranks and their named combinations
    control         the state machine between events and commands; no I/O, no clock, no threads
    engines.sim     executes control's commands in virtual time
    experiments     the papers' figures
    bench           measurements of Penstock itself
    cli             the `penstock` command

Start with `docs/concepts.md`, then `control/machine.py`.
"""

__version__ = "0.1.0"
