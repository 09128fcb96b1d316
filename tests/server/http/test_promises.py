"""Whatever is sent to any endpoint, the answer is one that the OpenAPI document promises."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from penstock.server.http.app import openapi_text
from tests.server.http.world import B, World

pytestmark = pytest.mark.jvm
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(json.loads(openapi_text()))
OPERATIONS = {
    f"{found.ok().method.upper()} {found.ok().path}": found.ok() for found in SCHEMA.get_all_operations()
}
#: Names that there are, so that not every request ends with 404.
NAMES: dict[str, Any] = {"stream": "offers", "query": "cheap", "reader": "default", "name": "default"}
EXAMPLES = 12


@pytest.fixture(scope="module", autouse=True)
def made(world: World) -> None:
    """What the names mean."""
    world.sql(
        "CREATE STREAM offers (id INT, price DOUBLE) USING push; "
        "CREATE CONTINUOUS QUERY cheap AS SELECT id, price FROM offers WHERE price < 10;"
    )
    world.push("offers", [{"id": 1, "price": 2.5}, {"id": 2, "price": math.pi * 10}])


@pytest.mark.parametrize("what", [one for one in OPERATIONS if not one.endswith("/events")])
def test_every_operation_answers_as_it_is_documented(world: World, what: str) -> None:
    operation = OPERATIONS[what]
    ends = what.startswith("DELETE") or what.endswith(("/stop", "/end"))  # other tests need these names

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def asked(data: st.DataObject) -> None:
        mode = data.draw(st.sampled_from([GenerationMode.POSITIVE, GenerationMode.NEGATIVE]))
        case = data.draw(operation.as_strategy(generation_mode=mode))
        if case.path_parameters and not ends and data.draw(st.booleans()):
            case.path_parameters = {**case.path_parameters, **_known(case.path_parameters)}
        if isinstance(case.query, dict) and data.draw(st.booleans()):
            case.query = {key: value for key, value in case.query.items() if key != "namespace"}
        sent = case.as_transport_kwargs(base_url="http://127.0.0.1:8642")
        answered = world.send(sent, (B, "admin"))
        case.validate_response(answered, checks=CHECKS)

    asked()
    world.ask("PUT", "/scheduling", (B, "admin"), params={"namespace": "default"}, json={"policy": "fcfs"})


def _known(parameters: Any) -> dict[str, Any]:
    return {name: NAMES[name] for name in parameters if name in NAMES}
