"""Confinement: nothing outside of the roots, no format, option or function that is not allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.spark.statements.confinement import SPARK, Confined, Confinement, reworded
from penstock.errors import PenstockError, SinkError, SourceError, SqlError
from penstock.model.schema import Field, Schema
from penstock.sql.binding.catalog import Catalog, Delivery, Stream, Table
from penstock.sql.text.dialect import parse_expression
from penstock.sql.typing.expression_types import TypeProblem, type_of
from penstock.sql.typing.functions import catalogue

SCHEMA = Schema((Field("id", "int"),))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """`root` may be used, with links in it that lead out and one that stays; `state` is in it."""
    for name in ("root/data/deep", "root/state", "out", "teams/a", "root2"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "out" / "secret.csv").write_text("id\n1\n")
    (tmp_path / "root" / "data" / "fine.csv").write_text("id\n1\n")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "root" / "data" / "linked.csv").symlink_to(tmp_path / "out" / "secret.csv")
    (tmp_path / "root" / "inner").symlink_to(tmp_path / "root" / "data")
    (tmp_path / "root" / "circle").symlink_to(tmp_path / "root" / "circle")
    return tmp_path / "root"


def confined(root: Path, **rules: object) -> Confined:
    made = Confinement(roots=(root,), roots_of={"a": (root.parent / "teams" / "a",)}, **rules)  # type: ignore[arg-type]
    return Confined(made, root, (root / "state",))


def check(where: Confined, format_: str = "csv", namespace: str | None = None, **options: str) -> None:
    stream = Stream("s", SCHEMA, format=format_, options={k.replace("_", "."): v for k, v in options.items()})
    where.check(Catalog(), Catalog(streams={"s": stream}), namespace)


FINE = [
    "data/fine.csv",
    "data",
    "./data/../data/fine.csv",
    "inner/fine.csv",
    "data/fine*.csv",
    "data/new/x",
    "data/[f]*",
]
OUT = [
    "../out/secret.csv",
    "/etc/passwd",
    "~/x.csv",
    "~nobody-has-this-name/x.csv",
    "link/secret.csv",
    "link",
    "data/../../out/secret.csv",
    "data/linked.csv",
    "data/*.csv",
    "*/../../out/*.csv",
    "data/*/../../../out/*",
    "li*/secret.csv",
    "../root2/x",
    "circle/x",
    "state/penstock.db",
    "state",
    ".",
    "*",
    "sta*/tokens.json",
    "file:/etc/passwd",
    "FILE:etc",
    "hdfs://host/x",
    "s3a:/x",
    "x\0y",
]


@pytest.mark.parametrize("path", FINE)
def test_paths_below_a_root(root: Path, path: str) -> None:
    check(confined(root), path=path)
    check(confined(root), path=str(root / path))


@pytest.mark.parametrize("path", OUT)
def test_paths_that_lead_out(root: Path, path: str) -> None:
    where = confined(root)
    with pytest.raises(SourceError) as error:
        check(where, path=path)
    assert str(root.parent) not in str(error.value)
    with pytest.raises(SourceError):
        check(where, format_="generator", trace=path)
    table = Table("r", SCHEMA, "csv", {"PATH": path})
    with pytest.raises(SourceError, match="table 'r'"):
        where.check(Catalog(), Catalog(tables={"r": table}))
    sink = Delivery("k", "q", "parquet", {"Path": path})
    with pytest.raises(SinkError, match="sink 'k'"):
        where.check(Catalog(), Catalog(sinks={"k": sink}))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(["..", ".", "data", "link", "inner", "deep", "state", "*", "x", "~", "[d]ata"]),
        min_size=1,
        max_size=7,
    )
)
def test_what_passes_really_is_below(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    root = tmp_path_factory.getbasetemp() / "any" / "root"
    if not root.exists():
        for name in ("data/deep", "state", "inner"):
            (root / name).mkdir(parents=True)
        (root.parent / "x").mkdir()
        (root / "link").symlink_to(root.parent)
    where = Confined(Confinement(roots=(root,)), root, (root / "state",))
    text = "/".join(parts)
    try:
        check(where, path=text)
    except SourceError:
        return
    found = [root / text] if "*" not in text and "[" not in text else list(root.glob(text))
    for path in found:
        assert path.resolve().is_relative_to(root.resolve())
        assert not path.resolve().is_relative_to((root / "state").resolve())


def test_a_namespace_with_roots_of_its_own_has_no_others(root: Path) -> None:
    where = confined(root)
    check(where, namespace="a", path="../teams/a/x.csv")
    with pytest.raises(SourceError):
        check(where, namespace="a", path="data/fine.csv")
    with pytest.raises(SourceError):
        check(where, namespace="b", path="../teams/a/x.csv")


def test_the_words(root: Path) -> None:
    where = confined(root)
    for options, said in (
        (
            {"path": "/etc/passwd"},
            "stream 's', option 'path': '/etc/passwd' is not below the directories that this server allows; "
            "write a path within them, or ask an admin to add one",
        ),
        ({"path": "data", "end": "../x"}, "stream 's', option 'end': '../x' is no plain name of a file"),
        (
            {"path": "file:///etc"},
            "stream 's', option 'path': 'file:///etc' is no plain path; leave out what stands before its "
            "first /",
        ),
    ):
        with pytest.raises(SourceError) as error:
            check(where, **options)
        assert str(error.value) == said


def test_formats_and_options_come_from_a_list(root: Path) -> None:
    where = confined(root)
    check(where, "rate", rowsPerSecond="5", rate="5/s")
    check(where, "push")
    for format_ in (
        "socket",
        "text",
        "jdbc",
        "kafka",
        "delta",
        "org.apache.spark.sql.execution.streaming.Evil",
    ):
        with pytest.raises(SourceError) as error:
            check(where, format_, host="h")
        assert str(error.value) == (
            f"stream 's': format '{format_}' is not allowed on this server; use one of "
            "csv, generator, json, parquet, push, rate"
        )
    with pytest.raises(
        SourceError, match="option 'checkpointlocation': it is not allowed on this server; there are"
    ):
        check(where, "rate", checkpointLocation="/x")
    sink = Delivery("k", "q", "console", {})
    with pytest.raises(
        SinkError, match="format 'console' is not allowed on this server; use one of csv, json, memory"
    ):
        where.check(Catalog(), Catalog(sinks={"k": sink}))


def test_kafka_is_read_from_listed_servers_only(root: Path) -> None:
    where = confined(root, kafka_servers=frozenset({"k1:9092", "k2:9092"}))
    check(where, "kafka", kafka_bootstrap_servers="k1:9092, k2:9092", subscribe="t")
    with pytest.raises(SourceError, match=r"'evil:1' is not allowed on this server; use k1:9092 or k2:9092"):
        check(where, "kafka", kafka_bootstrap_servers="k1:9092,evil:1", subscribe="t")
    with pytest.raises(SourceError, match=r"'' is not allowed"):
        check(where, "kafka", subscribe="t")
    with pytest.raises(
        SourceError, match=r"option 'kafka.sasl.jaas.config': it is not allowed on this server"
    ):
        check(where, "kafka", kafka_bootstrap_servers="k1:9092", **{"kafka_sasl_jaas_config": "x"})


@pytest.mark.parametrize(
    "path", ["data", "{root}/data/{{x,../../out}}", "{root}/*", "{root}/data/../data", "{root}/a,b"]
)
def test_paths_that_spark_reads_are_written_whole(root: Path, path: str) -> None:
    where = confined(root, spark={**SPARK, "text": frozenset({"path"})})
    check(where, "text", path=str(root / "data"))
    with pytest.raises(
        SourceError, match="option 'path': Spark reads it; write it whole, without patterns and"
    ):
        check(where, "text", path=path.format(root=root))
    with pytest.raises(SourceError, match="is not below the directories"):
        check(where, "text", path="/etc")


def test_errors_do_not_say_where_on_the_machine_things_are(root: Path) -> None:
    where = confined(root)
    raw = f"there is no {root}/data/x.csv; a relative path begins at {root}"
    said = "there is no data/x.csv; a relative path begins at the server's directory"
    assert str(reworded(where, SourceError(raw))) == said
    shown = SqlError(raw, 1, 1, f"path '{root}/data/x.csv'")
    assert str(reworded(where, shown)) == f"line 1, column 1: {said}\n  path '{root}/data/x.csv'\n  ^"
    assert str(reworded(None, PenstockError(raw))) == raw


#: Of Spark and of those that extend it: what reads files, calls code, or tells of the session or the machine.
REACHING = {
    *("reflect", "java_method", "try_reflect", "input_file_name", "input_file_block_start"),
    *(
        "input_file_block_length",
        "read_files",
        "read_kafka",
        "cloud_files_state",
        "current_user",
        "session_user",
    ),
    *("user", "current_catalog", "current_database", "current_schema", "current_path", "version"),
    *(
        "spark_partition_id",
        "from_protobuf",
        "to_protobuf",
        "http_request",
        "ai_query",
        "secret",
        "try_secret",
    ),
    *("current_metastore", "python_worker_logs"),
}


@pytest.mark.parametrize(
    "call",
    [
        "from_xml(x, 'a INT', {0})",
        "schema_of_xml('<a/>', {0})",
        "to_xml(named_struct('a', x), {0})",
    ],
)
def test_no_option_of_xml_reads_a_file(call: str) -> None:
    columns = Schema((Field("x", "string"),))
    for options in (
        "map('rowValidationXSDPath', '/etc/passwd')",
        "MAP('mode', 'FAILFAST', 'rowvalidationxsdpath', '/etc/passwd')",
        "map(concat('rowValidation', 'XSDPath'), '/etc/passwd')",
        "str_to_map('rowValidationXSDPath:/etc/passwd')",
        "CAST(map('rowValidationXSDPath', 'x') AS MAP<STRING, STRING>)",
    ):
        with pytest.raises(TypeProblem, match="option"):
            type_of(parse_expression(call.format(options)), columns)
    assert type_of(parse_expression(call.format("map('mode', 'FAILFAST')")), columns)


def test_no_function_reaches_files_the_session_or_the_jvm() -> None:
    assert not REACHING & {*catalogue.names()}
    known = {function.name for function in catalogue.FUNCTIONS if function.kind == "refused"}
    assert {"reflect", "java_method", "try_reflect", "input_file_name", "current_user", "version"} <= known
