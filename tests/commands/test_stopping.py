"""Ctrl-C and SIGTERM while Spark computes: a word, and nothing of what broke off."""

from __future__ import annotations

import logging
import os
import signal
import sys
from io import StringIO

import pytest
from rich.console import Console

from penstock.commands.stopping import stopped_quietly


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_a_signal_breaks_off_is_told_in_a_word(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    disabled: list[int] = []
    monkeypatch.setattr(logging, "disable", disabled.append)
    errors, before, said = sys.stderr, signal.getsignal(number), StringIO()

    def verify() -> None:
        try:
            os.kill(os.getpid(), number)
        finally:
            print("Exception occurred during processing of request", file=sys.stderr)
            raise ConnectionRefusedError("the Spark that was to be stopped is gone")

    with pytest.raises(KeyboardInterrupt) as found, stopped_quietly(Console(file=said)):
        verify()
    assert found.value.__suppress_context__
    assert not capsys.readouterr().err
    assert said.getvalue() == "stopped\n"
    assert disabled == [logging.CRITICAL]
    assert signal.getsignal(number) is before
    assert sys.stderr is errors


def test_an_error_that_nobody_asked_for_stays_one() -> None:
    said = StringIO()
    with pytest.raises(ConnectionRefusedError), stopped_quietly(Console(file=said)):
        raise ConnectionRefusedError
    assert not said.getvalue()
