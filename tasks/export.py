"""A question file as a dataset for the Hugging Face Hub: a folder with a dataset card."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import yaml

from r_eval.errors import UserError
from r_eval.languages import recognised
from r_eval.records import Question
from r_eval.tasks.questions import read_questions
from r_eval.tasks.seasons import Season, read_season

CARD = """---
{header}
---

# {name}

Questions with gold answers for LLMs that use tools, in the question format of R-Eval. Demonstrations are shown to the
LLM, never asked.
{season}
| split | questions | levels |
| --- | --- | --- |
{rows}

`program` is a gold program over the query APIs of the environment, `evidence` what must be observed for an answer to
count as supported, and `meta` further facts as a text of JSON.

In a grid of R-Eval:

```yaml
tasks:
  - {{task: questions, data: "hf:ORGANISATION/NAME", split: test, format: jsonl, environment: ENVIRONMENT}}
```
"""


def export(source: Path, out: Path, name: str, licence: str, demonstrations: Path | None = None) -> Path:
    """Write the folder; returns the path of its card, `README.md`.

    `data/test.jsonl` has the lines of the question file with `meta` as JSON text, since its keys differ between
    questions and a table has fixed columns.

    Args:
        source: A question file.
        name: Name of the dataset in the card.
        licence: A licence identifier of the Hub, such as cc-by-4.0.
        demonstrations: A question file for a separate split.

    Raises:
        UserError: A file is not a question file, or `out` is not empty.
    """
    if out.is_file() or (out.exists() and any(out.iterdir())):
        raise UserError(f"{out} holds something already; name a new folder, or empty it")
    splits = {"test": read_questions(source)}
    if demonstrations is not None:
        splits["demonstrations"] = read_questions(demonstrations)
    (out / "data").mkdir(parents=True, exist_ok=True)
    for split, questions in splits.items():
        (out / "data" / f"{split}.jsonl").write_text("".join(map(_line, questions)), encoding="utf-8")
    card = out / "README.md"
    card.write_text(_card(name, licence, splits, read_season(source)), encoding="utf-8")
    return card


def _line(question: Question) -> str:
    row = question.model_dump()
    row["meta"] = json.dumps(row["meta"], ensure_ascii=False, sort_keys=True)
    return json.dumps({"query": "", **row}, ensure_ascii=False) + "\n"


def _card(name: str, licence: str, splits: dict[str, list[Question]], season: Season | None) -> str:
    files = [{"split": split, "path": f"data/{split}.jsonl"} for split in splits]
    header = {
        "pretty_name": name,
        "license": licence,
        "language": sorted({recognised(question.question) for question in splits["test"]}),
        "task_categories": ["question-answering"],
        "configs": [{"config_name": "default", "data_files": files}],
    }
    rows = (f"| `{split}` | {len(questions)} | {_levels(questions)} |" for split, questions in splits.items())
    source = f"the environment `{season.environment or 'a file of triples'}`" if season else ""
    return CARD.format(
        header=yaml.safe_dump(header, sort_keys=False, allow_unicode=True).strip(),
        name=name,
        season=f"Version {season.version}, made over {source}.\n" if season else "",
        rows="\n".join(rows),
    )


def _levels(questions: Sequence[Question]) -> str:
    counts = Counter(question.level for question in questions)
    return ", ".join(f"{counts[level]} {level}" for level in ("KS", "KU", "KA") if counts[level])
