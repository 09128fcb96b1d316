"""The layers of the architecture: each package imports only those before it in LAYERS."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src"

LAYERS = (
    "penstock.errors",
    "penstock.model",
    "penstock.sql",
    "penstock.oracle",
    "penstock.plan",
    "penstock.policies",
    "penstock.explain",
    "penstock.control",
    "penstock.engines.sim",
    "penstock.adapt",
    "penstock.engines.spark",
    "penstock.verify",
    "penstock.experiments",
    "penstock.bench",
    "penstock.server",
    "penstock.web",
    "penstock.client",
    "penstock.commands",
    "penstock.cli",
)
#: The rooms of packages that have some: each imports only those before it, but for the types in annotations.
ROOMS = {
    "penstock.sql": (
        "text",
        "typing",
        "expressions",
        "reading",
        "binding",
        "answer",
        "comparing",
        "showing",
        "whole_windows",
        "plans",
        "plan_expressions",
        "users",
        "streams",
        "partitions",
        "session",
        "renaming",
        "scoping",
        "difference",
        "builder",
        "completing",
    ),
    "penstock.engines.spark": (
        "failing",
        "session",
        "functions",
        "storage",
        "rows",
        "operators",
        "ingest",
        "steps",
        "sharing",
        "results",
        "runtime",
        "statements",
        "status",
        "engine",
    ),
    "penstock.server": (
        "layout",
        "logging",
        "setting_kinds",
        "settings",
        "config",
        "config_page",
        "channel",
        "committed",
        "security",
        "metrics",
        "supervision",
        "child",
        "engine",
        "experiments",
        "http",
        "processes",
    ),
}
#: Who may import pyspark: the engine, and what runs plain Spark beside it.
ON_SPARK = ("penstock.engines.spark", "penstock.verify", "penstock.bench")
#: Packages that hold layers and no code of their own; everyone may import them.
NAMESPACES = ("penstock", "penstock.engines")

#: Clocks, threads, chance and the world outside: what makes two runs of control differ.
IMPURE = {
    "asyncio",
    "concurrent",
    "datetime",
    "io",
    "multiprocessing",
    "os",
    "pathlib",
    "queue",
    "random",
    "secrets",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "uuid",
}
IMPURE_CALLS = {"input", "open", "print"}


def layer_of(module: str) -> int | None:
    """The module's place in LAYERS."""
    for place, layer in enumerate(LAYERS):
        if module == layer or module.startswith(f"{layer}."):
            return place
    return None


def imports(tree: ast.AST) -> Iterator[str]:
    """Everything a module imports, wherever in its text; a relative import begins with a dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            if base in NAMESPACES:
                yield from (f"{base}.{alias.name}" for alias in node.names)
            else:
                yield base


def violations(module: str, source: str) -> Iterator[str]:
    """What a module does that its layer may not."""
    tree = ast.parse(source)
    layer = layer_of(module)
    if layer is None and module not in NAMESPACES:
        yield f"{module} has no place in LAYERS"
        return
    for imported in imports(tree):
        if imported.startswith("."):
            yield f"{module} imports {imported}; write the full name, so that its layer can be seen"
        other = layer_of(imported)
        if other is not None and (layer is None or other > layer):
            yield f"{module} imports {imported}, a later layer"
        if imported.split(".")[0] == "pyspark" and not module.startswith(ON_SPARK):
            yield f"{module} imports pyspark; only {' and '.join(ON_SPARK)} may"
        if imported.split(".")[0] in IMPURE and module.startswith("penstock.control"):
            yield f"{module} imports {imported}; control has no clock, no threads and does no I/O"
    if module.startswith("penstock.control"):
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in IMPURE_CALLS
            ):
                yield f"{module} calls {node.func.id}; control does no I/O"


def room_of(package: str, module: str) -> str | None:
    """The room of a package that a module is in."""
    return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else None


def run_time_imports(tree: ast.AST) -> Iterator[str]:
    """What a module imports when it runs, as opposed to when its types are checked."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            for base in imports(node):
                package = isinstance(node, ast.ImportFrom) and base in ROOMS
                yield from (f"{base}.{alias.name}" for alias in node.names) if package else (base,)
        yield from run_time_imports(node)


def strays(package: str, module: str, source: str) -> Iterator[str]:
    """What a module of a package imports that its room may not."""
    rooms, room = ROOMS[package], room_of(package, module)
    if room is None:
        return
    if room not in rooms:
        yield f"{module} is in no room"
        return
    for imported in run_time_imports(ast.parse(source)):
        other = room_of(package, imported)
        if other is not None and (other not in rooms or rooms.index(other) > rooms.index(room)):
            yield f"{module} imports {imported}, of a later room"


def modules() -> dict[str, Path]:
    """Every module of the package, by full name."""
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def test_every_module_keeps_to_its_layer() -> None:
    found = modules()
    assert "penstock.model.graph" in found
    broken = [line for name, path in found.items() for line in violations(name, path.read_text("utf-8"))]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("package", ROOMS)
def test_every_module_keeps_to_its_room(package: str) -> None:
    found = {name: path for name, path in modules().items() if room_of(package, name) is not None}
    assert {room_of(package, name) for name in found} == {*ROOMS[package]}
    broken = [line for name, path in found.items() for line in strays(package, name, path.read_text("utf-8"))]
    assert not broken, "\n".join(broken)


SPARK = "penstock.engines.spark"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (f"from {SPARK}.runtime.mailbox import Mailbox", f"{SPARK}.runtime.mailbox"),
        (f"def f():\n    import {SPARK}.engine", f"{SPARK}.engine"),
        (f"from {SPARK} import status", f"{SPARK}.status"),
    ],
)
def test_a_module_that_leaves_its_room_is_found(source: str, complaint: str) -> None:
    name = f"{SPARK}.steps.units"
    assert list(strays(SPARK, name, source)) == [f"{name} imports {complaint}, of a later room"]
    for_types = f"if TYPE_CHECKING:\n    from {SPARK}.runtime.coordinator import Coordinator"
    assert not list(strays(SPARK, name, f"{for_types}\nfrom {SPARK} import failing"))


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        (
            "penstock.model.graph",
            "from penstock.plan.sharing import merge",
            "penstock.model.graph imports penstock.plan.sharing, a later layer",
        ),
        (
            "penstock.plan.sharing",
            "def merge():\n    import penstock.control.machine",
            "penstock.plan.sharing imports penstock.control.machine, a later layer",
        ),
        (
            "penstock.model.graph",
            "from penstock import policies",
            "penstock.model.graph imports penstock.policies, a later layer",
        ),
        (
            "penstock.engines.sim.engine",
            "from penstock.engines import spark",
            "penstock.engines.sim.engine imports penstock.engines.spark, a later layer",
        ),
        (
            "penstock.model.graph",
            "from ..plan import sharing",
            "penstock.model.graph imports ..plan; write the full name, so that its layer can be seen",
        ),
        (
            "penstock",
            "from penstock.model import graph",
            "penstock imports penstock.model, a later layer",
        ),
        (
            "penstock.server.app",
            "from pyspark.sql import SparkSession",
            "penstock.server.app imports pyspark; only penstock.engines.spark and penstock.verify and "
            "penstock.bench may",
        ),
        (
            "penstock.control.machine",
            "from time import monotonic",
            "penstock.control.machine imports time; control has no clock, no threads and does no I/O",
        ),
        (
            "penstock.control.machine",
            "import os.path as p",
            "penstock.control.machine imports os.path; control has no clock, no threads and does no I/O",
        ),
        (
            "penstock.control.machine",
            "print('here')",
            "penstock.control.machine calls print; control does no I/O",
        ),
        ("penstock.helpers", "", "penstock.helpers has no place in LAYERS"),
    ],
)
def test_a_module_that_breaks_a_layer_is_found(module: str, source: str, complaint: str) -> None:
    assert list(violations(module, source)) == [complaint]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("penstock.control.machine", "from penstock.policies.layout import lay_out\nimport heapq"),
        ("penstock.engines.spark.steps.steps", "import pyspark, time"),
        ("penstock.cli", "from penstock import __version__"),
        ("penstock.model.graph", "from penstock.model.query import Query"),
    ],
)
def test_a_module_that_keeps_to_its_layer_passes(module: str, source: str) -> None:
    assert not list(violations(module, source))


def test_operators_touch_no_rows() -> None:
    """They say what becomes of rows; whoever carries it out knows where these are."""
    for path in (SOURCES / "penstock/engines/spark/operators").glob("*.py"):
        imported = {name.partition(".")[0] for name in imports(ast.parse(path.read_text("utf-8")))}
        assert not imported & {"numpy", "pyarrow", "pandas"}, path.name
