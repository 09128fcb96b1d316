"""Charts over time."""

from __future__ import annotations

from typing import Any, Literal

from nicegui.element import Element

from penstock.web.parts import ui_modules  # noqa: F401  (what the components import in the browser)

Unit = Literal["latency", "memory", "share", "rate"]
#: Seconds that a chart goes back.
SPAN_S = 240.0


class TimeChart(Element, component="../js/time_chart.js"):
    """Lines over the last minutes, one a series.

    `initial` and `news` are of one form, any part of which may be left out:

        {"at": now in seconds,                      the right edge
         "series": {name: [[at_s, value], …]},      points that came; None: nothing is known
         "marks": [[at_s, text], …],                moments to be seen as vertical lines
         "limit": value or None,                    a dashed line
         "gone": [name, …]}                         series that are shown no more

    What was told before may be told again. `heading` is below that of what is around it.
    """

    def __init__(
        self,
        title: str,
        unit: Unit,
        initial: dict[str, Any],
        *,
        span_s: float = SPAN_S,
        heading: Literal["h2", "h3"] = "h3",
    ) -> None:
        super().__init__()
        self._props.update(title=title, unit=unit, initial=initial, span=span_s, heading=heading)

    def take(self, news: dict[str, Any]) -> None:
        """Points and marks that came."""
        self.run_method("take", news)
