"""`r-eval data`: commands that prepare and publish question sets."""

from __future__ import annotations

import typer

from r_eval.cli.app import SETTINGS, LazyGroup


class DataCommands(LazyGroup):
    """The commands of `r-eval data`."""

    package = "r_eval.cli.data"
    table = {
        "split": "Split a question file into public questions and private answers.",
        "export": "Write a question file as a dataset for the Hugging Face Hub, with a card.",
        "crud": "Make CRUD data sets from a folder of reports: continuation, questions, hallucinations, summaries.",
        "extract-triples": "Extract triples from documents with an LLM.",
        "suggest-templates": "Have an LLM draft further templates.",
        "leaderboard": "Write the leaderboard of many runs over many versions of a question set, or submit to one.",
    }


app = typer.Typer(
    rich_markup_mode=None,
    cls=DataCommands,
    help="Prepare and publish question sets.",
    no_args_is_help=True,
    add_completion=False,
    context_settings=SETTINGS,
)


@app.callback()
def _data() -> None: ...
