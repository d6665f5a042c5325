"""Which tests share a worker of pytest-xdist, and which are handed out first.

The tests of a file go to one worker, so that what they share is made once: a model, a cluster, a run. What takes
longest is handed out first, so that the workers end at about the same time. pytest-xdist's own marks for groups say
nothing to pytest 9.2: it takes no names of tests from plugins any more.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

TOGETHER = {
    "tests/chaos/test_kills.py": "Ray",
    "tests/runner/test_ray.py": "Ray",
    "tests/contracts/test_environments.py": "MediaWiki",
    "tests/contracts/test_wiki_sources.py": "MediaWiki",
    "tests/contracts/test_llms.py": "torch",
    "tests/llms/test_hf.py": "torch",
    "tests/differential/test_embeddings.py": "torch",
}
"""What several files share, by file."""

SLOW = (
    # torch, Ray, the embedded model
    "tests/contracts/test_llms.py",
    "tests/llms/test_hf.py",
    "tests/llms/test_gguf.py",
    "tests/runner/test_ray.py",
    "tests/differential/test_embeddings.py",
    # kills, storms, full disks, hostile programs and servers
    "tests/chaos/",
    "tests/offline/",
    "tests/runner/test_faults.py",
    "tests/test_fingerprints.py::test_what_decides_nothing_voids_no_run",
    "tests/test_fingerprints.py::test_a_refusal_names_what_differs_and_the_file",
    "tests/workflows/test_agent.py::test_after_a_crash_replies_are_replayed_and_the_rest_is_made",
    "tests/runner/test_run.py::test_a_killed_run",
    "tests/runner/test_run.py::test_a_server_that_is_down",
    "tests/tasks/test_suggest.py::test_the_command",
    "tests/llms/test_secrets.py::test_a_key_is_in_no_output",
    "tests/workflows/test_hostile_programs.py",
    "tests/contracts/test_random_calls.py",
    "tests/tasks/loaders/test_hostile.py",
    # a real MediaWiki, MCP and HTTP servers
    "tests/contracts/test_environments.py",
    "tests/contracts/test_wiki_sources.py",
    "tests/environments/test_serve.py",
    "tests/environments/test_mcp.py",
    "tests/environments/test_aminer_live.py",
    # every workflow's contract, embedded sets made anew, large worlds
    "tests/contracts/test_workflows.py",
    "tests/workflows/test_agent.py::TestAgent",
    "tests/tasks/test_embedded.py",
    "tests/environments/conditions/test_counterfactual.py",
    "tests/workflows/test_demonstrations.py",
    # packages, pages and examples that run commands
    "tests/test_packaging.py",
    "tests/scaffold/",
    "tests/test_docs.py",
    "tests/test_examples.py",
    "tests/golden/",
    "tests/cli/test_doctor.py",
    "tests/cli/test_generate.py::test_triples_of",
    "tests/cli/test_generate.py::test_questions_are_made",
    "tests/checks/test_environments.py::test_only_tools_that",
    # the browser beyond one visit to the page
    "tests/analysis/report/test_page.py::test_a_visit_with_a_dark_phone",
    "tests/analysis/report/test_page.py::test_a_hostile_run",
    "tests/analysis/report/test_page.py::test_axe",
    # hundreds of cases a metric, thousands of pairs against other implementations
    "tests/differential/test_metrics.py",
)
"""What `make test` leaves to `make test-slow`: beginnings of tests' names."""

ALONE = ("tests/test_docs.py",)
"""Files whose tests share little and take long: each test goes where there is room."""

LONG = (
    "tests/contracts/test_llms.py",
    "tests/runner/test_ray.py",
    "tests/cli/test_run.py",
    "tests/contracts/test_workflows.py",
    "tests/llms/test_gguf.py",
    "tests/analysis/report/test_page.py",
    "tests/runner/test_run.py",
    "tests/test_docs.py",
    "tests/test_examples.py",
    "tests/chaos/",
    "tests/runner/",
)
"""What takes longest, the longest first: beginnings of tests' names."""


class ByFile(LoadScopeScheduling):
    """Hands tests out by file, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in ALONE else TOGETHER.get(file, file)


def is_slow(nodeid: str) -> bool:
    """Whether a test is one of `make test-slow`."""
    return nodeid.startswith(SLOW)


def place(nodeid: str) -> int:
    """The place of a test among what is handed out; many have the same."""
    return next((number for number, name in enumerate(LONG) if nodeid.startswith(name)), len(LONG))
