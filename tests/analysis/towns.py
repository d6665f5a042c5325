"""A small run with everything that goes beyond scores: two scripted LLMs with tools and without, over questions in
variants about towns, in the bare environment, with other values, and with calls that fail."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from r_eval import Grid
from r_eval import run as carry_out
from r_eval.folder import RunFolder

TOWNS = {
    "Passau": ("Danube", "Adler"),
    "Bonn": ("Rhine", "Busch"),
    "Riga": ("Daugava", "Cebers"),
    "Turin": ("Dora", "Dotti"),
    "Lyon": ("Rhone", "Estève"),
    "Porto": ("Douro", "Faria"),
    "Wroclaw": ("Oder", "Gorski"),
    "Szeged": ("Tisza", "Halasz"),
    "Tartu": ("Emajogi", "Ilves"),
    "Ghent": ("Lys", "Jansen"),
    "Graz": ("Mur", "Kofler"),
    "York": ("Ouse", "Lowell"),
}
KINDS = {"rivers": "Which river does {} lie on?", "mayors": "Who is the mayor of {}?"}
PATTERNS = {"rivers": r"river (.+?)[.]", "mayors": r"mayor is (.+?)[.]"}
DOMAIN = f"""
from r_eval.environments.base import Environment, NotFound, query_api

TOWNS = {TOWNS!r}


class Towns(Environment):
    '''Towns.'''

    @query_api
    def town(self, name: str) -> str:
        '''What is known of a town.

        Args:
            name: Its name.
        '''
        if name not in TOWNS:
            raise NotFound("There is no such town.")
        river, mayor = TOWNS[name]
        return f"{{name}} lies on the river {{river}}. Its mayor is {{mayor}}."

    def triples(self):
        for name, (river, mayor) in TOWNS.items():
            yield name, "river", river
            yield name, "mayor", mayor
"""
AGENTS = f"""
import re

TOWNS = {TOWNS!r}
KNOWN = list(TOWNS)[:7]


def asked(request):
    said = list(enumerate(request.messages))
    place = max(n for n, m in said if m.role == "user" and re.search(r"(lie on|mayor of)", m.content))
    text = request.messages[place].content
    town = re.findall(r"(?:does|mayor of) (\\w+)", text)[-1]
    return place, town, "river" if "lie on" in text else "mayor"


def memory(town, kind):
    return TOWNS[town][kind == "mayor"] if town in KNOWN else "somewhere"


def act(request, knows, patient):
    place, town, kind = asked(request)
    if "what you know" in request.messages[0].content:
        return memory(town, kind)
    said = [m.content for m in request.messages[place:]]
    step = sum(m.role == "assistant" for m in request.messages[place:]) + 1
    found = re.findall(r"river (\\w+)\\." if kind == "river" else r"mayor is ([^.]+)\\.", said[-1])
    failed = "may be made again" in said[-1]
    if step == 1 or failed and step <= patient:
        return f"Action {{step}}: town[{{town}}]"
    if knows and town in KNOWN or failed:
        return f"Action {{step}}: Finish[{{memory(town, kind)}}]"
    return f"Action {{step}}: Finish[{{found[0] if found else 'nothing'}}]"


def reader(request):
    return act(request, False, 3)


def knower(request):
    return act(request, True, 1)
"""


def towns_run(folder: Path) -> RunFolder:
    """Carry the run out in a folder of its own; it takes about a second."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "domain.py").write_text(DOMAIN, encoding="utf-8")
    (folder / "agents.py").write_text(AGENTS, encoding="utf-8")
    tasks = []
    for place, (kind, asked) in enumerate(KINDS.items()):
        lines = [
            {
                "id": f"q{number}",
                "question": asked.format(town),
                "answers": [values[place]],
                "level": "KS",
                "program": f"import re\nanswer = re.findall({PATTERNS[kind]!r}, town({town!r}))[0]",
                "entities": [values[place]],
                "meta": {"document": f"{kind}-{number // 3}", "variant": number % 3},
            }
            for number, (town, values) in enumerate(TOWNS.items())
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{kind}.jsonl").write_text(text, encoding="utf-8")
        tasks.append({"task": f"towns/{kind}", "questions": f"{kind}.jsonl", "environment": "./domain.py:Towns"})
    grid = {
        "name": "towns",
        "llms": [{"llm": f"scripted/{folder / 'agents.py'}:{name}", "name": name} for name in ("reader", "knower")],
        "workflows": ["react", "direct"],
        "tasks": tasks,
        "conditions": ["clean", "counterfactual", {"condition": "faulty", "rate": 0.4}],
        "shots": 0,
    }
    (folder / "grid.yaml").write_text(yaml.safe_dump(grid), encoding="utf-8")
    with ThreadPoolExecutor(1) as pool:  # where the tests have a browser, an event loop runs in their own thread
        return pool.submit(carry_out, Grid.load(folder / "grid.yaml"), folder / "run").result().folder
