"""The options of a stream or table: read by name, checked, and complained about in one way.

Who builds a source asks for each option it knows; `finish` then refuses those that nobody asked for, so
that a misspelt option is an error and not a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path

from penstock.errors import SourceError, closest
from penstock.sql.text.quantities import per_second, seconds

#: Options that ingest and the planner read; every source lets them pass.
OURS = frozenset({"clock", "endless", "idle", "retention"})


class Options:
    """What stands in OPTIONS (…) of one stream or table."""

    def __init__(self, owner: str, options: Mapping[str, str], base_dir: Path) -> None:
        self.owner, self.base_dir = owner, base_dir
        self._given = {name.lower(): value for name, value in options.items()}
        self._asked: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether it is given; counts as asked for."""
        self._asked.add(name)
        return name in self._given

    def text(self, name: str, default: str) -> str:
        """The text of an option."""
        return self._given[name] if self.has(name) else default

    def needed(self, name: str, what: str) -> str:
        """The text of an option that must be there; `what` says what to give."""
        if not self.text(name, ""):
            raise self.error(name, f"it is missing; give {what}")
        return self._given[name]

    def flag(self, name: str, default: bool) -> bool:
        """`true` or `false`."""
        text = self.text(name, str(default)).lower()
        if text not in ("true", "false"):
            raise self.error(name, f"'{text}' is neither 'true' nor 'false'")
        return text == "true"

    def whole(self, name: str, default: int, least: int = 0) -> int:
        """A whole number."""
        text = self.text(name, str(default))
        try:
            value = int(text)
        except ValueError:
            raise self.error(name, f"'{text}' is no whole number") from None
        if value < least:
            raise self.error(name, f"it is {value} and must be at least {least}")
        return value

    def number(self, name: str, default: float) -> float:
        """A number above zero."""
        text = self.text(name, str(default))
        try:
            value = float(text)
        except ValueError:
            raise self.error(name, f"'{text}' is no number") from None
        if not (isfinite(value) and value > 0):
            raise self.error(name, f"it is {text} and must be more than 0 and finite")
        return value

    def rate(self, name: str, text: str, zero: bool = False) -> float:
        """Rows per second; `text` is the option or a part of it."""
        try:
            value = per_second(text)
        except ValueError as problem:
            raise self.error(name, str(problem)) from None
        if not isfinite(value) or value < 0 or (value == 0 and not zero):
            raise self.error(name, f"the rate '{text.strip()}' must be more than 0 and finite")
        return value

    def seconds(self, name: str, text: str) -> float:
        """A duration; `text` is the option or a part of it."""
        try:
            return seconds(text)
        except ValueError as problem:
            raise self.error(name, str(problem)) from None

    def check_duration(self, name: str) -> None:
        """Refuses an option that is given and is no duration above zero."""
        if self.has(name) and not 0 < self.seconds(name, self._given[name]) < float("inf"):
            raise self.error(name, f"it is '{self._given[name]}' and must be more than 0 and finite")

    def one_of(self, name: str, default: str, known: tuple[str, ...]) -> str:
        """One of a few words."""
        text = self.text(name, default).lower()
        if text not in known:
            raise self.error(name, f"there is no '{text}'; it is {' or '.join(known)}.{closest(text, known)}")
        return text

    def path(self, name: str, what: str) -> Path:
        """A path, relative to where the SQL stands."""
        return self.base_dir / Path(self.needed(name, what)).expanduser()

    def starting_with(self, prefix: str) -> dict[str, str]:
        """Options like `columns.room`, by what follows the prefix."""
        found = {name: value for name, value in self._given.items() if name.startswith(prefix)}
        self._asked |= found.keys()
        return {name.removeprefix(prefix): value for name, value in found.items()}

    def rest(self) -> dict[str, str]:
        """Everything nobody asked for and that is not ours, for a source that passes options on."""
        return {name: text for name, text in self._given.items() if name not in self._asked | OURS}

    def finish(self) -> None:
        """Refuses what nobody asked for."""
        for name in self.rest():
            known = sorted(self._asked | OURS)
            hint = closest(name, known) or f" There are {', '.join(known)}."
            raise self.error(name, f"there is no such option here.{hint}")

    def error(self, name: str, what: str) -> SourceError:
        """An error that names the option and whose it is."""
        return SourceError(f"{self.owner}, option '{name}': {what}")
