"""Settings all tests share, and the one Spark that those marked `jvm` use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile(
    "default", deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate), derandomize=True
)
settings.load_profile("default")


#: Tests that need Spark are dealt out to so many processes, each with a JVM of its own: one would leave a
#: core idle for much of the time.
SPARKS = 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A module's tests that need Spark run in one process."""
    by_module: dict[str, list[pytest.Item]] = {}
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.jvm)
        if item.get_closest_marker("jvm") is not None:
            by_module.setdefault(item.nodeid.split("::")[0], []).append(item)
    for place, module in enumerate(sorted(by_module)):
        for item in by_module[module]:
            item.add_marker(pytest.mark.xdist_group(f"spark-{place % SPARKS}"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Groups that are not kept would start every module's engines in every process, and tell nobody."""
    if getattr(session.config, "workerinput", None) is not None:
        for item in session.items:
            is_grouped = item.get_closest_marker("xdist_group") is not None
            assert not is_grouped or "@spark-" in item.nodeid, (
                f"pytest-xdist forgot the group of {item.nodeid}"
            )


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Plain Spark in this process: what results are compared with."""
    from pyspark.sql import SparkSession

    from penstock.engines.spark.session.session import BRIEF_OPTIONS

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", BRIEF_OPTIONS)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
