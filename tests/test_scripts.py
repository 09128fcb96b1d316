"""The scripts that `make` calls, tried with stand-ins for the programs they look for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHECK_JAVA = Path(__file__).parents[1] / "scripts" / "check-java"
#: What the script itself needs; nothing else is on its PATH.
TOOLS = ("sh", "sed", "head", "cat")


def fake_java(folder: Path, *lines: str) -> None:
    """A `java` that says these lines of itself, on standard error as Java does."""
    folder.mkdir(parents=True, exist_ok=True)
    java = folder / "java"
    java.write_text("#!/bin/sh\ncat >&2 <<'END'\n" + "\n".join(lines) + "\nEND\n")
    java.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder to be the whole PATH, with no java in it yet."""
    folder = tmp_path / "path"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    return folder


def check_java(path: Path, home: Path | str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(path)} | ({} if home is None else {"JAVA_HOME": str(home)})
    return subprocess.run(
        [CHECK_JAVA], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def assert_quiet(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def assert_refused(done: subprocess.CompletedProcess[str], found: str) -> None:
    """One message on standard error: what was found, and how to get another for each system."""
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Spark needs Java 17 or later; found {found}.\n")
    for way in ("apt install", "dnf install", "brew install", "JAVA_HOME", "make test-core"):
        assert way in done.stderr


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.2", "25-ea", "25.0.1+8-LTS", "117.0.1"])
def test_a_java_that_is_new_enough_is_passed_over_in_silence(path: Path, version: str) -> None:
    fake_java(path, f'openjdk version "{version}" 2025-04-15', "OpenJDK Runtime Environment (build x)")
    assert_quiet(check_java(path))


@pytest.mark.parametrize("version", ["1.8.0_292", "1.7.0", "9-internal", "11.0.22", "16.0.2"])
def test_an_old_java_is_named(path: Path, version: str) -> None:
    fake_java(path, f'java version "{version}"')
    assert_refused(check_java(path), f"{version} in PATH")


def test_a_missing_java_is_said_to_be_missing(path: Path) -> None:
    assert_refused(check_java(path), "none in PATH")


def test_a_java_that_does_not_say_its_version_counts_as_none(path: Path) -> None:
    fake_java(path, "Unable to locate a Java Runtime.")
    assert_refused(check_java(path), "none in PATH")


def test_lines_before_the_version_do_not_matter(path: Path) -> None:
    fake_java(path, "Picked up JAVA_TOOL_OPTIONS: -Xmx1g", 'openjdk version "21.0.2" 2024-01-16')
    assert_quiet(check_java(path))


def test_java_home_goes_before_the_path_wherever_it_points(path: Path, tmp_path: Path) -> None:
    new, old, nowhere = tmp_path / "my java 21", tmp_path / "java 11", tmp_path / "nowhere"
    fake_java(new / "bin", 'openjdk version "21.0.2"')
    fake_java(old / "bin", 'openjdk version "11.0.22"')
    fake_java(path, 'openjdk version "1.8.0_292"')
    assert_quiet(check_java(path, new))
    fake_java(path, 'openjdk version "17.0.15"')
    assert_refused(check_java(path, old), f"11.0.22 in JAVA_HOME ({old})")
    refused = check_java(path, nowhere)
    assert_refused(refused, f"none in JAVA_HOME ({nowhere})")
    assert "unset it" in refused.stderr


def test_an_empty_java_home_is_none(path: Path) -> None:
    fake_java(path, 'openjdk version "17.0.15"')
    assert_quiet(check_java(path, ""))
