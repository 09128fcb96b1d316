"""Which Spark to run on: settings that users may give, a master that answers, executors that come."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Collection, Iterable, Mapping

from pyspark.sql import SparkSession

from penstock.errors import EngineError

#: Spark itself would try for a minute before it says, in its log, that a master does not answer.
ANSWERS_WITHIN_S = 5.0
#: What a cluster may take to start the first executor.
EXECUTORS_WITHIN_S = 60.0


def read_conf(texts: Iterable[str]) -> dict[str, str]:
    """Settings of Spark from `name=value`."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise EngineError(f"--conf {text}: write NAME=VALUE, as --conf spark.executor.memory=2g")
        found[name.strip()] = value.strip()
    return found


def check_conf(conf: Mapping[str, str], ours: Collection[str]) -> None:
    """Refuses what Spark would pass over, and what would be set to something else afterwards."""
    for name in conf:
        if name == "spark.master":
            raise EngineError("spark.master is no setting here; name the cluster as the master")
        if not name.startswith("spark."):
            raise EngineError(f"'{name}' is no setting of Spark's: their names begin with 'spark.'")
        if name in ours:
            raise EngineError(f"'{name}' cannot be set: results depend on it, so Penstock sets it by itself")


def check_answers(master: str) -> None:
    """Refuses what is no master, and a standalone master of which no address answers."""
    if not re.match(r"local(\[.*\])?$|local-cluster\[|spark://|k8s://|yarn$", master):
        raise EngineError(
            f"'{master}' is no master of Spark's: write spark://HOST:PORT, k8s://URL, yarn or local[CORES]"
        )
    if not master.startswith("spark://"):
        return
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise EngineError(f"master {master}: write spark://HOST:PORT, as spark://localhost:7077")
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWERS_WITHIN_S).close()
        except (OSError, OverflowError) as error:
            reasons.append(f"{address}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    raise EngineError(
        f"no Spark master answers at {master} ({'; '.join(reasons)}); start one, or correct the address"
    )


def await_executors(spark: SparkSession, master: str) -> None:
    """Runs a small job, which an executor must take; else every step would wait, and nobody would say why."""
    done = threading.Event()

    def count() -> None:
        with contextlib.suppress(Exception):  # it may be stopped before an executor has come
            spark.range(1).count()
            done.set()

    threading.Thread(target=count, daemon=True, name="penstock-first-job").start()
    if not done.wait(EXECUTORS_WITHIN_S):
        raise EngineError(
            f"{master} has run no job within {EXECUTORS_WITHIN_S:.0f} s: no worker has room for an executor, "
            "or none reaches this machine; start workers, or ask for less with "
            "--conf spark.executor.memory=512m"
        )
