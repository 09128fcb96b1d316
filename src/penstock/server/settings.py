"""Every setting of a server: its name, meaning and default, and whether it can be changed while it runs.

The names are those of `penstock.toml`: a section, and a key in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from penstock.adapt.budget import SHARE
from penstock.model.scheduling import SCHEDULINGS, WAYS, Scheduling, Way
from penstock.server import setting_kinds as kinds
from penstock.server.setting_kinds import Kind

PORT = 8642
#: Formats that reach nothing but files below the roots, and rows that clients push.
SAFE_FORMATS = ("csv", "json", "parquet", "generator", "push", "memory")
FORMATS = (*SAFE_FORMATS, "kafka", "rate", "console")


@dataclass(frozen=True, slots=True)
class About:
    """What there is to know of a setting; one that is `live` is changed by SIGHUP, others by a restart."""

    kind: Kind
    meaning: str
    live: bool = False


def _setting(kind: Kind, meaning: str, *, live: bool = False) -> tuple[About, BeforeValidator]:
    return About(kind, meaning, live), BeforeValidator(kind.read)


class Section(BaseModel):
    """One table of `penstock.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class ServerSection(Section):
    """Where the server listens, and whom it listens to."""

    host: Annotated[str, *_setting(kinds.text("a host name or address"), "The address it listens on.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        int, *_setting(kinds.whole(0, 65535), "The port it listens on; 0 takes one that is free.")
    ] = PORT
    state: Annotated[
        Path, *_setting(kinds.path(), "The directory where everything is kept that outlives a restart.")
    ] = Path("penstock-state")
    tokens: Annotated[
        Path | None,
        *_setting(
            kinds.path().optional(),
            "The file of tokens, hashed; `tokens.json` in the state unless it is named.",
            live=True,
        ),
    ] = None
    tls_cert: Annotated[
        Path | None, *_setting(kinds.path().optional(), "The certificate for TLS, with its chain, as PEM.")
    ] = None
    tls_key: Annotated[
        Path | None, *_setting(kinds.path().optional(), "The certificate's private key, as PEM.")
    ] = None
    allow_insecure: Annotated[
        bool,
        *_setting(
            kinds.switch(),
            "Listen beyond this machine without TLS: only where something in front of it speaks TLS.",
        ),
    ] = False
    names: Annotated[
        tuple[str, ...],
        *_setting(
            kinds.several(kinds.text("a host name")),
            "Host names by which clients may call it, beside its address; all others are refused.",
            live=True,
        ),
    ] = ()
    body_bytes: Annotated[int, *_setting(kinds.size(), "The largest body of a request.", live=True)] = (
        16_000_000
    )
    requests_per_s: Annotated[
        float, *_setting(kinds.rate(), "Requests that one token may make.", live=True)
    ] = 200.0

    @property
    def tokens_file(self) -> Path:
        """Where tokens are."""
        return self.tokens if self.tokens is not None else self.state / "tokens.json"

    @property
    def tls(self) -> bool:
        """Whether it speaks TLS."""
        return self.tls_cert is not None


class EngineSection(Section):
    """How queries run on Spark."""

    policy: Annotated[
        str | None,
        *_setting(
            kinds.policy().optional(),
            "How all of it is scheduled; unless it is named, the one that was set last.",
            live=True,
        ),
    ] = None
    scheduling: Annotated[
        Scheduling | None,
        *_setting(
            kinds.choice(SCHEDULINGS).optional(),
            "How the graph is divided among threads; unless it is named, the way that was set last.",
            live=True,
        ),
    ] = None
    workers: Annotated[int, *_setting(kinds.whole(1, 1024), "Steps that may run at once.")] = 2
    memory: Annotated[
        int, *_setting(kinds.size(), "Rows that wait in memory; more of them wait on disk.")
    ] = 512 << 20
    train_rows: Annotated[int, *_setting(kinds.whole(1), "The most rows of one step.")] = 200_000
    steps: Annotated[
        Way | None,
        *_setting(
            kinds.choice(WAYS).optional(),
            "How steps are run: in the driver's hand, at large by many tasks, or by size; unless it is "
            "named, by size on this machine, and in hand elsewhere.",
        ),
    ] = None
    master: Annotated[
        str | None,
        *_setting(
            kinds.text("a master of Spark's, such as spark://host:7077").optional(),
            "The Spark to run on; unless it is named, `$MASTER` or this machine.",
        ),
    ] = None
    conf: Annotated[Mapping[str, str], *_setting(kinds.spark_settings(), "Settings of Spark's.")] = {}
    profiling: Annotated[
        float,
        *_setting(
            kinds.fraction(positive=False),
            "The share of processor time for samples that tell operators of one job apart.",
        ),
    ] = SHARE


class LimitsSection(Section):
    """What each namespace may use, unless it was given limits of its own."""

    queries: Annotated[
        int | None, *_setting(kinds.whole(0).optional(), "Queries that it may have.", live=True)
    ] = None
    rows_per_s: Annotated[
        float | None, *_setting(kinds.rate().optional(), "Rows that it may push.", live=True)
    ] = None
    memory: Annotated[
        int | None,
        *_setting(
            kinds.size().optional(), "What may wait for its queries and be remembered by them.", live=True
        ),
    ] = None
    weight: Annotated[
        float | None,
        *_setting(
            kinds.number().optional(),
            "The most that all its queries may weigh together.",
            live=True,
        ),
    ] = None


class ConfinementSection(Section):
    """What statements that come over the network may reach."""

    roots: Annotated[
        tuple[Path, ...],
        *_setting(
            kinds.several(kinds.path()),
            "Directories below which sources and sinks may be; without any, no statement may name a path.",
            live=True,
        ),
    ] = ()
    roots_of: Annotated[
        Mapping[str, tuple[Path, ...]],
        *_setting(
            kinds.paths_of_names(),
            "Directories of single namespaces, which have these instead of `roots`.",
            live=True,
        ),
    ] = {}
    formats: Annotated[
        tuple[str, ...],
        *_setting(
            kinds.several(kinds.choice(FORMATS)),
            "Formats of streams, tables and sinks.",
            live=True,
        ),
    ] = SAFE_FORMATS
    kafka_servers: Annotated[
        tuple[str, ...],
        *_setting(
            kinds.several(kinds.text("HOST:PORT")),
            "Kafka's servers that streams may name; `kafka` must be among the formats, too.",
            live=True,
        ),
    ] = ()
    functions: Annotated[
        tuple[Path, ...],
        *_setting(
            kinds.several(kinds.path()),
            "Directories below which modules with functions in Python must be; without any, there are none.",
            live=True,
        ),
    ] = ()


class RetentionSection(Section):
    """How long things are kept."""

    results: Annotated[
        float | None,
        *_setting(kinds.duration().optional(), "Committed results; for ever unless it is set.", live=True),
    ] = None
    control_log: Annotated[
        float, *_setting(kinds.duration(), "Events of control that can be asked for and replayed.", live=True)
    ] = 600.0
    audit: Annotated[
        int,
        *_setting(
            kinds.size(),
            "How large the audit log grows before it begins anew; five earlier ones are kept.",
            live=True,
        ),
    ] = 64_000_000


class Settings(BaseModel):
    """All settings; it never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    server: ServerSection = ServerSection()
    engine: EngineSection = EngineSection()
    limits: LimitsSection = LimitsSection()
    confinement: ConfinementSection = ConfinementSection()
    retention: RetentionSection = RetentionSection()

    def value(self, key: str) -> Any:
        """A value by its full name, such as `server.port`."""
        section, _, name = key.partition(".")
        return getattr(getattr(self, section), name)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting by its full name, such as `server.port`."""

    key: str
    about: About
    default: Any

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"PENSTOCK_{self.key.replace('.', '_').upper()}"


SECTIONS: Mapping[str, type[Section]] = {
    name: field.annotation  # type: ignore[misc]
    for name, field in Settings.model_fields.items()
}


def _settings() -> Iterator[Setting]:
    for section, model in SECTIONS.items():
        for name, field in model.model_fields.items():
            about = next(one for one in field.metadata if isinstance(one, About))
            yield Setting(f"{section}.{name}", about, field.default)


#: By full name, in the order in which they are shown.
SETTINGS: Mapping[str, Setting] = {one.key: one for one in _settings()}
