"""Settings from their sources: defaults, `penstock.toml`, environment variables, flags; later ones win.

loaded = load(Path("penstock.toml"), os.environ, {"server.port": "9000"})
loaded.settings.server.port    # 9000
loaded.origins["server.port"]  # 'flag'
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from penstock.errors import ConfigError, closest
from penstock.server.setting_kinds import Kind
from penstock.server.settings import SECTIONS, SETTINGS, Settings

__all__ = [
    "Change",
    "Loaded",
    "Reloaded",
    "Settings",
    "config_file",
    "is_loopback",
    "load",
    "read_flags",
    "reload",
    "shown",
]

DEFAULT, FLAG = "default", "flag"
#: Where settings are looked for, unless a file is named by flag or by this variable.
FILE, FILE_VARIABLE = Path("penstock.toml"), "PENSTOCK_CONFIG"


def config_file(named: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file of settings: the one that is named, `$PENSTOCK_CONFIG`, or `penstock.toml` if it is here."""
    if named is not None:
        return named
    if environ.get(FILE_VARIABLE):
        return Path(environ[FILE_VARIABLE])
    return FILE if FILE.exists() else None


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and by full name where each value came from: `default`, a file, a variable, or `flag`."""

    settings: Settings
    origins: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Given:
    """A value as it was found, and where."""

    value: Any
    origin: str
    place: str  # what a complaint begins with


def load(
    path: Path | None, environ: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> Loaded:
    """What holds; ConfigError with everything that is wrong, a line for each.

    `flags` are by full name; None counts as not given. Relative paths in the file begin where the file is.
    """
    problems: list[str] = []
    given: dict[str, _Given] = {}
    if path is not None:
        given |= _from_file(path, problems)
    given |= _from_environment(environ or {}, problems)
    given |= _from_flags(flags or {}, problems)
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for key, one in given.items():
        section, _, name = key.partition(".")
        values[section][name] = one.value
    if problems:
        raise ConfigError("\n".join([*problems, *_wrong_values(values, given)]))
    try:
        settings = Settings.model_validate(values)
    except ValidationError:
        raise ConfigError("\n".join(_wrong_values(values, given))) from None
    _check_together(settings, given)
    origins = {key: given[key].origin if key in given else DEFAULT for key in SETTINGS}
    return Loaded(settings, origins)


def _wrong_values(values: Mapping[str, Mapping[str, Any]], given: Mapping[str, _Given]) -> Iterator[str]:
    for section, found in values.items():
        for name, value in found.items():
            key = f"{section}.{name}"
            kind = SETTINGS[key].about.kind
            try:
                kind.read(value)
            except ValueError as problem:
                one = given[key]
                value_shown = "" if kind.hides else f" = {_quoted(one.value)}"
                yield f"{one.place}{value_shown}: {problem}"


def _quoted(value: Any) -> str:
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


# --- sources ---


def _from_file(path: Path, problems: list[str]) -> Iterator[tuple[str, _Given]]:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: it is not UTF-8 text") from None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: it is not TOML: {error}") from None
    return _from_document(path, document, problems)


def _from_document(
    path: Path, document: Mapping[str, Any], problems: list[str]
) -> Iterator[tuple[str, _Given]]:
    for section, table in document.items():
        if section not in SECTIONS:
            hint = _belongs(section) or closest(section, SECTIONS) or f" There are {', '.join(SECTIONS)}."
            what = f"no section [{section}]" if isinstance(table, Mapping) else f"{section}: in no section"
            problems.append(f"{path}: {what}.{hint}")
        elif not isinstance(table, Mapping):
            problems.append(f"{path}: {section} must be a section; write [{section}] and its settings below")
        else:
            for name, value in table.items():
                key = f"{section}.{name}"
                if key not in SETTINGS:
                    problems.append(f"{path}: [{section}] {name}: no such setting.{_hint(section, name)}")
                else:
                    yield key, _Given(_beside(path, key, value), str(path), f"{path}: [{section}] {name}")


def _belongs(name: str) -> str:
    """A setting that stands outside its section."""
    found = [key for key in SETTINGS if key.endswith(f".{name}")]
    return f" Write it below [{found[0].partition('.')[0]}]." if found else ""


def _hint(section: str, name: str) -> str:
    mine = [key.partition(".")[2] for key in SETTINGS if key.startswith(f"{section}.")]
    return _belongs(name) or closest(name, mine) or f" There are {', '.join(mine)}."


def _beside(path: Path, key: str, value: Any) -> Any:
    """Paths begin where the file is that names them."""
    kind: Kind = SETTINGS[key].about.kind
    if not kind.is_path:
        return value
    if isinstance(value, list):
        return [_beside(path, key, one) for one in value]
    if isinstance(value, dict):
        return {name: _beside(path, key, one) for name, one in value.items()}
    if not isinstance(value, str) or not value.strip() or value == "none" or value.startswith("~"):
        return value
    return str(path.parent / value)


def _from_environment(environ: Mapping[str, str], problems: list[str]) -> Iterator[tuple[str, _Given]]:
    by_variable = {one.variable: key for key, one in SETTINGS.items()}
    sections = tuple(f"PENSTOCK_{section.upper()}_" for section in SECTIONS)
    for variable, value in sorted(environ.items()):
        if variable in by_variable:
            yield by_variable[variable], _Given(value, f"environment {variable}", f"environment {variable}")
        elif variable.startswith(sections):
            problems.append(f"environment {variable}: no such setting.{closest(variable, by_variable)}")


def _from_flags(flags: Mapping[str, Any], problems: list[str]) -> Iterator[tuple[str, _Given]]:
    for key, value in flags.items():
        if value is None:
            continue
        if key in SETTINGS:
            yield key, _Given(value, FLAG, f"flag {key}")
        else:
            problems.append(f"flag {key}: no such setting.{closest(key, SETTINGS)}")


def read_flags(texts: Iterable[str]) -> dict[str, str]:
    """What `--set server.port=9000` says, for `load`."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set {text}: write SECTION.KEY=VALUE, as --set server.port=9000")
        found[key.strip()] = value.strip()
    return found


# --- what must fit together ---


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def _check_together(settings: Settings, given: Mapping[str, _Given]) -> None:
    server = settings.server
    if (server.tls_cert is None) != (server.tls_key is None):
        has, lacks = ("tls_cert", "tls_key") if server.tls_cert is not None else ("tls_key", "tls_cert")
        place = given[f"server.{has}"].place
        raise ConfigError(f"{place}: TLS needs a certificate and its key; set server.{lacks}, too")
    for name in ("tls_cert", "tls_key"):
        file = getattr(server, name)
        if file is not None and not file.is_file():
            raise ConfigError(f"{given[f'server.{name}'].place}: there is no file {file}")
    if not is_loopback(server.host) and not server.tls and not server.allow_insecure:
        raise ConfigError(
            f"server.host = '{server.host}' can be reached from other machines, and there is no TLS: tokens "
            "and rows could be read on the way. Set server.tls_cert and server.tls_key, or, if something in "
            "front of it speaks TLS, server.allow_insecure = true; or listen on 127.0.0.1"
        )


# --- reading them again ---


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that has another value now."""

    key: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.key}: {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The settings that hold from now on: of those that changed, `applied` are in it, the others are not."""

    settings: Settings
    applied: tuple[Change, ...]
    needs_restart: tuple[Change, ...]

    def __str__(self) -> str:
        lines = [f"changed {change}" for change in self.applied]
        lines += [f"not changed until the server is started again: {change}" for change in self.needs_restart]
        return "\n".join(lines) or "no setting has changed"


def reload(old: Settings, new: Settings) -> Reloaded:
    """What becomes of settings that were read again while the server runs."""
    applied: list[Change] = []
    needs_restart: list[Change] = []
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for key, setting in SETTINGS.items():
        section, _, name = key.partition(".")
        before, after = old.value(key), new.value(key)
        values[section][name] = after if setting.about.live else before
        if before != after:
            changes = applied if setting.about.live else needs_restart
            changes.append(Change(key, shown(key, before), shown(key, after)))
    return Reloaded(Settings.model_validate(values), tuple(applied), tuple(needs_restart))


def shown(key: str, value: Any) -> str:
    """A value for people, without secrets."""
    return SETTINGS[key].about.kind.shown(value)
