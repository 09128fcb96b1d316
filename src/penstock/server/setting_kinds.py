"""Kinds of settings: how a value is read from TOML, an environment variable or a flag, and how it is shown.

A value in TOML has a type already, elsewhere it is text. What cannot be read is a ValueError that says what
would be right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import PolicyError, closest
from penstock.policies.parsing import parse
from penstock.sql.text.quantities import per_second, seconds, share, shown_bytes, shown_seconds, size_bytes

#: What stands for no value, for settings that may have none.
NONE = "none"


@dataclass(frozen=True, slots=True)
class Kind:
    """How values of one kind are read and shown; `wants` completes "it must be …"."""

    wants: str
    read: Callable[[Any], Any]
    shown: Callable[[Any], str] = str
    is_path: bool = False
    hides: bool = False  # whether a value may hold a secret

    def optional(self) -> Kind:
        """The same, or nothing at all."""
        return Kind(
            f"{self.wants}, or '{NONE}'",
            lambda value: None if value is None or value == NONE else self.read(value),
            lambda value: NONE if value is None else self.shown(value),
            self.is_path,
            self.hides,
        )


def text(wants: str = "text") -> Kind:
    """Any text that is not empty."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"it must be {wants}")
        return value.strip()

    return Kind(wants, read)


def choice(known: Collection[str]) -> Kind:
    """One of a few words."""
    wants = f"one of {', '.join(known)}"

    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(f"it must be {wants}.{closest(str(value), known)}")
        return str(value)

    return Kind(wants, read)


def whole(low: int, high: int | None = None) -> Kind:
    """A whole number within limits."""
    wants = f"a whole number from {low}" + (f" to {high}" if high is not None else " on")

    def read(value: Any) -> int:
        number = value
        if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9][0-9_]*\s*", value):
            number = int(value)
        if type(number) is not int or number < low or (high is not None and number > high):
            raise ValueError(f"it must be {wants}")
        return number

    return Kind(wants, read)


def _quantity(wants: str, low: float, high: float, read_text: Callable[[str], float], *, open_: bool) -> Any:
    def read(value: Any) -> float:
        if isinstance(value, str):
            try:
                number = read_text(value)
            except ValueError as problem:
                raise ValueError(f"it must be {wants}: {problem}") from None
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"it must be {wants}")
        else:
            number = float(value)
        if not math.isfinite(number) or not low <= number <= high or (open_ and number == low):
            raise ValueError(f"it must be {wants}")
        return number

    return read


def _number_shown(value: float) -> str:
    return f"{value:g}"


def fraction(*, positive: bool) -> Kind:
    """A share: `2.5%` or `0.025`."""
    wants = "a share " + ("above 0 and at most 1" if positive else "from 0 to 1") + ", such as 0.5 or '50%'"
    return Kind(wants, _quantity(wants, 0.0, 1.0, share, open_=positive), _number_shown)


def number() -> Kind:
    """Any number above 0."""
    wants = "a number above 0, such as 10"
    return Kind(wants, _quantity(wants, 0.0, math.inf, float, open_=True), _number_shown)


def rate() -> Kind:
    """So much per second: `1000`, `1000/s`, `50 per minute`."""
    wants = "a rate above 0, such as 1000 or '1000/s'"
    return Kind(wants, _quantity(wants, 0.0, math.inf, per_second, open_=True), lambda v: f"{v:g}/s")


def size() -> Kind:
    """Bytes: `64MB`, `1.5 GiB`, `4096`."""
    wants = "a size above 0, such as '64MB' or '1.5 GiB'"
    read = _quantity(wants, 0.0, 2.0**63, size_bytes, open_=True)
    return Kind(wants, lambda value: math.ceil(read(value)), shown_bytes)


def duration() -> Kind:
    """A time: `5 min`, `30 days`; a number counts seconds."""
    wants = "a time above 0, such as '5 min' or '30 days'"
    return Kind(wants, _quantity(wants, 0.0, math.inf, seconds, open_=True), shown_seconds)


_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def switch() -> Kind:
    """True or false."""
    wants = "true or false"

    def read(value: Any) -> bool:
        if isinstance(value, bool):
            return value
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in (*_YES, *_NO):
            raise ValueError(f"it must be {wants}")
        return word in _YES

    return Kind(wants, read, lambda value: str(value).lower())


def path() -> Kind:
    """A file or directory; a relative one begins where the file of settings is."""
    wants = "a path"

    def read(value: Any) -> Path:
        if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
            raise ValueError(f"it must be {wants}")
        return Path(value).expanduser()

    return Kind(wants, read, str, is_path=True)


def several(kind: Kind) -> Kind:
    """A list; in environment variables and flags with commas between."""
    wants = f"a list, each of it {kind.wants}"

    def read(value: Any) -> tuple[Any, ...]:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if not isinstance(value, list | tuple):
            raise ValueError(f"it must be {wants}")
        return tuple(dict.fromkeys(kind.read(one) for one in value))

    return Kind(wants, read, lambda those: ", ".join(map(kind.shown, those)) or NONE, kind.is_path)


def paths_of_names() -> Kind:
    """Lists of paths by name; in environment variables and flags `north=/srv/north:/srv/all,south=/srv/s`."""
    wants = 'a table of lists of paths, such as { north = ["/srv/north"] }'
    paths = several(path())

    def read(value: Any) -> Mapping[str, tuple[Path, ...]]:
        if isinstance(value, str):
            pairs = [part.partition("=") for part in value.split(",") if part.strip()]
            if not all(equals for _, equals, _ in pairs):
                raise ValueError("it must be NAME=PATH, with : between paths and commas between names")
            value = {name.strip(): [one.strip() for one in given.split(":")] for name, _, given in pairs}
        if not isinstance(value, Mapping) or not all(isinstance(name, str) and name for name in value):
            raise ValueError(f"it must be {wants}")
        return {name: paths.read(those) for name, those in value.items()}

    def shown(those: Mapping[str, tuple[Path, ...]]) -> str:
        return ", ".join(f"{name}={':'.join(map(str, found))}" for name, found in those.items()) or NONE

    return Kind(wants, read, shown, is_path=True)


#: As Spark redacts its own settings.
_SECRET = re.compile(r"secret|password|passwd|token|access[.-]?key|credential", re.IGNORECASE)
HIDDEN = "(hidden)"


def spark_settings() -> Kind:
    """Names and values of Spark's settings; what looks like a secret is never shown."""
    wants = "a table of Spark's settings, such as {\"spark.executor.memory\" = '2g'}"

    def read(value: Any) -> Mapping[str, str]:
        if isinstance(value, str):
            pairs = [part.partition("=") for part in value.split(",") if part.strip()]
            if not all(name.strip() and equals for name, equals, _ in pairs):
                raise ValueError("it must be NAME=VALUE, with commas between several")
            value = {name.strip(): given.strip() for name, _, given in pairs}
        if not isinstance(value, Mapping):
            raise ValueError(f"it must be {wants}")
        found = dict(_flat(value))
        for name in found:
            if not name.startswith("spark.") or name == "spark.master":
                raise ValueError(f"'{name}' cannot be among them: it must be {wants}")
        return found

    return Kind(wants, read, _shown_settings, hides=True)


def _flat(table: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    """TOML reads a key with dots that nobody quoted as tables within tables."""
    found: list[tuple[str, str]] = []
    for name, value in table.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{before}{name}.")
        elif isinstance(value, bool):
            found.append((f"{before}{name}", str(value).lower()))
        elif isinstance(value, str | int | float):
            found.append((f"{before}{name}", str(value)))
        else:
            raise ValueError(f"'{before}{name}' must be text, a number, true or false")
    return found


def _shown_settings(settings: Mapping[str, str]) -> str:
    shown = (f"{name}={HIDDEN if _SECRET.search(name) else value}" for name, value in settings.items())
    return ", ".join(shown) or NONE


def policy() -> Kind:
    """A policy by its name, with parameters if need be."""
    wants = "a policy, such as 'fas-mcq(beta=0.25)'"

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"it must be {wants}")
        try:
            found = parse(value)
        except PolicyError as problem:
            raise ValueError(f"it must be {wants}: {problem}") from None
        if found.needs_oracle:
            raise ValueError(f"it must be {wants}; '{value}' runs only where the cost of each row is known")
        return value

    return Kind(wants, read)
