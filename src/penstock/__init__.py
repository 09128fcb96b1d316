"""Penstock: many continuous queries on one Apache Spark, each with the service its owner asked for.

    import penstock as ps

    with ps.Engine() as engine:
        engine.execute(sql)
        engine.run()
        table = engine.results("hot_rooms")

    with ps.connect("http://127.0.0.1:8642") as client:  # the same of a server that runs
        table = client.results("hot_rooms")

The packages below are layers; each imports only those above it in this list (a test enforces it):

    errors          the exception tree
    model           what there is: schemas, operators, plans, graph, QoS, batches, estimates
    sql             SQL text becomes plans
    oracle          SQL text becomes the same question to plain Spark
    plan            what is done to plans: validation, alternates, sharing, plan JSON
    policies        what decides: cuts, ranks and their named combinations
    explain         how queries would run
    control         the state machine between events and commands; no I/O, no clock, no threads
    engines.sim     executes control's commands in virtual time
    adapt           what steps cost, fitted while they run
    engines.spark   executes control's commands as Spark jobs, exactly once
    verify          holds results against plain Spark
    experiments     the papers' figures
    bench           measurements of Penstock itself
    server          an engine for many clients: processes, the HTTP API, who may do what
    client          a server's streams, queries and results from Python
    commands        what the longer commands do
    cli             the `penstock` command

Start with `docs/concepts.md`, then `control/machine.py`.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

#: What people use, and where it lives: imported when first asked for, so that `import penstock` is quick.
_PUBLIC = {
    "Engine": "penstock.engines.spark.engine",
    "PenstockError": "penstock.errors",
    "connect": "penstock.client.client",
    "stream": "penstock.sql.builder",
}
__all__ = ["Engine", "PenstockError", "__version__", "connect", "stream"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'penstock' has no attribute '{name}'")
    return getattr(import_module(_PUBLIC[name]), name)
