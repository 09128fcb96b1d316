"""One engine behind the API, for all tests of it in a process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.server.http.world import World, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The application over an engine, with two teams."""
    with opened(spark, tmp_path_factory.mktemp("api")) as found:
        yield found
