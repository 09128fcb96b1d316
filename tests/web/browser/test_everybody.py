"""The page for everybody: with a keyboard alone, heard and not seen, enlarged, and without rights."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.web.browser.conftest import PATIENCE_MS, PHONE
from tests.web.browser.hearing import CONTROLS, LISTEN, here, mistakes, tab_to
from tests.web.browser.team import PEOPLE, Team

pytestmark = pytest.mark.jvm

PAGES = (
    "/",
    "/graph",
    "/new",
    "/streams",
    "/register",
    "/streams/temps",
    "/streams/pushed",
    "/scheduler",
    "/queries/hot_rooms",
    "/experiments",
    "/experiments/fas-utilization",
)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Team]:
    """A server with tokens, shared by all that is looked at here."""
    made = Team(tmp_path_factory.mktemp("team"), browser)
    try:
        made.make()
        yield made
    finally:
        made.server.close()


def go(page: Page, path: str) -> None:
    """A page, with what comes a moment after it."""
    page.goto(path)
    page.wait_for_selector("h1")
    page.wait_for_function("window.socket?.connected", timeout=PATIENCE_MS)
    before = None
    while (now := page.locator(CONTROL).count()) != before:
        before = now
        page.wait_for_timeout(1200)


CONTROL = "a[href], button, input, select, textarea, summary, g.node"


# --- with a keyboard alone ---


@pytest.mark.parametrize("path", [*PAGES, "/sign-in"])
def test_the_keyboard_goes_everywhere_in_the_order_of_the_page(team: Team, path: str) -> None:
    with team.visit("admin") as tab:
        page = tab.page
        go(page, path)
        wanted = page.evaluate(CONTROLS)
        seen = []
        for _ in wanted:
            page.keyboard.press("Tab")
            at = here(page)
            assert at["ring"], f"{path}: where the keyboard is cannot be seen at {at['name']!r}"
            assert at["inSight"], f"{path}: {at['name']!r} has the focus out of sight"
            seen.append(at["visit"])
        assert seen == wanted


def test_arrow_keys_reach_every_operator_also_those_out_of_sight(team: Team) -> None:
    branches = (f"SELECT id FROM pushed WHERE id > {one} AND name = 'n{one}'" for one in range(80))
    select = " UNION ALL ".join(branches)
    draft = team.ask("POST", "/explain", {"select": select})
    with team.visit("operator") as tab:
        page = tab.page
        go(page, "/new")
        page.get_by_role("textbox", name="SQL of the query").focus()
        page.keyboard.insert_text(select)
        plan = page.get_by_role("region", name="Plan of the query")
        expect(plan.locator("g.node").first).to_be_visible(timeout=PATIENCE_MS)
        assert plan.locator("g.node").count() < len(draft["operators"]), "all of it is in sight"
        plan.get_by_role("button", name="Zoom in").focus()
        page.keyboard.press("Tab")
        reached = []
        while (at := here(page))["id"] not in reached:
            assert at["inSight"], at["name"]
            assert at["ring"], at["name"]
            reached.append(at["id"])
            page.keyboard.press("ArrowDown")
        assert set(reached) >= {one["name"] for one in draft["operators"] if one["kind"] != "sink"}
        assert here(page)["name"].startswith("results of ")
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name="Details")).to_be_focused()
        page.keyboard.press("Escape")
        assert here(page)["id"] == reached[-1]
        page.keyboard.press("Tab")
        assert not here(page)["id"], "Tab does not leave the drawing"


def test_a_query_by_keyboard_alone(team: Team) -> None:
    with team.visit("operator") as tab:
        page = tab.page
        keys = page.keyboard
        go(page, "/register")
        tab_to(page, "By a form")
        keys.press("Enter")
        page.get_by_label("name", exact=True).wait_for()
        tab_to(page, "name")
        keys.type("typed")
        tab_to(page, "Create the stream")
        keys.press("Enter")
        expect(page).to_have_url(re.compile("/streams/typed$"), timeout=PATIENCE_MS)
        go(page, "/new")
        tab_to(page, "SQL of the query")
        keys.insert_text("SELECT * FROM typed")
        keys.press("Escape")  # from what completes the word
        tab_to(page, "Name")
        keys.type("by_keys")
        tab_to(page, "Start the query")
        keys.press("Enter")
        expect(page).to_have_url(re.compile("/queries/by_keys$"), timeout=PATIENCE_MS)
        go(page, "/")
        tab_to(page, "by_keys")
        keys.press("Enter")
        expect(page).to_have_url(re.compile("/queries/by_keys$"), timeout=PATIENCE_MS)
        page.get_by_role("button", name="Suspend").wait_for()
        tab_to(page, "Suspend")
        keys.press("Enter")
        expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=PATIENCE_MS)
        page.wait_for_function("document.activeElement !== document.body", timeout=PATIENCE_MS)
        assert here(page)["name"] in ("Resume", "Stop"), "the focus is lost with the button that had it"
        page.get_by_role("button", name="Stop", exact=True).focus()
        keys.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        for _ in range(6):
            keys.press("Tab")
            assert here(page)["inDialog"] or here(page)["nowhere"], "Tab leaves the dialog"
        keys.press("Escape")
        expect(dialog).to_be_hidden()
        assert here(page)["name"] == "Stop", "the focus does not come back from the dialog"
        keys.press("Enter")
        expect(dialog).to_be_visible()
        tab_to(page, "Stop the query")
        keys.press("Enter")
        expect(page.locator("#main")).to_contain_text("ended", timeout=PATIENCE_MS)


def test_steps_are_added_and_removed_by_keys(team: Team) -> None:
    with team.visit("operator") as tab:
        page = tab.page
        go(page, "/new")
        tab_to(page, "Operators")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="temps").wait_for()
        tab_to(page, "temps")
        page.keyboard.press("Enter")
        for kind in ("Project", "Aggregate"):
            tab_to(page, kind)
            page.keyboard.press("Enter")
        steps = page.locator("section.step")
        expect(steps).to_have_count(3)
        page.get_by_role("button", name="Remove step 3").focus()
        page.keyboard.press("Enter")
        expect(steps).to_have_count(2)
        page.wait_for_function("document.activeElement !== document.body", timeout=PATIENCE_MS)
        assert here(page)["name"] == "Select", "what follows the step that went has the focus"
        found = Axe().run(page).response["violations"]
        assert not found, [(one["id"], one["nodes"][0]["html"][:200]) for one in found]


def test_a_rate_is_set_by_keys_and_as_a_number(team: Team) -> None:
    with team.visit("operator") as tab:
        page = tab.page
        go(page, "/streams")
        slider = page.get_by_role("slider", name="Rate of temps")
        slider.focus()
        before = int(slider.input_value())
        told = page.get_by_text(re.compile("^temps: .* from now on$"))
        for place in range(1, 6):
            page.keyboard.press("ArrowRight")
            page.wait_for_timeout(100)
            assert int(slider.input_value()) == before + place, "the slider jumped back"
        expect(told).to_be_visible(timeout=PATIENCE_MS)
        assert told.count() == 1, "what was passed over was sent"
        page.wait_for_timeout(2500)
        assert int(slider.input_value()) == before + 5
        page.get_by_role("spinbutton", name="Rate of temps").fill("37")
        page.keyboard.press("Enter")
        expect(page.get_by_text("temps: 37 rows/s from now on")).to_be_visible(timeout=PATIENCE_MS)
        go(page, "/streams/temps")
        expect(page.get_by_role("spinbutton", name="rows a second")).to_have_value("37")
        page.get_by_role("slider", name="rows a second").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_text(re.compile("^temps: .* from now on$"))).to_be_visible(timeout=PATIENCE_MS)


def test_a_switch_of_the_policy_leaves_the_keyboard_where_it_is(team: Team) -> None:
    with team.visit("admin") as tab:
        page = tab.page
        go(page, "/scheduler")
        was = page.get_by_label("policy", exact=True).input_value()
        for policy in ("path-capacity" if was == "fcfs" else "fcfs", was):
            page.get_by_label("policy", exact=True).select_option(policy)
            switch = page.get_by_role("button", name="Switch to this policy")
            expect(switch).to_be_enabled(timeout=PATIENCE_MS)
            switch.focus()
            page.keyboard.press("Enter")
            expect(page.get_by_text(f"Set now: {policy}")).to_be_visible(timeout=PATIENCE_MS)
            expect(switch).to_have_attribute("aria-disabled", "true")
            page.wait_for_timeout(300)
            expect(switch).to_be_focused()


def test_what_is_written_whole_is_not_completed(team: Team) -> None:
    with team.visit("operator") as tab:
        page = tab.page
        go(page, "/new")
        page.get_by_role("textbox", name="SQL of the query").focus()
        page.keyboard.type("SELECT * FROM te", delay=60)
        offered = page.locator(".cm-tooltip-autocomplete")
        expect(offered).to_contain_text("temps", timeout=PATIENCE_MS)
        page.keyboard.type("mps", delay=60)
        expect(offered).to_be_hidden()


# --- heard and not seen ---


@pytest.mark.parametrize("path", [*PAGES, "/queries/nothing", "/sign-in"])
def test_everything_that_is_heard_has_a_name_and_a_place(team: Team, path: str) -> None:
    with team.visit("admin") as tab:
        page = tab.page
        if path == "/queries/nothing":
            tab.complaints = []
        go(page, path)
        assert not mistakes(page)
        for summary in page.locator("details:not([open]) > summary").all():
            summary.click()
        for button in ("Alter", "New partition"):
            for one in page.get_by_role("button", name=button, exact=True).all():
                one.click()
        found = Axe().run(page).response["violations"]
        assert not found, [(one["id"], one["nodes"][0]["html"][:200]) for one in found]


def test_titles_tell_pages_apart(team: Team) -> None:
    with team.visit("admin") as tab:
        titles = []
        for path in [*PAGES, "/sign-in"]:
            tab.page.goto(path)
            titles.append(tab.page.title())
    assert len(set(titles)) == len(titles)
    assert {"temps · Penstock", "hot_rooms · Penstock"} < set(titles)


def test_nothing_speaks_while_rows_flow(team: Team) -> None:
    with team.visit("admin") as tab:
        pages = [tab.page]
        for path in ("/", "/queries/hot_rooms", "/streams/temps", "/scheduler", "/graph"):
            page = tab.page if path == "/" else tab.page.context.new_page()
            go(page, path)
            pages.append(page)
        page.wait_for_timeout(5000)  # all have told what they tell once
        for page in pages:
            page.evaluate(LISTEN)
        page.wait_for_timeout(5000)
        for page in pages:
            assert len(page.evaluate("window.said")) <= 2, page.url


# --- enlarged, narrow, with colours of one's own ---

#: What somebody may set who reads better so; nothing may be cut off by it (WCAG 1.4.12).
SPACED = (
    "* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important; }"
)
TOO_SMALL = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
  .filter((one) => one.checkVisibility() && !one.classList.contains("skip"))
  .map((one) => [one, (one.closest("label.check") ?? one).getBoundingClientRect()])
  .filter(([, box]) => box.width > 0 && (box.width < 23.5 || box.height < 23.5))
  .map(([one, box]) => `${one.tagName} ${one.innerText || one.ariaLabel} ${box.width}x${box.height}`)"""
NAMES = """() => [...document.querySelectorAll("a[href], button, input, select, textarea")]
  .filter((one) => one.checkVisibility()).map((one) => one.ariaLabel || one.innerText).filter(Boolean)"""


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_lost_at_twice_the_size_with_wide_text(team: Team, path: str) -> None:
    with team.visit("admin") as tab:
        page = tab.page
        go(page, path)
        wide = page.evaluate(NAMES)
        page.set_viewport_size({"width": 720, "height": 450})
        page.add_style_tag(content=SPACED)
        page.wait_for_timeout(300)
        lost = set(wide) - set(page.evaluate(NAMES)) - {"Penstock, overview"}
        # Headers that sort are a choice of an order where a table is a list.
        if path == "/scheduler":
            sorting = {one.lower() for one in page.locator("th button").all_text_contents()}
            lost = {one for one in lost if one.lower() not in sorting and "\n" not in one}
        assert not lost
        assert page.evaluate("document.documentElement.scrollWidth") <= 720
        page.set_viewport_size(PHONE)
        page.wait_for_timeout(300)
        assert not page.evaluate(TOO_SMALL)


def test_with_forced_colours_a_level_and_a_gauge_are_still_drawn(team: Team) -> None:
    with team.visit("admin", forced_colors="active", color_scheme="dark") as tab:
        page = tab.page
        go(page, "/queries/hot_rooms")
        page.locator(".wish-list .gauge").first.wait_for()
        ground, *drawn = page.evaluate(
            """() => [["body", null], [".gauge .needle", null], [".query-head .level", "::before"]].map(
              ([one, part]) => getComputedStyle(document.querySelector(one), part).backgroundColor)"""
        )
        assert ground not in drawn


# --- without rights ---

CHANGING = re.compile(
    "^(Alter|Suspend|Resume|Stop|Drop|End|Push the row|Start the query|Switch to this policy|Change threads|"
    "New partition|Create the stream|Register a stream|Run|÷ 10|half|double|× 10|Read the log)$"
)


@pytest.mark.parametrize("path", [*PAGES, "/queries/nothing"])
def test_a_viewer_sees_all_and_can_change_nothing(team: Team, path: str) -> None:
    with team.visit("viewer") as tab:
        page = tab.page
        go(page, path)
        for one in page.get_by_role("button", name=CHANGING).all() + page.get_by_role("slider").all():
            if (one.get_attribute("aria-label") or "").startswith("Moment in"):
                continue
            assert one.is_disabled(), f"{path}: {one.inner_text()} can be pressed"
        assert page.get_by_role("link", name="Register a stream").count() == 0
        if page.get_by_role("button", name=CHANGING).count():
            expect(page.locator("#main")).to_contain_text("and you have viewer")
        assert not page.get_by_role("alert").filter(has_text=re.compile(".")).count()


def test_an_operator_schedules_nothing(team: Team) -> None:
    with team.visit("operator") as tab:
        page = tab.page
        go(page, "/scheduler")
        for name in ("Switch to this policy", "Change threads", "New partition"):
            expect(page.get_by_role("button", name=name)).to_be_disabled()
        expect(page.locator("#main")).to_contain_text("it takes the role admin, and you have operator")


def test_who_has_not_signed_in_is_led_to_where_one_does_and_back_out(team: Team) -> None:
    with team.visit(None) as tab:
        page = tab.page
        for path in PAGES:
            page.goto(path)
            expect(page).to_have_url(re.compile("/sign-in$"))
        page.get_by_label("token").fill("pnst_wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert").filter(has_text="token")).to_be_visible()
        tab.complaints.clear()  # the browser's word for a refusal
        page.get_by_label("token").fill(team.secrets["viewer"])
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Overview")).to_be_visible(timeout=PATIENCE_MS)
        page.get_by_role("button", name="Sign out").click()
        expect(page).to_have_url(re.compile("/sign-in$"))


@pytest.mark.parametrize("path", ["/", "/register", "/new", "/experiments"])
def test_a_token_that_is_revoked_leads_to_signing_in(team: Team, path: str) -> None:
    secret, token = team.tokens.create(*PEOPLE["operator"])
    with team.visit(None, secret) as tab:
        go(tab.page, path)
        team.tokens.revoke(token.id)
        expect(tab.page).to_have_url(re.compile("/sign-in$"), timeout=PATIENCE_MS)


def test_an_administrator_chooses_the_namespace(team: Team) -> None:
    with team.visit("admin") as tab:
        page = tab.page
        go(page, "/streams")
        expect(page.get_by_role("link", name="northern")).to_have_count(0)
        page.get_by_label("namespace").select_option("north")
        expect(page.get_by_role("link", name="northern")).to_be_visible(timeout=PATIENCE_MS)
        expect(page.get_by_role("link", name="temps")).to_have_count(0)
    with team.visit("north") as tab:
        go(tab.page, "/streams")
        expect(tab.page.get_by_role("link", name="northern")).to_be_visible()
        assert tab.page.get_by_label("namespace").count() == 0
