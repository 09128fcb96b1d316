"""A day with the page: a stream, queries, results, too high a rate, another policy, the end of a query."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.web.browser.conftest import PATIENCE_MS, PHONE, Tab

pytestmark = pytest.mark.jvm

#: Milliseconds of work for each row, which one thread cannot do for all rows of a hundred times the rate.
HEAVY = "SELECT key FROM readings WHERE aggregate(sequence(1, 20000), 0D, (a, x) -> a + sin(x * value)) > 1e9"
LOW = "20/s"
#: The most rows of a step: as long as one of the heavy query's takes, the light one waits under any policy.
A_STEP = "200"
#: What the light query asks for, in seconds.
ASKED_S = 4
PAGES = ("/", "/graph", "/new", "/streams", "/register", "/streams/readings", "/scheduler", "/experiments")


def test_a_day_with_the_page(tab: Tab) -> None:
    page = tab.page
    page.goto("/")
    expect(page.get_by_role("heading", name="No query yet")).to_be_visible(timeout=PATIENCE_MS)
    register(page)
    build_by_forms(page)
    write("heavy", HEAVY, page)
    write("light", "SELECT t, key, value FROM readings WHERE value > 0", page, latency_s=ASKED_S)
    see_results(page)
    schedule(page, "fcfs", rows=A_STEP)
    threads(page, "gts")
    change_rate(page, "× 10")
    page.goto("/")
    row = page.locator(".row", has=page.get_by_text("light", exact=True))
    expect(row).to_contain_text("violated", timeout=PATIENCE_MS)
    schedule(page, "path-capacity", rows=A_STEP)
    expect(page.locator("#main")).to_contain_text("policy: path-capacity")  # a mark in the charts
    page.goto("/")
    page.wait_for_function(RECOVERED, arg=ASKED_S, timeout=2 * PATIENCE_MS)
    change_rate(page, "÷ 10")
    stop(page, "light")


#: Whether the latest latency that the overview shows of the light query is within what was asked for.
RECOVERED = """(asked) => {
  const rows = [...document.querySelectorAll(".board .row")];
  const light = rows.find((one) => one.querySelector(".query-name").innerText === "light");
  const shown = light?.querySelectorAll(".cell > .value")[0]?.innerText ?? "";
  const found = /^([\\d.]+) (µs|ms|s|min)$/.exec(shown);
  if (!found) return false;
  return Number(found[1]) * {"µs": 1e-6, ms: 1e-3, s: 1, min: 60}[found[2]] < asked;
}"""


def register(page: Page) -> None:
    """A generated stream, by the form."""
    page.goto("/streams")
    page.get_by_role("link", name="Register a stream").first.click()
    page.get_by_role("button", name="By a form").click()
    page.get_by_label("name", exact=True).fill("readings")
    page.get_by_label("format", exact=True).select_option("generator")
    page.get_by_label("rows a second").fill(LOW)
    page.get_by_role("button", name="Create the stream").click()
    expect(page).to_have_url(re.compile("/streams/readings$"), timeout=PATIENCE_MS)


def build_by_forms(page: Page) -> None:
    """A window over the stream, without a word of SQL."""
    page.goto("/new")
    page.get_by_role("button", name="Operators", exact=True).click()
    page.get_by_role("button", name="readings").click()
    page.get_by_label("Column of condition 1").select_option("value")
    page.get_by_label("Comparison of condition 1").select_option(">")
    page.get_by_label("Value of condition 1").fill("0.5")
    expect(page.get_by_label("SQL of the steps")).to_contain_text("WHERE value > 0.5", timeout=PATIENCE_MS)
    page.get_by_label("Name", exact=True).fill("built")
    page.get_by_role("button", name="Start the query").click()
    expect(page).to_have_url(re.compile("/queries/built$"), timeout=PATIENCE_MS)


def write(name: str, select: str, page: Page, latency_s: float | None = None) -> None:
    """A query in the editor; a mistake is told before it is mended."""
    page.goto("/new")
    kept = page.evaluate("sessionStorage.getItem('penstock-new-way') ?? 'SQL'")
    way = page.get_by_role("button", name=kept, exact=True)
    expect(way).to_have_attribute(
        "aria-pressed", "true", timeout=PATIENCE_MS
    )  # the way taken last comes back
    page.get_by_role("button", name="SQL", exact=True).click()
    page.get_by_role("textbox", name="SQL of the query").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(select.replace("FROM readings", "FROM readins"))
    expect(page.locator("#main")).to_contain_text("readins", timeout=PATIENCE_MS)
    expect(page.locator("#main")).to_contain_text(re.compile("there is no|unknown|not known|no stream"))
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(select)
    page.get_by_label("Name", exact=True).fill(name)
    if latency_s is not None:
        page.get_by_label("Latency", exact=True).fill(str(latency_s))
    page.get_by_role("button", name="Start the query").click()
    expect(page).to_have_url(re.compile(f"/queries/{name}$"), timeout=PATIENCE_MS)


def see_results(page: Page) -> None:
    """Rows come by themselves."""
    page.goto("/queries/light")
    rows = page.get_by_role("region", name="Rows of results").locator("tbody tr")
    expect(rows.first).to_be_visible(timeout=PATIENCE_MS)


def schedule(page: Page, policy: str, rows: str) -> None:
    """Another policy, with a bound on what a step may take."""
    page.goto("/scheduler")
    page.get_by_label("policy", exact=True).select_option(policy)
    expect(page.get_by_text(f"SET policy = '{policy}';")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_label("rows", exact=True).fill(rows)
    expect(page.get_by_text(f"SET policy = '{policy}(rows={rows})';")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="Switch to this policy").click()
    expect(page.get_by_text(f"Set now: {policy}(rows={rows})")).to_be_visible(timeout=PATIENCE_MS)


def threads(page: Page, plan: str) -> None:
    """Another thread plan."""
    page.get_by_label("thread plan").select_option(plan)
    page.get_by_role("button", name="Change threads").click()
    expect(page.get_by_text(f"Set now: {plan}")).to_be_visible(timeout=PATIENCE_MS)


def change_rate(page: Page, step: str) -> None:
    """Another rate of the stream: a button of its page, pressed twice."""
    page.goto("/streams/readings")
    shown = page.locator(".rate-slider strong")
    for _ in range(2):
        expect(shown).to_contain_text("/s", timeout=PATIENCE_MS)
        before = shown.inner_text()
        page.get_by_role("button", name=step).click()
        expect(shown).not_to_have_text(before, timeout=PATIENCE_MS)


def stop(page: Page, query: str) -> None:
    """Ends a query; it says so."""
    page.goto(f"/queries/{query}")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Stop the query").click()
    expect(page.locator("#main")).to_contain_text("ended", timeout=PATIENCE_MS)


@pytest.mark.parametrize("path", [*PAGES, "/queries/built", "/queries/nothing"])
def test_no_page_has_a_serious_finding_of_accessibility(tab: Tab, path: str) -> None:
    page = tab.page
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(path)
        page.wait_for_selector("#main h1")
        page.wait_for_timeout(1500)
        found = Axe().run(page).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        said = [f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in serious]
        assert not serious, f"{path}, {scheme}:\n" + "\n".join(said)


@pytest.mark.parametrize("path", [*PAGES, "/queries/built"])
def test_no_page_is_wider_than_a_phone(tab: Tab, path: str) -> None:
    page = tab.page
    page.set_viewport_size(PHONE)
    page.goto(path)
    page.wait_for_selector("#main h1")
    page.wait_for_timeout(1000)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"]


def test_lines_of_the_overview_go_on(tab: Tab) -> None:
    page = tab.page
    page.goto("/")
    board = page.locator("[data-at]")
    for _ in range(3):
        at_s = float(board.get_attribute("data-at") or 0)
        page.wait_for_function(
            "(at) => Number(document.querySelector('[data-at]').dataset.at) > at",
            arg=at_s,
            timeout=PATIENCE_MS,
        )
