"""How many checked questions a second come of templates: filled, solved in the sandbox, and tried for a second answer.

All templates of the embedded tasks of a domain are one file.

    python benchmarks/templates.py [--count 10000] [--domains aminer,wiki] [--workers 2]
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import time

from r_eval.environments.sandbox import Sandbox
from r_eval.tasks.base import open_environment, task_files
from r_eval.tasks.templates import TemplateFile, generate, read_templates


def templates_of(domain: str) -> TemplateFile:
    """The templates of a domain's tasks, under ids that name their task."""
    found = []
    for name, path in task_files().items():
        file = path.with_name(f"{path.stem}.templates.yaml")
        if name.startswith(f"{domain}/") and file.exists():
            found += [t.model_copy(update={"id": f"{path.stem}-{t.id}"}) for t in read_templates(file).templates]
    return TemplateFile(environment=domain, templates=found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--domains", default="aminer,wiki")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    for domain in given.domains.split(","):
        file, environment = templates_of(domain), open_environment(domain)
        with Sandbox(given.workers) as sandbox:
            start, used = time.perf_counter(), time.process_time()
            result = asyncio.run(generate(file, environment, sandbox, given.count, 0))
            seconds, used = time.perf_counter() - start, time.process_time() - used
        asked = collections.Counter(q.meta["template"] for q in result.questions)
        print(
            f"{domain}: {len(result.questions):,} questions of {len(asked)} templates in {seconds:.1f} s"
            f" ({used:.1f} s of processor here), {len(result.questions) / seconds:.0f} a second"
        )
        print(f"  dropped: {dict(result.dropped)}")


if __name__ == "__main__":
    main()
