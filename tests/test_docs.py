"""The manual: its Python runs, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run_page(page: Path) -> None:
    names: dict[str, object] = {}
    for snippet in PYTHON.findall(page.read_text("utf-8")):
        exec(compile(snippet, name(page), "exec"), names)


def needs_spark(page: Path) -> bool:
    return any("Engine(" in snippet for snippet in PYTHON.findall(page.read_text("utf-8")))


WITH_PYTHON = [page for page in PAGES if PYTHON.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", [page for page in WITH_PYTHON if not needs_spark(page)], ids=name)
def test_the_python_on_a_page_runs_from_top_to_bottom(page: Path) -> None:
    run_page(page)


@pytest.mark.parametrize("page", [page for page in WITH_PYTHON if needs_spark(page)], ids=name)
@pytest.mark.usefixtures("spark")
def test_the_python_on_a_page_that_needs_spark_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text("utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing
