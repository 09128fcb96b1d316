"""The engine process: an `Engine`, and what the HTTP process can ask of it.

`service` answers requests, `plain` makes plain data of what the engine says, `process` is the process itself:
it opens the state, listens, and ends when it is told to or when its supervisor has gone. Names are full ones
here (`team.orders`); who may ask for what was decided before a request came (`server.security`).
"""
