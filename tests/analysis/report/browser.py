"""A Chromium that reads a report from disk, and notes whatever it should not have done."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request

VIEWS = ("overview", "matching", "responses", "deployment", "statistics", "questions", "question", "transcript")
LINKED = VIEWS[:6]
"""Those that the navigation names; the others are of one question or one episode."""
LAPTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

# Data load in scripts of their own; a view is drawn once all of them are there and two frames have passed.
SETTLED = """async () => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
  for (let known = -1; known !== Data.loading.size;) {
    known = Data.loading.size;
    await Promise.allSettled(Data.loading.values());
    await frame();
    await frame();
  }
}"""


def executable() -> str | None:
    """Where a Chromium lies; None lets playwright use its own."""
    return os.environ.get("R_EVAL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class Pages:
    """The pages of a Chromium. One that a visit has left is emptied and lent to the next visit with its settings.

    To make a page takes longer than to read a report with it. A context without storage has nothing to remember, and
    what a visit may have changed of its window is put back.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._left: dict[str, list[Page]] = {}

    def lend(self, settings: dict[str, Any]) -> Page:
        """An empty page with these settings of its context."""
        if left := self._left.get(repr(settings)):
            return left.pop()
        context: BrowserContext = self._browser.new_context(**settings)
        context.set_default_timeout(60_000)
        return context.new_page()

    def take(self, page: Page, settings: dict[str, Any]) -> None:
        """Take back a page that was lent with these settings."""
        for other in page.context.pages:
            if other != page:
                other.close()
        page.goto("about:blank")
        page.set_viewport_size(settings["viewport"])
        page.emulate_media(media="null")
        page.mouse.move(0, 0)
        self._left.setdefault(repr(settings), []).append(page)


@contextmanager
def chromium() -> Iterator[Pages]:
    """A headless Chromium: the one that R_EVAL_CHROMIUM names, the system's, or playwright's own; else a skip."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        try:
            browser = started.chromium.launch(executable_path=executable())
        except playwright.Error as error:
            pytest.skip(f"no Chromium (R_EVAL_CHROMIUM names one): {str(error).splitlines()[0]}")
        yield Pages(browser)
        browser.close()


class Visit:
    """A page of the browser that reads one report.

    Attributes:
        faults: Errors in the console, exceptions, dialogs, windows that opened, and requests that left the report's
            folder.
    """

    def __init__(self, pages: Pages, report: Path, settings: dict[str, Any]) -> None:
        self.faults: list[str] = []
        self.report = report
        self._settings = {"viewport": LAPTOP, **settings}
        self._pages = pages
        self.page: Page = pages.lend(self._settings)
        self._heard: dict[Any, Callable[[Any], None]] = {
            "console": self._said,
            "pageerror": lambda error: self.faults.append(f"exception: {error}"),
            "dialog": self._interrupted,
            "popup": lambda popup: self.faults.append(f"window: {popup.url}"),
            "request": self._asked,
        }
        for event, listener in self._heard.items():
            self.page.on(event, listener)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")

    def _interrupted(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self.report.as_uri()}/", "data:", "blob:")):
            self.faults.append(f"request: {request.url}")

    def open(self, address: str = "") -> Page:
        """Open the report at an address such as "#/questions?type=RE", and wait until it is drawn."""
        self.page.goto(f"{(self.report / 'index.html').as_uri()}{address}")
        self.settle()
        return self.page

    def view(self, name: str) -> Page:
        """Open a view; of questions and of episodes, the first one that the list links to."""
        page = self.open(f"#/{name}" if name in LINKED else "#/questions")
        if name not in LINKED:
            links = page.locator("#questions-list .asked a" if name == "question" else "#questions-list a.mark")
            self.open(links.first.get_attribute("href") or "" if links.count() else f"#/{name}")
            page.locator(f"[data-view={name}] :is(h3, .notice)").first.wait_for()
        return page

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate(SETTLED)

    def close(self) -> None:
        """Leave the page; what it does from now on is no fault of this visit."""
        for event, listener in self._heard.items():
            self.page.remove_listener(event, listener)
        self._pages.take(self.page, self._settings)
