"""The Spark engine: executes control's commands as Spark jobs, exactly once.

Its rooms, each of which imports only those before it (`tests/test_layers.py`):

    session     the Spark session
    storage     tables as files, and the commit log
    operators   what each operator is as SQL, and what it remembers
    ingest      how rows come in
    steps       one unit over one train of batches, as Spark jobs
    sharing     queries that run as one
    results     from a step to whoever wants them
    runtime     the thread that decides and commits, workers, going on after a crash
    statements  what SQL asks for becomes plans, sources and sinks
    status      how everything stands
    engine      what people use

`failing`, what fails by itself and is tried again, is for all of them. Start with `engine`, then `runtime`.
"""
