"""Components of the pages about streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui.element import Element

from penstock.web.parts import ui_modules  # noqa: F401  (what the components import in the browser)
from penstock.web.streams.new_streams import TYPES, holds_for
from penstock.web.streams.uploads import MOST_BYTES

Asked = Callable[[dict[str, Any]], Any]


class StreamBoard(Element, component="../js/stream_board.js"):
    """All streams; `rate` hears which one is to bring how many rows a second."""

    def __init__(self, initial: dict[str, Any], rate: Asked, *, forbidden: str) -> None:
        super().__init__()
        self._props.update(initial=initial, may=not forbidden, why=forbidden)
        self.on("rate", lambda event: rate(event.args))

    def take(self, news: dict[str, Any]) -> None:
        """Rows that changed, rates that came, names that went."""
        self.run_method("take", news)


class RateSlider(Element, component="../js/rate_slider.js"):
    """The rate of one stream."""

    def __init__(self, label: str, per_s: float | None, rate: Asked, *, disabled: bool) -> None:
        super().__init__()
        self._props.update(label=label, initial=per_s, disabled=disabled)
        self.on("rate", lambda event: rate(event.args))

    def take(self, per_s: float | None) -> None:
        """What the rate is now."""
        self.run_method("take", per_s)


class FilePicker(Element, component="../js/file_picker.js"):
    """Sends a file to an address in parts; `sent` hears its name and size."""

    def __init__(
        self, label: str, hint: str, target: str, part_bytes: int, sent: Asked, *, disabled: bool
    ) -> None:
        super().__init__()
        self._props.update(
            label=label,
            hint=hint,
            accept=".csv,.json,.jsonl,.ndjson,.parquet,.txt",
            target=target,
            part=part_bytes,
            most=MOST_BYTES,
            disabled=disabled,
        )
        self.on("sent", lambda event: sent(event.args))


class ColumnEditor(Element, component="../js/column_editor.js"):
    """The columns of a stream to be; `changed` hears all of them. A file's are `fixed`: taken or not."""

    def __init__(
        self, columns: list[dict[str, Any]], changed: Callable[[list[dict[str, Any]]], Any], *, fixed: bool
    ) -> None:
        super().__init__()
        hints = {one.lower().partition("(")[0]: holds_for(one) for one in TYPES}
        self._props.update(initial=columns, types=list(TYPES), hints=hints, fixed=fixed, made=False)
        self.on("changed", lambda event: changed(event.args))

    def ask_what_they_hold(self, wanted: bool) -> None:
        """Whether rows are made up."""
        if self._props["made"] != wanted:
            self._props["made"] = wanted
            self.update()
