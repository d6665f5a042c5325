"""examples/rag-sweep: twelve pipelines, run offline by one command; here over one question each, with a function in the
LLM's place."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from r_eval import load_run
from r_eval.grid import Grid
from r_eval.records import Episode
from tests import documents

EXAMPLE = Path(__file__).parents[1] / "examples" / "rag-sweep"
LEXICAL = ["bm25"]
EVERY = ["bm25", "dense", "rrf"]
NEEDS = {"bm25": ("langchain_text_splitters", "retrieval"), "dense": ("sentence_transformers", "dense")}


def missing(retrievers: list[str]) -> str | None:
    """What cannot be run here, and why."""
    for retriever, (package, extra) in NEEDS.items():
        if retriever in retrievers and importlib.util.find_spec(package) is None:
            return f"{retriever}: {package} is not installed (extra: {extra})"
    return None


def swept(folder: Path, retrievers: list[str]) -> Iterator[tuple[str, Episode]]:
    """Run the example over one question, with some of its retrievers; its workflows and their episodes."""
    keys = yaml.safe_load((EXAMPLE / "sweep.yaml").read_text(encoding="utf-8"))
    (folder / "llm.py").write_text("def reply(request):\n    return 'Ada'\n", encoding="utf-8")
    keys["llms"] = ["scripted/llm.py:reply"]
    keys["vary"]["environment.retriever"] = retrievers
    (folder / "sweep.yaml").write_text(yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")
    done = documents.typed("r-eval run sweep.yaml --limit 1", folder)
    assert done.returncode == 0, done.stderr
    run = load_run(folder / "runs" / "rag-sweep")
    assert run.state == "complete"
    yield from ((episode.workflow, episode) for episode in run.episodes())


def test_the_grid_is_two_chunk_sizes_by_three_retrievers_by_two_top_k() -> None:
    vary = Grid.load(EXAMPLE / "sweep.yaml").vary
    assert vary is not None
    assert (vary.protocol, [len(values) for values in vary.values.values()]) == ("cross", [2, 3, 2])
    assert len(vary.variants("rag")) == 12


@pytest.mark.parametrize("retrievers", [LEXICAL, EVERY], ids=["bm25", "all"])
def test_every_pipeline_reads_as_many_passages_as_it_says(tmp_path: Path, retrievers: list[str]) -> None:
    if (why := missing(retrievers)) is not None:
        pytest.skip(why)
    found = dict(swept(tmp_path, retrievers))
    assert len(found) == 4 * len(retrievers)
    for workflow, episode in found.items():
        (looked_up,) = [step.found for step in episode.steps if step.kind == "call"]
        assert len(looked_up or []) == (2 if "top_k=2" in workflow else 4)
