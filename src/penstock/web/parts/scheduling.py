"""Components of the scheduler's page."""

from __future__ import annotations

from typing import Any

from nicegui.element import Element

from penstock.web.parts import ui_modules  # noqa: F401  (what the components import in the browser)
from penstock.web.scheduler.control_sentences import KINDS, ControlLog


class OperatorTable(Element, component="../js/operator_table.js"):
    """Operators by measured cost; `take` gives it what is new."""

    def __init__(self, initial: dict[str, Any]) -> None:
        super().__init__()
        self._props["initial"] = initial

    def take(self, news: dict[str, Any]) -> None:
        """Rows that changed, names that went."""
        self.run_method("take", news)


class ControlEvents(Element, component="../js/control_log.js"):
    """The event log in sentences."""

    def __init__(self) -> None:
        super().__init__()
        self._props["kinds"] = list(KINDS)

    def take(self, log: ControlLog) -> None:
        """Another excerpt in place of what is shown."""
        sentences = [[one.at_s, one.kind, one.text] for one in log.sentences]
        self.run_method("take", {"sentences": sentences, "counts": log.counts})
