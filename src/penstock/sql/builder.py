"""Queries built in Python, in the manner of the DataFrame API.

    from penstock.sql.builder import stream

    means = (
        stream("temps").where("temp > 30").range("10 seconds", slide="5 seconds")
        .group_by("room").agg("avg(temp) AS mean")
    )
    means.query("hot_rooms", latency="2s")

Each step adds to a SELECT, and what comes out is SQL text, so that a query built here and the same query
written by hand cannot differ in meaning. Columns and conditions are SQL too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from penstock.sql.expressions.texts import quoted


@dataclass(frozen=True, slots=True)
class Rows:
    """A SELECT under construction. Every method returns another one."""

    source: str
    base: str = "part"
    name: str = ""
    window: str = ""
    joins: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    keys: tuple[str, ...] | None = None
    groups_wanted: str = ""
    once: bool = False
    order: str = ""

    def alias(self, name: str) -> Rows:
        """The same rows under another name, for joins."""
        return replace(self._open(), name=name)

    def range(self, width: str, slide: str | None = None) -> Rows:
        """With a window by time, for the next aggregate, join or distinct."""
        moved = f" SLIDE {slide}" if slide is not None else ""
        return replace(self._from_only(), window=f" [RANGE {width}{moved}]")

    def rows(self, count: int, slide: int | None = None) -> Rows:
        """With a window by row count, for the next aggregate, join or distinct."""
        moved = f" SLIDE {slide}" if slide is not None else ""
        return replace(self._from_only(), window=f" [ROWS {count}{moved}]")

    def where(self, condition: str) -> Rows:
        """The rows that satisfy a condition."""
        base = self._open()
        return replace(base, conditions=(*base.conditions, condition))

    def select(self, *columns: str) -> Rows:
        """Columns, such as `"room"` or `"temp * 2 AS twice"`; behind `group_by`, aggregates too."""
        base = self if self.keys is not None and not self.columns else self._open()
        return replace(base, columns=_texts("select", columns))

    def group_by(self, *keys: str) -> Rows:
        """Groups for the `agg` that follows; `window(t, '10 seconds')` may be among the keys."""
        return replace(self._open(), keys=_texts("group_by", keys))

    def agg(self, *aggregates: str) -> Rows:
        """The keys, windows left out, and these aggregates of each group."""
        base = self if self.keys is not None and not self.columns else replace(self._open(), keys=())
        plain = tuple(key for key in base.keys or () if not key.lstrip().lower().startswith(_WINDOWS))
        return replace(base, columns=(*plain, *_texts("agg", aggregates)))

    def having(self, condition: str) -> Rows:
        """The groups that satisfy a condition."""
        return replace(self, groups_wanted=condition)

    def distinct(self) -> Rows:
        """Each row once per window."""
        return replace(self, once=True)

    def join(self, other: Rows, on: str, how: Literal["inner", "left", "right", "full"] = "inner") -> Rows:
        """Pairs with the rows of another stream over windows, or of a stored table."""
        if not isinstance(other, Rows):
            raise TypeError(f"join takes rows, such as stream('rooms'), not {other!r}")
        if how not in _HOW:
            raise ValueError(f"how is {how!r}; it must be one of {', '.join(_HOW)}")
        # Conditions on inner joins may stand behind all of them.
        behind = how == "inner" and bool(self.joins) and not self._finished()
        behind = behind and all(join.startswith(" JOIN ") for join in self.joins)
        base = self if behind else self._open(joining=True)
        word = "" if how == "inner" else f"{how.upper()} "
        return replace(base, joins=(*base.joins, f" {word}JOIN {other._item()} ON {on}"))

    def union(self, *others: Rows) -> Rows:
        """All rows of all."""
        for one in others:
            if not isinstance(one, Rows):
                raise TypeError(f"union takes rows, such as stream('attic'), not {one!r}")
        parts = " UNION ALL ".join(one.sql() for one in (self, *others))
        return Rows(f"({parts})", "united", "united")

    def order_by(self, time: str) -> Rows:
        """The rows in the order of their time; as the last step, since the order of a part means nothing."""
        if not isinstance(time, str):
            raise TypeError(f"order_by takes the name of the time, such as 't', not {time!r}")
        return replace(self, order=time)

    def sql(self) -> str:
        """The SELECT."""
        distinct = "DISTINCT " if self.once else ""
        text = f"SELECT {distinct}{', '.join(self.columns) or '*'} FROM {self._from()}{''.join(self.joins)}"
        if self.conditions:
            text += " WHERE " + " AND ".join(f"({condition})" for condition in self.conditions)
        if self.keys:
            text += " GROUP BY " + ", ".join(self.keys)
        if self.groups_wanted:
            text += f" HAVING {self.groups_wanted}"
        return text + (f" ORDER BY {self.order}" if self.order else "")

    def query(self, name: str, *, one_time: bool = False, **wishes: str | float) -> str:
        """The statement that registers these rows as a query, with its QoS."""
        options = ", ".join(f"{wish} = {literal(value)}" for wish, value in wishes.items())
        kind = "ONE-TIME" if one_time else "CONTINUOUS"
        with_ = f" WITH ({options})" if options else ""
        return f"CREATE {kind} QUERY {quoted(name)}{with_} AS {self.sql()}"

    def view(self, name: str) -> str:
        """The statement that names this plan for others to build on."""
        return f"CREATE VIEW {quoted(name)} AS {self.sql()}"

    def _from(self) -> str:
        return f"{self.source}{self.window}" + (f" AS {quoted(self.name)}" if self.name else "")

    def _item(self) -> str:
        """These rows as one thing in FROM."""
        return self._open(joining=True)._from() if not self.joins else self._nested()._from()

    def _open(self, joining: bool = False) -> Rows:
        """Where more conditions and joins can be added; what is finished becomes a subquery."""
        if not self._finished() and not (joining and self.conditions):
            return self
        if not self._finished() and not self.joins and self.window.startswith(" [RANGE"):
            # A condition before or behind a window of time is the same; behind a join it must be before.
            return replace(replace(self, window="")._nested(), window=self.window)
        return self._nested()

    def _finished(self) -> bool:
        return bool(self.columns) or self.keys is not None or self.once or bool(self.order)

    def _from_only(self) -> Rows:
        """Where a window can stand: behind a stream or a subquery, with nothing else yet.

        A condition before a window is a condition on what enters it, while the WHERE of a SELECT comes behind
        the windows in its FROM; the subquery keeps the order.
        """
        base = self._open()
        return base._nested() if base.conditions or base.joins else base

    def _nested(self) -> Rows:
        return Rows(f"({self.sql()})", self.base, self.name or self.base)


_HOW = ("inner", "left", "right", "full")
_WINDOWS = ("window(", "session_window(", "window (", "session_window (")


def _texts(method: str, given: Sequence[object]) -> tuple[str, ...]:
    """The texts given to a method, one by one or as a list."""
    flat = [part for one in given for part in (one if isinstance(one, list | tuple) else (one,))]
    for part in flat:
        if not isinstance(part, str):
            raise TypeError(f"{method} takes SQL, such as 'temp * 2 AS twice', not {part!r}")
    return tuple(str(part) for part in flat)


def literal(value: str | float) -> str:
    """A value as it stands in SQL."""
    return (
        "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" if isinstance(value, str) else repr(value)
    )


def stream(name: str) -> Rows:
    """The rows of a stream, a view or a stored table."""
    return Rows(quoted(name), name)
