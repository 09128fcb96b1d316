"""What people call the computed columns of a plan in canonical form.

There a computed column is called after its expression, `c_` and ten digits, so that equal ones meet. Readers
want the query's own names back. They are unique: of two columns with one name the second gets a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.model.query import PlanNode
from penstock.model.schema import Field, Schema
from penstock.plan.canonical import Forms
from penstock.sql.expressions import quoted

_COMPUTED = re.compile(r"`?\b(c_[0-9a-f]{10})\b`?")


def own_names(root: PlanNode) -> Mapping[str, str]:
    """For each computed column of the plan's canonical form, what the plan itself calls it.

    The operators nearest to the sink are asked first: theirs are the names the query was written for.
    """
    forms = Forms()
    nodes = [*root.post_order()]
    pairs = [pair for node in reversed(nodes) for pair in forms.of(node).names.items()]
    taken = {canonical.lower() for _, canonical in pairs if not _COMPUTED.fullmatch(canonical)}
    names: dict[str, str] = {}
    for own, canonical in pairs:
        if canonical in names or not _COMPUTED.fullmatch(canonical) or _COMPUTED.fullmatch(own):
            continue
        name, number = own, 1
        while name.lower() in taken:
            number += 1
            name = f"{own}_{number}"
        taken.add(name.lower())
        names[canonical] = name
    return names


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text of an operator or an expression, with these names for computed columns."""
    return _COMPUTED.sub(lambda found: quoted(names[found[1]]) if found[1] in names else found[0], text)


def renamed_schema(schema: Schema, names: Mapping[str, str]) -> Schema:
    """The schema, with these names for computed columns."""
    return Schema(tuple(Field(names.get(field.name, field.name), field.type) for field in schema.fields))
