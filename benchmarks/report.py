"""Measures scoring, analysing and reporting a large run and opening its page: seconds, peak MiB and MiB on disk.

    python -m benchmarks.report [--questions 100] [--visits 5]

The run is synthetic: 21 systems x 12 tasks x 100 questions, 25,200 episodes. Scoring, analysis and report run in
separate processes, so that each has its own peak. A headless Chromium then opens the page from disk without a cache: as
a laptop, and as a phone with a processor that is four times slower. The first view is complete when the score table is
drawn; R_EVAL_CHROMIUM names the browser.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.measure import alone, options, peak
from r_eval.analysis.report import write_report
from r_eval.analysis.results import load
from r_eval.analysis.scoring import score_run
from r_eval.analysis.views import VIEWS
from r_eval.folder import RunFolder
from tests.analysis.report.browser import LAPTOP, PHONE, chromium
from tests.analysis.report.makers import large

T = TypeVar("T")
MIB = 1 << 20
VISITORS: dict[str, tuple[dict[str, int], int]] = {"laptop": (LAPTOP, 1), "phone": (PHONE, 4)}
"""Window size and processor slowdown."""

FIRST = """async () => {
  while (!document.querySelector('#board tbody tr')) await new Promise(requestAnimationFrame);
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now();
}"""

STEP = """async ([address, selector]) => {
  const start = performance.now();
  location.hash = address.startsWith('#/') ? address : document.querySelector(address).getAttribute('href');
  const shown = () => [...document.querySelectorAll(selector)].some((node) => node.checkVisibility());
  while (!shown()) {
    if (performance.now() - start > 60000) throw new Error(`nothing is ${selector} at ${address}`);
    document.querySelector('[data-tab]:not([hidden]) .plot')?.scrollIntoView();
    await new Promise(requestAnimationFrame);
  }
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - start;
}"""

STEPS = (
    ("first chart", "#/results?c=0", ".plot .main-svg"),
    ("errors", "#/errors", "#matrix tbody tr"),
    ("details", "#/details", "[data-tab=details] .plain tbody tr"),
    ("transcript", "#matrix a.badge", "#episode .step"),
    ("search", "#/errors?text=river&type=RE", "#matrix tbody tr"),
)
"""The views to open: name, address and the selector that shows that it is open."""


def timed(name: str, work: Callable[[], T]) -> T:
    """Call a function and print its cost."""
    start, cpu_start = time.perf_counter(), time.process_time()
    result = work()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    print(f"{name}: {seconds:.1f} s ({cpu_seconds:.1f} s of processor time), peak {peak():.0f} MiB", flush=True)
    return result


def score(run: Path) -> None:
    timed("scored", lambda: score_run(RunFolder(run)))


def analyse(run: Path) -> None:
    results = timed("loaded", lambda: load(RunFolder(run)))
    print(f"  the frame holds {results.episodes.memory_usage(deep=True).sum() / MIB:,.0f} MiB")
    for view in VIEWS:
        timed(f"  {view.name}", lambda view=view: view.function(results))


def write(run: Path) -> None:
    timed("report written", lambda: write_report(load(RunFolder(run)), run / "report"))
    sizes = [path.stat().st_size for path in run.glob("report/**/*.*")]
    print(f"size: {sum(sizes) / MIB:.1f} MiB in {len(sizes)} files")


def visit(page: Path, visits: int) -> None:
    """Print how long a browser takes to open the page and its views: medians and maxima."""
    with chromium() as browser:
        for name, (window, slower) in VISITORS.items():
            visits_taken = [visit_once(browser, page, window, slower) for _ in range(visits)]
            for step in visits_taken[0]:
                values = [one[step] for one in visits_taken]
                print(f"{name}, {step}: {statistics.median(values):.0f} (at most {max(values):.0f})")


def visit_once(browser: Any, page: Path, window: dict[str, int], slower: int) -> dict[str, float]:
    """One visit without a cache: milliseconds to each view and MiB of heap at the end."""
    with browser.new_context(viewport={"width": window["width"], "height": window["height"]}) as context:
        tab = context.new_page()
        context.new_cdp_session(tab).send("Emulation.setCPUThrottlingRate", {"rate": slower})
        tab.goto(page.as_uri(), wait_until="commit")
        taken = {"first view, ms": float(tab.evaluate(FIRST))}
        for step, address, selector in STEPS:
            taken[f"{step}, ms"] = float(tab.evaluate(STEP, [address, selector]))
        return {**taken, "heap, MiB": tab.evaluate("performance.memory.usedJSHeapSize") / MIB}


def main() -> None:
    chosen = options(__doc__, questions=100, visits=5)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        large(run, chosen.questions)
        for part in (score, analyse, write):
            alone(part, run)
        if chosen.visits:
            visit(run / "report" / "index.html", chosen.visits)


if __name__ == "__main__":
    main()
