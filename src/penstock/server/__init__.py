"""The server: Penstock as a team operates it, over HTTP, for months.

Three processes. The supervisor starts the two others and starts them again when they end. The engine process
has the `Engine` and Spark. The HTTP process answers clients: it parses, checks who may do what, encodes and
decodes, and reads committed results from files; so a hundred clients take no time from the scheduler. Between
the last two is a Unix socket.

    channel     what crosses the socket, and both of its ends
    engine      the engine process: what the other side can ask of an `Engine`
    committed   results that are committed, read by another process, by position
    security    tokens, roles, namespaces, quotas, audit
    experiments the papers' experiments, run from the page in a process beside it
    http        the HTTP process: the API
    config      `penstock.toml`
    supervision, processes
                which child is started when (a machine without I/O), and the real processes

Nothing here decides what runs when: that is `control`. `http`, `committed` and `security` never import
pyspark. Start with `http/app.py`, then `engine/service.py`.
"""
