"""A server's streams, queries and results from Python, over HTTP; `penstock.connect` makes a `Client`.

    connection       requests and their answers; what fails becomes a PenstockError
    failures         the server's problem documents as errors
    pauses           how long to wait before something is tried again
    pushing          rows as the bodies of requests, split where they are many
    server_events    the text of server-sent events, line by line
    typed_rows       rows of JSON with the types they had
    subscription     results as they come, each once, across lost connections
    documents        the server's JSON in its several forms
    answers, status, explanation   what comes back, for programs and notebooks
    administration   the methods that `Engine` does not have
    html, charts, drawing, notebook   how notebooks show it
    client           `Client`: start here

Nothing here imports Spark: a client needs no Java.
"""

from penstock.client.client import Client, connect

__all__ = ["Client", "connect"]
