"""Which tests share a worker of pytest-xdist, and which are handed out first.

The tests of a file go to one worker, so that what they share is made once: a model, a cluster, a run. What takes
longest is handed out first, so that the workers end at about the same time. pytest-xdist's own marks for groups say
nothing to pytest 9.2: it takes no names of tests from plugins any more.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

TOGETHER = {
    "tests/chaos/test_kills.py": "Ray",
    "tests/engines/test_ray.py": "Ray",
    "tests/contracts/test_environments.py": "MediaWiki",
    "tests/contracts/test_wiki_sources.py": "MediaWiki",
    "tests/runner/test_live_wiki.py": "MediaWiki",
    **dict.fromkeys(
        (f"tests/analysis/report/test_{name}.py" for name in ("accessibility", "browser", "hostile_page", "links")),
        "report",
    ),
    "tests/contracts/test_llms.py": "torch",
    "tests/llms/test_hf.py": "torch",
    "tests/analysis/metrics/test_agreement_bert.py": "torch",
}
"""What several files share, by file."""

ALONE = ("tests/test_docs.py", "tests/test_readme.py")
"""Files whose tests share nothing and take long: each test goes where there is room."""

LONG = (
    "tests/contracts/test_llms.py",
    "tests/engines/test_ray.py",
    "tests/cli/test_commands.py",
    "tests/checking/test_environments.py",
    "tests/contracts/test_workflows.py",
    "tests/llms/test_gguf.py",
    "tests/analysis/report/test_accessibility.py",
    "tests/runner/test_run.py",
    "tests/test_docs.py",
    "tests/test_readme.py",
    "tests/chaos/",
    "tests/tasks/seasons/",
    "tests/runner/",
)
"""What takes longest, the longest first: beginnings of tests' names."""


class ByFile(LoadScopeScheduling):
    """Hands tests out by file, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in ALONE else TOGETHER.get(file, file)


def place(nodeid: str) -> int:
    """The place of a test among what is handed out; many have the same."""
    return next((number for number, name in enumerate(LONG) if nodeid.startswith(name)), len(LONG))
