"""The page of all policies, each with the papers that its code names."""

from __future__ import annotations

import pkgutil
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import headway
import headway.sizing.agents
import headway.sizing.estimators
from headway.drivers.assemble import orders, wait_models

PAPERS = (Path(__file__).parents[2] / "papers.md").read_text(encoding="utf-8")
# How code names a paper, and the heading of docs/papers.md that has it; of others there is the name alone.
NAMES = {
    "Phung and Thain 2024": "phung-and-thain-2024",
    "Souza et al. 2020": "souza-et-al-2020",
    "Witt et al. 2019": "witt-et-al-2019",
    "Bader et al. 2022": "bader-et-al-2022",
    "Zunker 2021": "zunker-2021",
    "GLUME thesis": "the-glume-thesis-2020",
    "Nurmi, Brevik and Wolski 2007": "",
    "Tovar et al. 2018": "",
}
EXPLAINED = {"sizers": "sizing", "orders": "ordering", "plans": "planning", "waits": "waits"}


def page() -> str:
    """Return the page: a table for each kind of policy."""
    lines = [
        "# Policies, and their papers",
        "",
        "Every policy that can be chosen, as `headway policies` lists them. The papers are those that the code of the",
        "policy names; [the papers](../papers.md) has the full references. Policies without a paper are Headway's own,",
        "or a rule of thumb that people use.",
        "",
    ]
    for kind in headway.policies().kinds:
        question, _, option = kind.question.removesuffix(")").partition(" (")
        lines += [f"## {kind.name.capitalize()}", ""]
        lines += [f"{question.capitalize()} Chosen by `{option}`; explained in [](../{EXPLAINED[kind.name]}.md).", ""]
        lines += ["| name | what it does | papers |", "|---|---|---|"]
        for name, about in kind.policies.items():
            shown = f"**`{name}`**, the default" if name == kind.default else f"`{name}`"
            lines.append(f"| {shown} | {about.replace('|', chr(92) + '|')} | {_papers(name, about)} |")
        lines.append("")
    return "\n".join(lines)


def _papers(name: str, about: str) -> str:
    policy = _classes().get(name)
    modules = [sys.modules[each.__module__] for each in policy.__mro__] if policy else []
    ours = [module for module in modules if module.__name__.startswith("headway.")]
    own = (policy.__doc__ or "") if policy else ""
    text = " ".join([about, own, *((module.__doc__ or "") for module in ours[:1])])
    found = [paper for paper in NAMES if re.search(re.escape(paper), " ".join(text.split()))]
    return "; ".join(f"[{each}](../papers.md#{NAMES[each]})" if NAMES[each] else each for each in found)


def _classes() -> dict[str, type[Any]]:
    """Return the class of each policy, by the name that users write."""
    found: dict[str, type[Any]] = {**orders(), **wait_models()}
    for package in (headway.sizing.estimators, headway.sizing.agents):
        for module in _modules(package):
            for each in vars(module).values():
                if isinstance(each, type) and isinstance(vars(each).get("name"), str):
                    found.setdefault(vars(each)["name"], each)
    return found


def _modules(package: ModuleType) -> list[ModuleType]:
    return [import_module(f"{package.__name__}.{each.name}") for each in pkgutil.iter_modules(package.__path__)]
