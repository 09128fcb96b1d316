"""A real browser on a real server.

Without Chromium these tests are skipped, unless PENSTOCK_BROWSER is `needed`, as it is where changes are
judged.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, sync_playwright

from tests.server.serving import Serving

NAMES = ("chromium", "chromium-browser", "google-chrome")
#: What keeps a browser from asking for things outside, each of which is refused and takes time.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
#: Milliseconds that anything on a page may take on a machine that is busy.
PATIENCE_MS = 90_000


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """What drives browsers; it has a loop that runs, with which no other test of the process gets on."""
    with sync_playwright() as made:
        yield made


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Chromium."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        if os.environ.get("PENSTOCK_BROWSER") == "needed":
            pytest.fail("there is no Chromium; scripts/install-chromium installs it")
        pytest.skip("there is no Chromium; scripts/install-chromium installs it")
    made = playwright.chromium.launch(executable_path=path, args=[*QUIET])
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Serving]:
    """`penstock serve`, ready."""
    del browser  # without one there is nothing to serve
    made = Serving(tmp_path_factory.mktemp("serving"))
    try:
        made.wait_until(made.ready, "ready")
        yield made
    finally:
        made.close()


class Tab:
    """A page that somebody has open; what its console complains of is kept."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)


@pytest.fixture
def tab(browser: Browser, server: Serving) -> Iterator[Tab]:
    """A page in a window of a desktop, which must have nothing to complain of in the end."""
    context = browser.new_context(viewport=DESKTOP, base_url=server.url, reduced_motion="reduce")
    made = Tab(context.new_page())
    yield made
    context.close()
    assert not made.complaints, "\n".join(made.complaints)
