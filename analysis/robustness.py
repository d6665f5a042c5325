"""Robustness: what a condition costs, what is read and what remembered, how variants and repeated tries are answered.

Each diagnostic is a function from `Results` to a tidy frame with a row per system and task, and one over all tasks of a
system: means over tasks, sums of counts.

A sample is a record of which one question per variant is made: the same words with other values in their placeholders
(`meta` of its questions names `document`, `variant` and `subtask`). As in PRGB, the score of a sample is the mean over
its variants, and that of a task, or of all tasks together, the mean over its samples: a task of 2,042 samples weighs
more there than one of 816. Everywhere else an average over tasks gives each the same weight.

Of several tries at a question, pass@k is the chance that any of k is right (Chen et al. 2021, "Evaluating Large
Language Models Trained on Code"); pass^k that all k are (Yao et al. 2024, tau-bench). Both by the unbiased estimator,
over all choices of k among a question's tries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb
from typing import TYPE_CHECKING, Any, Literal, get_args

from r_eval.analysis.compare import comparable, compare_columns, score_matrix
from r_eval.analysis.estimates import ALL_TASKS, by_task, ends
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE
from r_eval.analysis.metrics import token_f1
from r_eval.analysis.response_types import THRESHOLDS
from r_eval.analysis.results import CLEAN, IDENTITY, Results, once, tidy
from r_eval.analysis.statistics import MATCH
from r_eval.records import INFRASTRUCTURE_FAILURES

if TYPE_CHECKING:
    import pandas

Verdict = Literal["faithful", "leaked", "other"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
RIGHT = ("EM", "AM")
"""Response types whose answer matches."""

_PLACE = dict.fromkeys((*IDENTITY, "task"), TEXT)


@once
def against_clean(results: Results) -> pandas.DataFrame:
    """Each system under a condition less the same system under `clean`, paired by question.

    Under `counterfactual` the golds are the new ones, so the difference is what a system loses where it has to read.
    Questions that a condition drops are in no pair, nor are those that several runs word differently. The ranked
    systems of a condition are one family over all tasks, and one by task; a reference is compared by itself.
    """
    import pandas

    numbers = dict.fromkeys(("score", "clean_score", *ends("difference"), "p", "p_adjusted"), NUMBER)
    types = {**_PLACE, **dict.fromkeys(("questions", "clusters"), WHOLE), **numbers, "significant": FLAG}
    systems = results.cells[list(IDENTITY)].drop_duplicates()
    clean = set(systems.loc[systems["condition"] == CLEAN, "system"])
    changed = systems[(systems["condition"] != CLEAN) & systems["system"].isin(clean)]
    if not len(changed):
        return tidy([], types)
    matrix = score_matrix(comparable(results)[0], by=["condition", "system"])
    groups: dict[str, Sequence[str]] = {task: [task] for task in matrix.tasks}
    parts = []
    for condition, own in changed.groupby("condition", observed=True):
        references = own.loc[own["role"] == "reference", "system"]
        for family in (list(own.loc[own["role"] != "reference", "system"]), *([name] for name in references)):
            pairs = [((condition, name), (CLEAN, name)) for name in family]
            parts += [compare_columns(matrix, pairs, kind) for kind in (groups, None) if pairs]
    found = pandas.concat(parts, ignore_index=True)
    found = found[found["questions"] > 0].assign(
        condition=lambda frame: [key[0] for key in frame["a"]], system=lambda frame: [key[1] for key in frame["a"]]
    )
    found = found.rename(columns={"score_a": "score", "score_b": "clean_score", "group": "task"})
    found["task"] = found["task"].replace("all", ALL_TASKS)
    several = found.groupby(["condition", "system"])["task"].transform("size") > 2
    found = found[several | (found["task"] != ALL_TASKS)]
    return tidy(systems.merge(found, on=["condition", "system"]), types)


@once
def faithful(results: Results) -> pandas.DataFrame:
    """Whether answers were read or remembered, where the environment's values were replaced.

    Under the condition `counterfactual` a question has a new gold answer, which only the environment tells, and an old
    one, which only a memory of the world as it is can give. Of each answer that no infrastructure error stopped:

    - faithful: it matches the new gold.
    - leaked: it matches the old gold. What the LLM knew won over what it could have read.
    - other: it matches neither, or both alike.

    The old golds are those of the run's questions, the new ones those of its episodes; questions whose gold did not
    change are left out. `incomplete` are the other episodes.
    """
    shares = [f"{kind}_share" for kind in VERDICTS]
    sums = ["answers", "incomplete", *VERDICTS]
    types = {**_PLACE, **dict.fromkeys(sums, WHOLE), **dict.fromkeys(ends(*shares), NUMBER)}
    rows = tidy(list(_verdicts(results)), {"episode_id": TEXT, "system": TEXT, "verdict": TEXT})
    episodes = results.episodes[[*IDENTITY, "task", "question_id", "cluster", "episode_id"]]
    rows = episodes.merge(rows.astype({"system": results.cells["system"].dtype}), on=["system", "episode_id"])
    rows["answers"] = rows["verdict"].notna().astype("int64")
    rows["incomplete"] = 1 - rows["answers"]
    for kind in VERDICTS:
        rows[kind] = (rows["verdict"] == kind).fillna(False).astype("int64")
        rows[f"{kind}_share"] = rows[kind].where(rows["answers"] > 0).astype("float64")
    return tidy(by_task(rows, shares, sums=sums), types)


def verdict(answer: str, new: Sequence[str], old: Sequence[str]) -> Verdict:
    """Whether an answer matches the new golds, the old ones, or neither (or both alike), by `token_f1`.

    >>> verdict("Lima", ["Lima"], ["Oslo"]), verdict("It is Oslo", ["Lima"], ["Oslo"]), verdict("", ["Lima"], ["Oslo"])
    ('faithful', 'leaked', 'other')
    """
    is_new, is_old = token_f1(answer, new), token_f1(answer, old)
    if max(is_new, is_old) < THRESHOLDS["strict"] or is_new == is_old:
        return "other"
    return "faithful" if is_new > is_old else "leaked"


def _verdicts(results: Results) -> Iterator[dict[str, Any]]:
    """A row per episode whose gold is another than that of its question."""
    for run, suffix in zip(results.runs, results.suffixes, strict=True):
        golds: dict[str, dict[str, list[str]]] = {}
        for cell in (cell for cell in run.cells() if cell.condition != CLEAN):
            if cell.task not in golds:
                golds[cell.task] = {question.id: question.answers for question in run.questions(cell.task)}
            for one in run.cell_episodes(cell):
                old = golds[cell.task].get(one.question_id, one.golds)
                if old != one.golds:
                    stopped = one.outcome.kind in INFRASTRUCTURE_FAILURES
                    found = None if stopped else verdict(one.answer, one.golds, old)
                    yield {"episode_id": one.episode_id, "system": cell.system + suffix, "verdict": found}


# ---- variants


def placeholder_scores(results: Results) -> pandas.DataFrame:
    """The scores over samples, by task and part of it, and over the samples of all tasks.

    `episodes` counts variants with a score, `incomplete` those whose infrastructure failed; `score_worst` and
    `score_best` are the mean over variants if all of these were wrong, or right.
    """
    import pandas

    sums = ["samples", "episodes", "incomplete", "total"]
    types = {**_PLACE, "part": TEXT, **dict.fromkeys(sums[:3], WHOLE)}
    types |= dict.fromkeys((*ends("score"), "score_worst", "score_best"), NUMBER)
    own = _samples(results).assign(samples=lambda rows: (rows["episodes"] > 0).astype("int64"))
    several = own.groupby([*IDENTITY, "task"], observed=True)["part"].transform("nunique") > 1
    rows = pandas.concat([own.assign(part=""), own[several]], ignore_index=True)
    found = by_task(rows, ["score"], sums=sums, strata=False, further=["part"])
    found = found[(found["task"] != ALL_TASKS) | (found["part"] == "")]
    variants = found["episodes"] + found["incomplete"]
    worst = found["total"] / variants
    return tidy(found.assign(score_worst=worst, score_best=worst + found["incomplete"] / variants), types)


def stability(results: Results) -> pandas.DataFrame:
    """Of every sample all of whose variants have a verdict: is it right in all of them, in none, or in some?

    Right is EM or AM, in half of the epochs at least. `right_of_partly_share` is the share of right variants among the
    samples that are partly right. Samples with one variant, or with one without a verdict, are counted as `left_out`.
    """
    names = [f"{name}_share" for name in ("all_right", "partly_right", "all_wrong", "right_of_partly")]
    types = {**_PLACE, **dict.fromkeys(("samples", "left_out"), WHOLE), **dict.fromkeys(ends(*names), NUMBER)}
    own = _samples(results)
    known = (own["incomplete"] == 0) & (own["episodes"] > 1)
    share = own["right"].where(known)
    partly = (share > 0) & (share < 1)
    kinds = zip(names, (share == 1, partly, share == 0), strict=False)
    own = own.assign(samples=known.astype("int64"), left_out=(~known).astype("int64"))
    own = own.assign(**{name: kind.astype("float64").where(known) for name, kind in kinds})
    own[names[3]] = share.where(partly)
    return tidy(by_task(own, names, sums=["samples", "left_out"], strata=False), types)


def _samples(results: Results) -> pandas.DataFrame:
    """A row per system and sample: of its variants the mean and the sum (`total`) of the scores, the share that is
    right, how many have a score (`episodes`) and how many have none."""
    variants = tidy(list(_variants(results)), dict.fromkeys(("task", "question_id", "sample", "part"), TEXT))
    variants["task"] = variants["task"].astype(results.cells["task"].dtype)
    episodes = results.episodes.astype({"question_id": TEXT})
    episodes["right"] = episodes["response_type"].isin(RIGHT).astype("float64").where(episodes["score"].notna())
    rows = episodes.merge(variants.drop_duplicates(["task", "question_id"]), on=["task", "question_id"])
    keys = [*IDENTITY, "task", "part", "sample"]
    each = rows.groupby([*keys, "question_id"], observed=True, sort=False)[["score", "right"]].mean()
    each["right"] = (each["right"] >= 0.5).astype("float64").where(each["right"].notna())
    groups = each.groupby(keys, observed=True, sort=False)
    found = groups.mean().assign(total=groups["score"].sum(), episodes=groups["score"].count())
    found = found.assign(incomplete=groups.size() - found["episodes"]).reset_index()
    return found.assign(cluster=found["sample"], question_id=found["task"].astype(str) + "\n" + found["sample"])


def _variants(results: Results) -> Iterator[dict[str, str]]:
    """The sample, and its part of the task, of each question that is a variant of one."""
    for run in results.runs:
        for entry in run.manifest()["tasks"]:
            for question in run.questions(entry["name"]):
                sample, part = question.meta.get("document"), str(question.meta.get("subtask") or "")
                if isinstance(sample, str) and sample and question.meta.get("variant") is not None:
                    yield {"task": entry["name"], "question_id": question.id, "sample": sample, "part": part}


# ---- epochs

REPEATS = {
    **_PLACE,
    **dict.fromkeys(("k", "questions"), WHOLE),
    **dict.fromkeys(ends("pass_at_k", "pass_hat_k"), NUMBER),
}


def repeats(results: Results) -> pandas.DataFrame:
    """pass@k and pass^k of each system and task, for k = 1, 2, 4, ...; empty with one epoch.

    A try is right from a score of MATCH on. Questions with fewer than k scored tries are left out.
    """
    import pandas

    scored = results.episodes[results.episodes["score"].notna()]
    if scored.empty or not scored["epoch"].max():
        return tidy([], REPEATS)
    tries = scored.assign(right=scored["score"] >= MATCH).groupby([*IDENTITY, "task", "question_id"], observed=True)
    questions = tries.agg(cluster=("cluster", "first"), tries=("right", "size"), right=("right", "sum")).reset_index()
    parts = []
    for k in (2**power for power in range(int(questions["tries"].max()).bit_length())):
        own = questions[questions["tries"] >= k]
        counts = list(zip(own["tries"], own["right"], strict=True))
        at_least_one = [1 - comb(n - right, k) / comb(n, k) for n, right in counts]
        parts.append(own.assign(k=k, pass_at_k=at_least_one, pass_hat_k=[comb(r, k) / comb(n, k) for n, r in counts]))
    found = by_task(pandas.concat(parts, ignore_index=True), ["pass_at_k", "pass_hat_k"], further=["k"])
    return tidy(found, REPEATS)
