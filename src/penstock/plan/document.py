"""Plan JSON: the papers' plan object as a document, to keep, to send and to write by hand.

A document nests as the plan does: a node's left and right child are its `inputs`, its parent is the node it
stands in. The operators, windows, estimates and QoS are the model's own types, so that the format cannot
drift from them unseen: `docs/plan.schema.json` is made from here, and a test compares. When a field changes
its meaning, the version goes up and `read` learns to bring the older form up to date.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    SkipValidation,
    ValidationError,
    model_serializer,
)

from penstock.model.estimates import Estimate
from penstock.model.operators import Operator
from penstock.model.qos import QoS
from penstock.model.query import OnError, PlanNode, Query
from penstock.model.schema import Schema
from penstock.plan.complaints import format_error
from penstock.plan.schemas import derived_schemas
from penstock.plan.validate import validate

#: The fields of a query that say when it runs, and what holds it.
LIFE = ("start_s", "stop_s", "back_s", "one_time", "on_error", "windows")


@dataclass(frozen=True, slots=True)
class Derived:
    """What follows from the rest: written for people, ignored on reading.

    The schema of the operator's output where it is known; and from the estimate, where there is one, how
    many rows per second it can process and how many bytes per second it then frees.
    """

    schema: Schema | None = None
    processing_capacity_per_s: float | None = None
    memory_release_capacity_bytes_per_s: float | None = None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class PlanNodeDocument(_Part):
    """An operator, what is believed of it at first, and the nodes it reads: left before right.

    `ports` has the output port read from each input; without it, port 0 of each.
    """

    operator: Annotated[Operator, Discriminator("kind")]
    name: str | None = None
    estimate: Estimate | None = None
    derived: SkipValidation[Derived] | None = Field(None, json_schema_extra={"readOnly": True})
    ports: tuple[int, ...] = ()
    inputs: tuple[PlanNodeDocument, ...] = ()

    @model_serializer(mode="wrap")
    def _kind_first_and_nothing_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        node = {field: value for field, value in serialize(self).items() if value}
        return node | {"operator": {"kind": self.operator.kind, **node["operator"]}}


class PlanDocument(_Part):
    """A query: its name, its QoS, when to start and stop (in seconds; without them, at once and never),
    how far back it looks, whether it ends with its first full window (or after so many `windows`), whether a
    row that an expression cannot process holds it or is left out, and its plan."""

    penstock_plan: Literal[1]
    query: str
    qos: QoS = QoS()
    start_s: float | None = None
    stop_s: float | None = None
    back_s: float = 0.0
    one_time: bool = False
    on_error: OnError = "hold"
    windows: int = 0
    plan: PlanNodeDocument

    @model_serializer(mode="wrap")
    def _life_where_it_says_something(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        usual = {name: PlanDocument.model_fields[name].default for name in LIFE}
        return {field: value for field, value in serialize(self).items() if value != usual.get(field, ...)}


def read(text: str | bytes) -> Query:
    """The query in a document; PlanFormatError if it is not one, PlanError if its plan cannot run."""
    try:
        document = PlanDocument.model_validate_json(text)
    except ValidationError as error:
        raise format_error(error, json_schema()) from None
    life = {name: getattr(document, name) for name in LIFE}
    return validate(Query(document.query, _plan(document.plan), document.qos, **life))


def write(query: Query) -> str:
    """The document of a query that can run; reading it gives the same query again."""
    validate(query)
    derived = {id(node): _derived(node, schema) for node, schema in derived_schemas(query.root)}
    document = PlanDocument.model_construct(
        penstock_plan=1,
        query=query.name,
        qos=query.qos,
        **{name: getattr(query, name) for name in LIFE},
        plan=_node(query.root, derived),
    )
    return document.model_dump_json(indent=2, exclude_none=True) + "\n"


def json_schema() -> dict[str, Any]:
    """The JSON schema of plan documents."""
    schema = PlanDocument.model_json_schema()
    for definition in schema["$defs"].values():
        # Pydantic tells operators apart by `kind` and so needs it, though the model has a default.
        if "const" in definition["properties"].get("kind", {}):
            definition["required"] = ["kind", *definition.get("required", ())]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def json_schema_text() -> str:
    """What docs/plan.schema.json holds."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _plan(document: PlanNodeDocument) -> PlanNode:
    return PlanNode(
        document.operator,
        tuple(_plan(child) for child in document.inputs),
        document.ports,
        document.name,
        document.estimate,
    )


def _node(node: PlanNode, derived: dict[int, Derived]) -> PlanNodeDocument:
    return PlanNodeDocument.model_construct(
        operator=node.operator,
        name=node.name,
        estimate=node.estimate,
        derived=derived[id(node)],
        ports=node.ports,
        inputs=tuple(_node(child, derived) for child in node.children),
    )


def _derived(node: PlanNode, schema: Schema) -> Derived:
    known = schema if schema.fields else None
    estimate = node.estimate
    if estimate is None or estimate.cost_s == 0:
        return Derived(known)
    selectivity = sum(estimate.ports) if estimate.ports else estimate.selectivity
    released = estimate.in_bytes - estimate.out_bytes * selectivity
    return Derived(known, 1 / estimate.cost_s, released / estimate.cost_s)
