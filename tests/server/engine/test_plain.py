"""What is told of the engine says nothing of where on the machine things are."""

from __future__ import annotations

from penstock.server.engine.plain import texts_changed


def test_texts_that_say_what_is_wrong_are_changed_and_nothing_else() -> None:
    status = {
        "streams": {"s": {"problem": "/srv/x", "failing": {"reason": "/srv/x", "tries": 1}, "rows": 2}},
        "queries": {"/srv/x": {"failure": "/srv/x", "wishes": [{"wish": "/srv/x", "cause": "/srv/x"}]}},
        "sinks": {},
    }
    assert texts_changed(status, lambda text: text.replace("/srv/", "")) == {
        "streams": {"s": {"problem": "x", "failing": {"reason": "x", "tries": 1}, "rows": 2}},
        "queries": {"/srv/x": {"failure": "x", "wishes": [{"wish": "/srv/x", "cause": "x"}]}},
        "sinks": {},
    }
