"""Who asks, and what their names are called inside the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from penstock.errors import closest
from penstock.model.quotas import Quotas
from penstock.server.http.problems import NotThereError
from penstock.server.security.tokens import Identity
from penstock.sql.scoping import DEFAULT, Scope

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Caller:
    """An identity within a namespace: its own, or the one an administrator chose."""

    identity: Identity
    namespace: str = DEFAULT
    granted: frozenset[str] = frozenset()
    quotas: Quotas = field(default_factory=Quotas)

    @property
    def scope(self) -> Scope:
        """What statements of this caller see."""
        return Scope(self.namespace, self.granted, self.quotas)

    def scope_values(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"namespace": self.namespace, "granted": sorted(self.granted), "quotas": asdict(self.quotas)}

    def plain(self, full: str) -> str:
        """What the caller calls something of theirs, or a stream that is granted to them."""
        return self.scope.plain(full)

    def own(self, known: Mapping[str, Thing]) -> dict[str, Thing]:
        """Those of the caller's namespace, by the names that the caller has for them."""
        scope = self.scope
        return {self.plain(name): one for name, one in known.items() if scope.owns(name)}

    def find(self, kind: str, name: str, known: Iterable[str]) -> str:
        """The engine's name of something of the caller's; letters' case does not matter."""
        scope = self.scope
        mine = [one for one in known if scope.owns(one)]
        wanted = f"{scope.prefix}{name}".lower()
        for one in mine:
            if one.lower() == wanted and "." not in name:
                return one
        near = closest(name, [self.plain(one) for one in mine])
        raise NotThereError(f"there is no {kind} '{name}'.{near}")
