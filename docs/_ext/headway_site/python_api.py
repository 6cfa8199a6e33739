"""The page of the Python API: everything that `import headway` offers, by Sphinx's autodoc."""

from __future__ import annotations

import headway

GROUPS = {
    "Run workflows and functions": (
        *("run", "Executor", "Run", "RunSettings", "Task", "Workflow", "current_executor", "TaskFuture", "Usage"),
        *("HeadwayError", "RunError", "TaskError", "NeedError"),
    ),
}


def page() -> str:
    """Return the page: classes and `run` first, then one function for each verb."""
    names = [name for name in dir(headway) if not name.startswith("_")]
    first = [name for group in GROUPS.values() for name in group]
    lines = [
        "# Python API",
        "",
        "Everything that `import headway` offers. [The Python API](../python.md) explains it with examples.",
        "Each function of the second part does what the command of the same name does, and returns a typed result.",
        "",
    ]
    for title, group in (*GROUPS.items(), ("Every command as a function", [n for n in names if n not in first])):
        lines += [f"## {title}", "", *(line for name in group for line in _directive(name))]
    return "\n".join(lines)


def _directive(name: str) -> list[str]:
    value = getattr(headway, name)
    kind = "autoclass" if isinstance(value, type) else "autofunction"
    if isinstance(value, type) and issubclass(value, Exception):
        kind = "autoexception"
    options = ["   :members:", "   :no-undoc-members:"] if kind == "autoclass" else []
    return ["```{eval-rst}", f".. {kind}:: headway.{name}", *options, "```", ""]
