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
    from playwright.sync_api import Browser, Page

LAPTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
VIEWS = ("results", "errors", "details", "question", "episode")

# Data load in scripts of their own; a view is drawn once all of them are there and its charts are.
SETTLED = """async () => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
  const waits = () => [...document.querySelectorAll('.plot.waiting')].filter((plot) => plot.checkVisibility());
  for (let known = -1; known !== loading.size || waits().length;) {
    known = loading.size;
    await Promise.allSettled([...loading.values(), ...waits().map(drawChart)]);
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

    def __init__(self, browser: Browser, report: Path, **settings: Any) -> None:
        self.faults: list[str] = []
        self.report = report
        context = browser.new_context(**{"viewport": LAPTOP, **settings})
        context.set_default_timeout(60_000)
        self.page: Page = context.new_page()
        self.page.on("console", lambda said: said.type == "error" and self.faults.append(f"console: {said.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        self.page.on("popup", lambda popup: self.faults.append(f"window: {popup.url}"))
        self.page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._requested)

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((f"{self.report.as_uri()}/", "data:", "blob:")):
            self.faults.append(f"request: {request.url}")

    def open(self, address: str = "") -> Page:
        """Open the report at an address such as "#/errors?type=RE", and wait until it is drawn."""
        self.page.goto(f"{(self.report / 'index.html').as_uri()}{address}")
        self.settle()
        return self.page

    def view(self, name: str) -> Page:
        """Open a view; of questions and of episodes, the first one that the matrix links to."""
        page = self.open(f"#/{name if name not in ('question', 'episode') else 'errors'}")
        if name in ("question", "episode"):
            link = page.locator("#matrix .question a" if name == "question" else "#matrix a.badge").first
            page = self.open(link.get_attribute("href") or "")
            page.locator(f"#{name} > *").first.wait_for()
        return page

    def settle(self) -> None:
        """Wait until everything is drawn."""
        self.page.evaluate(SETTLED)
