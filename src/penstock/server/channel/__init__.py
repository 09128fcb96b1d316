"""The channel between the HTTP process and the engine process: frames over a Unix socket.

`frames` says what crosses it, `host` is the engine's end (threads), `link` the HTTP process' (asyncio). ADR
19 has why it is a socket and not Arrow Flight. Not here: what can be asked (`server.engine.service`).
"""
