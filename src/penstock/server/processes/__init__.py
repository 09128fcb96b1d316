"""The server's real processes: they are started, heard of and stopped as `supervision` says.

    children  does what `supervision` says, and tells it what happens
    port      the port that the HTTP process is given, and the address that clients find
    server    a server as `penstock serve` runs it
    beside    an HTTP process beside an engine of this process, as `penstock demo` has it

Start with `server`.
"""
