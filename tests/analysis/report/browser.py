"""A Chromium that reads a report from disk, and notes whatever it should not have done."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

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


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium: the one that R_EVAL_CHROMIUM names, the system's, or playwright's own; else a skip."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        try:
            browser = started.chromium.launch(executable_path=executable())
        except playwright.Error as error:
            pytest.skip(f"no Chromium (R_EVAL_CHROMIUM names one): {str(error).splitlines()[0]}")
        yield browser
        browser.close()


class Visit:
    """A page of the browser that reads one report.

    Attributes:
        faults: Errors in the console, exceptions, dialogs, windows that opened, and requests that left the report's
            folder.
    """

    def __init__(self, browser: Browser, report: Path, settings: dict[str, Any]) -> None:
        self.faults: list[str] = []
        self.report = report
        self._context = browser.new_context(**{"viewport": LAPTOP, **settings})
        self._context.set_default_timeout(60_000)
        self.page: Page = self._context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        self.page.on("dialog", self._interrupted)
        self.page.on("popup", lambda popup: self.faults.append(f"window: {popup.url}"))
        self.page.on("request", self._asked)

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
        self._context.close()
