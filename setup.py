"""Finds the packages of the five rooms; everything else is in setup.cfg."""

from pathlib import Path

from setuptools import setup

ROOMS = {
    "r_eval": "r_eval",
    "environments": "r_eval.environments",
    "workflows": "r_eval.workflows",
    "tasks": "r_eval.tasks",
    "analysis": "r_eval.analysis",
}


def packages() -> list[str]:
    """Every folder of the rooms that holds an __init__.py, by the name under which it imports."""
    here = Path(__file__).parent
    found = []
    for room, name in ROOMS.items():
        for init in sorted((here / room).rglob("__init__.py")):
            inner = init.parent.relative_to(here / room).parts
            found.append(".".join([name, *inner]))
    return found


setup(packages=packages())
