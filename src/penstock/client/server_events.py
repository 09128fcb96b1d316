"""The text of server-sent events, line by line (WHATWG HTML, 9.2.6).

An event counts when the empty line behind it has come: one that was cut off never was.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its kind, what it says, and the position it stands for."""

    kind: str
    data: str
    id: str


class EventReader:
    """Makes events of lines."""

    def __init__(self) -> None:
        self._clear()
        self._id = ""

    def _clear(self) -> None:
        self._kind, self._data = "", list[str]()

    def line(self, line: str) -> ServerEvent | None:
        """Takes a line without its end; the event that it completes, if it does."""
        if not line:
            kind, data = self._kind or "message", "\n".join(self._data)
            complete = bool(self._data)
            self._clear()
            return ServerEvent(kind, data, self._id) if complete else None
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "event":
                self._kind = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
        return None
