"""Which Spark to run on: what is said of settings and masters that cannot be."""

from __future__ import annotations

import socket

import pytest

from penstock.engines.spark.session.masters import check_answers, check_conf, read_conf
from penstock.errors import EngineError


def test_settings_are_names_and_values() -> None:
    assert read_conf(["spark.executor.memory=2g", "spark.x = a=b"]) == {
        "spark.executor.memory": "2g",
        "spark.x": "a=b",
    }


@pytest.mark.parametrize("text", ["spark.executor.memory", "=2g", "spark.executor.memory=", ""])
def test_a_setting_without_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(EngineError, match=r"write NAME=VALUE, as --conf spark\.executor\.memory=2g"):
        read_conf([text])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("executor.memory", "'executor.memory' is no setting of Spark's: their names begin with 'spark.'"),
        ("spark.sql.ansi.enabled", "'spark.sql.ansi.enabled' cannot be set"),
        ("spark.master", "name the cluster as the master"),
    ],
)
def test_settings_that_would_have_no_effect_are_refused(name: str, says: str) -> None:
    with pytest.raises(EngineError, match=says):
        check_conf({name: "x"}, {"spark.sql.ansi.enabled": "true"})


def test_a_master_that_does_not_answer_is_named_with_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_answers(f"spark://127.0.0.1:1,127.0.0.1:{port}")
    with pytest.raises(
        EngineError, match=rf"no Spark master answers at spark://127.0.0.1:{port} \(.*refused"
    ):
        check_answers(f"spark://127.0.0.1:{port}")


@pytest.mark.parametrize("master", ["spark://", "spark://host", "spark://host:x", "spark://:7077"])
def test_an_address_that_is_none_is_refused(master: str) -> None:
    with pytest.raises(EngineError, match="write spark://HOST:PORT"):
        check_answers(master)


def test_masters_of_other_kinds_are_for_spark_to_judge() -> None:
    for master in (
        "local",
        "local[*]",
        "local[2,3]",
        "local-cluster[2,1,512]",
        "yarn",
        "k8s://https://host:443",
    ):
        check_answers(master)


@pytest.mark.parametrize("master", ["host:7077", "spark:/host:7077", "localhost", "yarn-client", ""])
def test_what_is_no_master_is_refused_with_those_that_are(master: str) -> None:
    with pytest.raises(EngineError, match="is no master of Spark's: write spark://HOST:PORT"):
        check_answers(master)
