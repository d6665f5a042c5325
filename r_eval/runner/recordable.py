"""Whatever a plug-in puts into an episode's record, a line comes out that can be read back."""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from r_eval.folder import described
from r_eval.records import Episode, Outcome
from r_eval.text import clean, clean_data


def recordable(episode: Episode) -> tuple[Episode, str]:
    """An episode and its JSON, which can be read back whatever a plug-in has put into it.

    Texts that no file can hold are mended (see `r_eval.text`); what is of a wrong type is a failure of the workflow.
    """
    try:
        line = episode.model_dump_json(warnings=False)
        Episode.model_validate_json(line)
        return episode, line
    except ValueError:
        pass
    try:
        data = to_jsonable_python(episode.model_dump(warnings=False), fallback=repr)
        mended = Episode.model_validate(clean_data(data))
    except ValueError as error:
        why = described(error) if isinstance(error, ValidationError) else clean(str(error))
        outcome = Outcome(kind="tool_failure", cause="workflow", detail=f"what it did cannot be recorded: {why}")
        mended = episode.model_copy(update={"outcome": outcome, "answer": "", "messages": [], "steps": []})
    return mended, mended.model_dump_json()
