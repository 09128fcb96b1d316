"""A statement that is typed at the prompt goes on until its `;`."""

from __future__ import annotations

import pytest

from penstock.commands.shell import is_unfinished


@pytest.mark.parametrize(
    ("text", "unfinished"),
    [
        ("SHOW STREAMS", True),
        ("SHOW STREAMS;", False),
        ("SHOW STREAMS; -- all", False),
        ("SHOW STREAMS; SHOW", True),
        ("\\d", False),
        ("", False),
        ("SELECT ';", True),
    ],
)
def test_enter_goes_on_until_the_statement_ends(text: str, unfinished: bool) -> None:
    assert is_unfinished(text) == unfinished
