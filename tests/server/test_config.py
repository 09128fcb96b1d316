"""Settings: which source wins, what is said of mistakes, and what can be changed while a server runs."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from penstock.errors import ConfigError
from penstock.server.config import Settings, config_file, is_loopback, load, read_flags, reload, shown
from penstock.server.config_page import page
from penstock.server.engine.process import confinement_of
from penstock.server.settings import SETTINGS

ROOT = Path(__file__).parents[2]


def write(folder: Path, text: str) -> Path:
    path = folder / "penstock.toml"
    path.write_text(text, "utf-8")
    return path


def complaints(folder: Path, text: str) -> list[str]:
    """What is said of a file, without where the file is."""
    path = write(folder, text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    return str(caught.value).replace(str(path), "penstock.toml").splitlines()


class TestSources:
    def test_flags_win_over_the_environment_over_the_file_over_the_defaults(self, tmp_path: Path) -> None:
        path = write(tmp_path, "[server]\nport = 1\nnames = ['a']\nrequests_per_s = '5/s'\n")
        environ = {"PENSTOCK_SERVER_PORT": "2", "PENSTOCK_SERVER_NAMES": "b, c", "HOME": "/"}
        loaded = load(path, environ, {"server.port": 3, "server.host": None})
        server = loaded.settings.server
        assert (server.port, server.names, server.requests_per_s) == (3, ("b", "c"), 5.0)
        origins = [loaded.origins[f"server.{name}"] for name in ("port", "names", "requests_per_s", "host")]
        assert origins == ["flag", "environment PENSTOCK_SERVER_NAMES", str(path), "default"]

    def test_without_any_source_the_defaults_hold(self) -> None:
        loaded = load(None)
        assert loaded.settings == Settings()
        assert set(loaded.origins.values()) == {"default"}

    def test_every_setting_can_be_given_by_file_environment_and_flag(self) -> None:
        given = {key: _other(key) for key in SETTINGS}
        environ = {SETTINGS[key].variable: value for key, value in given.items()}
        by_environment, by_flag = (
            load(None, environ),
            load(None, {}, read_flags(f"{k}={v}" for k, v in given.items())),
        )
        assert by_environment.settings == by_flag.settings
        assert set(by_flag.origins.values()) == {"flag"}
        assert [key for key in SETTINGS if by_flag.settings.value(key) == Settings().value(key)] == []

    def test_relative_paths_begin_where_the_file_is(self, tmp_path: Path) -> None:
        path = write(tmp_path, "[server]\nstate = 's'\n[confinement]\nroots = ['data', '/srv']\n")
        settings = load(path).settings
        assert settings.server.state == tmp_path / "s"
        assert settings.confinement.roots == (tmp_path / "data", Path("/srv"))
        assert settings.server.tokens_file == tmp_path / "s" / "tokens.json"
        assert load(None, {"PENSTOCK_SERVER_STATE": "s"}).settings.server.state == Path("s")

    def test_roots_of_namespaces(self, tmp_path: Path) -> None:
        text = "[confinement]\nroots = ['/srv']\nroots_of = { north = ['north', '/srv/all'] }\n"
        settings = load(write(tmp_path, text)).settings
        assert settings.confinement.roots_of == {"north": (tmp_path / "north", Path("/srv/all"))}
        assert confinement_of(settings).roots_of == settings.confinement.roots_of
        shown = "north=/srv/north:/srv/all, south=/srv/south"
        found = load(None, {"PENSTOCK_CONFINEMENT_ROOTS_OF": shown}).settings
        assert SETTINGS["confinement.roots_of"].about.kind.shown(found.confinement.roots_of) == shown
        with pytest.raises(ConfigError, match="it must be NAME=PATH"):
            load(None, {"PENSTOCK_CONFINEMENT_ROOTS_OF": "/srv"})

    def test_quantities_are_read_as_people_write_them(self, tmp_path: Path) -> None:
        text = "[engine]\nmemory = '2 GB'\nprofiling = '5%'\n"
        text += "conf = {spark.executor.cores = 2, 'spark.a' = true}\n"
        text += "[retention]\nresults = '30 days'\ncontrol_log = 60\n[limits]\nrows_per_s = '60 per minute'\n"
        settings = load(write(tmp_path, text)).settings
        assert (settings.engine.memory, settings.engine.profiling) == (2_000_000_000, 0.05)
        assert settings.engine.conf == {"spark.executor.cores": "2", "spark.a": "true"}
        assert (settings.retention.results, settings.retention.control_log) == (2_592_000.0, 60.0)
        assert settings.limits.rows_per_s == 1.0

    def test_the_file_is_the_one_named_or_the_variable_s_or_the_one_that_is_here(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert config_file(None, {}) is None
        write(tmp_path, "")
        assert config_file(None, {}) == Path("penstock.toml")
        assert config_file(None, {"PENSTOCK_CONFIG": "x.toml"}) == Path("x.toml")
        assert config_file(Path("y.toml"), {"PENSTOCK_CONFIG": "x.toml"}) == Path("y.toml")


def _other(key: str) -> str:
    """A value that is right and not the default, as text."""
    if key in ("server.tls_cert", "server.tls_key"):
        return __file__
    special = {
        "server.host": "::1",
        "server.allow_insecure": "yes",
        "engine.policy": "chain",
        "engine.scheduling": "hmts",
        "engine.steps": "in-hand",
        "engine.conf": "spark.a=b,spark.c=d",
        "engine.profiling": "10%",
        "limits.weight": "0.5",
        "confinement.formats": "csv",
        "confinement.roots_of": "north=/srv/north:/srv/all,south=/srv/south",
        "engine.master": "spark://host:7077",
    }
    wants = SETTINGS[key].about.kind.wants
    named = next(
        (text for word, text in (("time", "3 min"), ("size", "3 kB"), ("rate", "3/s")) if word in wants), "3"
    )
    return special.get(key, named)


class TestMistakes:
    def test_unknown_names_are_told_with_what_was_meant(self, tmp_path: Path) -> None:
        text = "port = 1\n[server]\nprot = 2\nworkers = 3\nshoe = 4\n[sever]\nport = 1\n"
        assert complaints(tmp_path, text) == [
            "penstock.toml: port: in no section. Write it below [server].",
            "penstock.toml: [server] prot: no such setting. Did you mean 'port'?",
            "penstock.toml: [server] workers: no such setting. Write it below [engine].",
            "penstock.toml: [server] shoe: no such setting. There are host, port, state, tokens, tls_cert, "
            "tls_key, "
            "allow_insecure, names, body_bytes, requests_per_s.",
            "penstock.toml: no section [sever]. Did you mean 'server'?",
        ]

    def test_wrong_values_are_told_with_what_would_be_right(self, tmp_path: Path) -> None:
        text = (
            "[server]\nport = 70000\nallow_insecure = 'perhaps'\nnames = 3\nbody_bytes = '3 shoes'\n"
            "[engine]\nworkers = 0\npolicy = 'chian(1)'\nscheduling = 'hmst'\nconf = {shoe = 1}\n"
            "profiling = 2\n"
            "[retention]\nresults = '3'\n[confinement]\nformats = ['cvs']\n"
        )
        found = complaints(tmp_path, text)
        assert found[:5] == [
            "penstock.toml: [server] port = 70000: it must be a whole number from 0 to 65535",
            "penstock.toml: [server] allow_insecure = 'perhaps': it must be true or false",
            "penstock.toml: [server] names = 3: it must be a list, each of it a host name",
            "penstock.toml: [server] body_bytes = '3 shoes': it must be a size above 0, such as '64MB' or "
            "'1.5 GiB': "
            "'shoes' is no unit of size; use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB",
            "penstock.toml: [engine] workers = 0: it must be a whole number from 1 to 1024",
        ]
        assert "no policy 'chian'. Did you mean 'chain'?" in found[5]
        assert found[6:] == [
            "penstock.toml: [engine] scheduling = 'hmst': it must be one of gts, ots, di, pool, owned, hmts. "
            "Did you mean 'hmts'?",
            "penstock.toml: [engine] conf: 'shoe' cannot be among them: it must be a table of Spark's "
            "settings, "
            "such as {\"spark.executor.memory\" = '2g'}",
            "penstock.toml: [engine] profiling = 2: it must be a share from 0 to 1, such as 0.5 or '50%'",
            "penstock.toml: [confinement] formats = ['cvs']: it must be one of csv, json, parquet, "
            "generator, push, "
            "memory, kafka, rate, console. Did you mean 'csv'?",
            "penstock.toml: [retention] results = '3': it must be a time above 0, such as '5 min' or '30 "
            "days': "
            "'3' has no unit; write '3 s' or '3 ms'",
        ]

    def test_variables_and_flags_are_told_by_their_names(self) -> None:
        environ = {"PENSTOCK_SERVER_PROT": "1", "PENSTOCK_ENGINE_WORKERS": "x", "PENSTOCK_TOKEN": "secret"}
        with pytest.raises(ConfigError) as caught:
            load(None, environ, {"server.port": "y", "sever.port": "1"})
        assert str(caught.value).splitlines() == [
            "environment PENSTOCK_SERVER_PROT: no such setting. Did you mean 'PENSTOCK_SERVER_PORT'?",
            "flag sever.port: no such setting. Did you mean 'server.port'?",
            "flag server.port = 'y': it must be a whole number from 0 to 65535",
            "environment PENSTOCK_ENGINE_WORKERS = 'x': it must be a whole number from 1 to 1024",
        ]
        with pytest.raises(
            ConfigError, match=r"--set server.port: write SECTION.KEY=VALUE, as --set server.port=9000"
        ):
            read_flags(["server.port"])

    def test_a_file_that_cannot_be_read_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"^cannot read .*nowhere\.toml: No such file or directory$"):
            load(tmp_path / "nowhere.toml")
        (said,) = complaints(tmp_path, "[server\n")
        assert said.startswith("penstock.toml: it is not TOML: ")
        (tmp_path / "bytes.toml").write_bytes(b"\xff")
        with pytest.raises(ConfigError, match="it is not UTF-8 text"):
            load(tmp_path / "bytes.toml")

    @given(
        st.sampled_from(sorted(SETTINGS)),
        st.text() | st.integers() | st.floats() | st.lists(st.text()) | st.booleans(),
    )
    def test_whatever_is_given_is_taken_or_refused_in_words(self, key: str, value: object) -> None:
        said = ""
        try:
            said = shown(key, load(None, {}, {key: value}).settings.value(key))
        except ConfigError as error:
            said = str(error) if key in str(error) else ""
        assert said

    def test_settings_never_change(self) -> None:
        with pytest.raises(ValidationError, match="frozen"):
            Settings().server.port = 3  # type: ignore[misc]


class TestOffThisMachine:
    @pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "LOCALHOST."])
    def test_on_loopback_no_tls_is_needed(self, host: str) -> None:
        assert load(None, {}, {"server.host": host}).settings.server.host == host

    @pytest.mark.parametrize(
        "host", ["0.0.0.0", "::", "10.0.0.7", "penstock.example.org", "localhost.example.org"]
    )
    def test_elsewhere_it_is(self, host: str) -> None:
        assert not is_loopback(host)
        with pytest.raises(ConfigError) as caught:
            load(None, {}, {"server.host": host})
        assert str(caught.value) == (
            f"server.host = '{host}' can be reached from other machines, and there is no TLS: tokens and "
            "rows could "
            "be read on the way. Set server.tls_cert and server.tls_key, or, if something in front of it "
            "speaks TLS, "
            "server.allow_insecure = true; or listen on 127.0.0.1"
        )
        with_tls = {"server.host": host, "server.tls_cert": __file__, "server.tls_key": __file__}
        assert load(None, {}, with_tls).settings.server.tls
        assert (
            load(None, {}, {"server.host": host, "server.allow_insecure": True}).settings.server.host == host
        )

    def test_a_certificate_needs_its_key_and_both_must_be_there(self, tmp_path: Path) -> None:
        (said,) = complaints(tmp_path, f"[server]\ntls_cert = '{__file__}'\n")
        assert said == (
            "penstock.toml: [server] tls_cert: TLS needs a certificate and its key; set server.tls_key, too"
        )
        (said,) = complaints(tmp_path, f"[server]\ntls_cert = '{__file__}'\ntls_key = 'k.pem'\n")
        assert said == f"penstock.toml: [server] tls_key: there is no file {tmp_path / 'k.pem'}"


class TestReload:
    def test_what_is_live_changes_and_what_is_not_waits_for_a_restart(self) -> None:
        old = load(None, {}, {"server.port": 1}).settings
        new = load(None, {}, {"server.port": 2, "engine.policy": "chain", "limits.queries": 5}).settings
        found = reload(old, new)
        assert (found.settings.server.port, found.settings.engine.policy, found.settings.limits.queries) == (
            1,
            "chain",
            5,
        )
        assert str(found) == (
            "changed engine.policy: none → chain\nchanged limits.queries: none → 5\n"
            "not changed until the server is started again: server.port: 1 → 2"
        )
        assert str(reload(old, old)) == "no setting has changed"

    @pytest.mark.parametrize("key", SETTINGS)
    def test_each_setting_is_in_force_or_said_to_need_a_restart(self, key: str) -> None:
        old = Settings()
        extra = {"server.tls_cert": __file__, "server.tls_key": __file__} if "tls" in key else {}
        new = load(None, {}, {key: _other(key)} | extra).settings
        found = reload(old, new)
        changed = found.applied if SETTINGS[key].about.live else found.needs_restart
        assert key in [change.key for change in changed]
        assert (found.settings.value(key) == new.value(key)) == SETTINGS[key].about.live

    def test_secrets_are_not_told(self) -> None:
        conf = {"engine.conf": {"spark.ssl.keyPassword": "hunter2", "spark.x": "y"}}
        found = reload(Settings(), load(None, {}, conf).settings)
        assert str(found.needs_restart[0]) == "engine.conf: none → spark.ssl.keyPassword=(hidden), spark.x=y"
        with pytest.raises(ConfigError) as caught:
            load(None, {"PENSTOCK_ENGINE_CONF": "spark.a.password=hunter2,shoe"})
        assert "hunter2" not in str(caught.value)


class TestPage:
    def test_the_page_of_the_manual_is_the_one_that_make_docs_makes(self) -> None:
        assert (ROOT / "docs" / "configuration.md").read_text("utf-8") == page()

    def test_its_example_holds_but_for_the_files_that_are_not_here(self, tmp_path: Path) -> None:
        (example,) = re.findall(r"^```toml\n(.*?)^```", page(), re.DOTALL | re.MULTILINE)
        there = re.sub(r'(tls_\w+) = ".*?"', rf'\1 = "{__file__}"', example)
        loaded = load(write(tmp_path, there))
        assert {key for key, origin in loaded.origins.items() if origin != "default"} == {
            f"{section}.{name}" for section, table in tomllib.loads(example).items() for name in table
        }

    def test_the_engine_has_the_same_defaults(self) -> None:
        from penstock.engines.spark.engine import Engine

        parameters = inspect.signature(Engine).parameters
        engine = Settings().engine
        ours = {"workers": engine.workers, "memory_bytes": engine.memory, "train_rows": engine.train_rows}
        ours |= {
            "steps": engine.steps,
            "profiling": engine.profiling,
            "policy": engine.policy,
            "master": engine.master,
        }
        assert {name: parameters[name].default for name in ours} == ours


class TestCommand:
    def run(self, folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from penstock.cli import main; main()", "config", *arguments]
        environment = {**os.environ, **environ}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, cwd=folder, env=environment, check=False
        )

    def test_it_shows_each_value_and_where_it_came_from(self, tmp_path: Path) -> None:
        write(tmp_path, "[engine]\nworkers = 4\nconf = {'spark.ui.secretKey' = 'hunter2'}\n")
        done = self.run(tmp_path, "--set", "server.names=a.example.org", PENSTOCK_SERVER_PORT="9000")
        assert (done.returncode, done.stderr) == (0, "")
        lines = {line.split("│")[1].strip(): line for line in done.stdout.splitlines() if line.count("│") > 3}
        assert set(SETTINGS) <= set(lines)
        for key, value, origin in (
            ("engine.workers", "4", "penstock.toml"),
            ("server.port", "9000", "environment PENSTOCK_SERVER_PORT"),
            ("server.names", "a.example.org", "flag"),
            ("engine.conf", "spark.ui.secretKey=(hidden)", "penstock.toml"),
            ("retention.control_log", "10 min", "default"),
        ):
            assert [cell.strip() for cell in lines[key].split("│")[2:4]] == [value, origin]
        assert "hunter2" not in done.stdout + self.run(tmp_path, "--json").stdout

    def test_a_mistake_is_one_line_and_exit_2(self, tmp_path: Path) -> None:
        write(tmp_path, "[server]\nprot = 4\n")
        done = self.run(tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "error: penstock.toml: [server] prot: no such setting. Did you mean 'port'?\n"
