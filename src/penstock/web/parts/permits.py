"""What somebody may not do is shown all the same, disabled, with the reason."""

from __future__ import annotations

from typing import Any

from penstock.server.security.roles import Role
from penstock.web.access.visitor import Visitor


def forbidden(visitor: Visitor, role: Role) -> str:
    """Why whoever looks may not do what takes a role; empty if they may."""
    mine = visitor.caller().identity.role
    return "" if mine >= role else f"it takes the role {role.label}, and you have {mine.label}"


def disable(control: Any, why: str) -> Any:
    """The control, which cannot be used if there is a reason."""
    if why:
        control.props["disabled"] = True
        control.props["title"] = why
        control.update()
    return control
