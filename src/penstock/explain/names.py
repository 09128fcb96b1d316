"""What people call the computed columns of a plan in canonical form.

There a computed column is called after its expression, `c_` and ten digits, so that equal ones meet. Readers
want the query's own names back. They are unique: of two columns with one name the second gets a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from penstock.model.operators import Operator, Sink
from penstock.model.query import PlanNode
from penstock.model.schema import Field, Schema
from penstock.plan.canonical import forms
from penstock.plan.text import operator_text
from penstock.sql.expressions.texts import quoted

_COMPUTED = re.compile(r"`?\b((?:right_)*c_[0-9a-f]{10})\b`?")


def own_names(root: PlanNode) -> Mapping[str, str]:
    """For each computed column of the plan's canonical form, what the plan itself calls it.

    The operators nearest to the sink are asked first: theirs are the names the query was written for.
    """
    known = forms(root)
    nodes = [node for node in root.post_order() if not isinstance(node.operator, Sink)]
    pairs = [pair for node in reversed(nodes) for pair in known[id(node)].names.items()]
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


def shown_operator(operator: Operator, names: Mapping[str, str]) -> str:
    """The operator on one line, with these names for computed columns."""
    if isinstance(operator, Sink):
        columns = (replace(one, expression=_renamed(one.expression, names)) for one in operator.columns)
        return operator_text(replace(operator, columns=tuple(columns)))
    return _renamed(operator_text(operator), names)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _COMPUTED.sub(lambda found: quoted(names[found[1]]) if found[1] in names else found[0], text)


def shown_schema(schema: Schema, names: Mapping[str, str]) -> Schema:
    """The schema, with these names for computed columns."""
    return Schema(tuple(Field(names.get(field.name, field.name), field.type) for field in schema.fields))
