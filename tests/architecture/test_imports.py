"""Which package may import which. The folder list is the architecture; this test keeps it true."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "headway"
PAPERS = ROOT / "papers" / "src" / "headway_papers"

POLICIES = {"sizing", "ordering", "grouping", "timing", "waiting", "planning"}
SMALL = {"version", "crash_points", "file_systems", "locks", "log_setup", "garbage"}
# What each folder may import of ours, besides itself.
ALLOWED: dict[str, set[str]] = {
    "model": set(),
    "kernels": set(),
    **{policy: {"model", "kernels"} for policy in POLICIES},
    "planning": {"model", "kernels", "grouping", "timing", "waiting", "sizing"},
    "formats": {"version", "model", "kernels", "registry", "garbage"},
    "generators": {"model", "kernels", "formats"},
    "history": {"model", "kernels", "file_systems"},
    "engine": {"model", *POLICIES},
    "workers": {"model", "kernels", "crash_points", "locks", "log_setup", "peers"},
    "journal": {"model", "kernels", "crash_points", "locks", "file_systems"},
    "clusters": {"model", "kernels", "workers", "locks", "log_setup"},
    "report": {"version", "model", "journal", "history"},
    "notifying": {"version", "model", "journal", "report"},
    "simulation": {"model", "kernels", *POLICIES},
    "drivers": {
        "formats",
        "version",
        "model",
        "kernels",
        "engine",
        "journal",
        "clusters",
        "workers",
        "crash_points",
        "log_setup",
        "garbage",
        "registry",
        "simulation",
        "history",
        *POLICIES,
    },
    "serving": {"model", "formats", "journal", "workers", "drivers", "crash_points", "peers"},
    "studies": {"model", "kernels", "formats", "simulation", "drivers", "report", *POLICIES},
    "testing": {"model", "kernels", "formats", "journal", "clusters", "drivers", *POLICIES},
    **{module: set() for module in SMALL},
    "peers": {"file_systems"},
    "registry": {"model"},
    "plugins": {"model", "formats", "clusters", *POLICIES},
    "dashboard": {"model", "journal", "report", "api"},
    "terminal": {"model", "report", "api"},
    "cli": {"version", "log_setup", "registry", "model", "report", "api", "dashboard", "terminal"},
    "integrations": {"version", "log_setup", "peers", "model", "report", "api"},
    "__init__": {"version", "model", "integrations", "api"},
    "__main__": {"cli", "serving"},
}
# `api` puts all parts together.
ALLOWED["api"] = ALLOWED.keys() - {"cli", "dashboard", "terminal", "integrations", "testing", "__init__", "__main__"}
# Single modules that others may import beyond that.
ALSO_ALLOWED = {"integrations": {"headway.workers.short_path", "headway.serving.client"}}
IMPURE = {"time", "os", "subprocess", "random", "socket", "asyncio", "threading", "datetime", "secrets"}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else path.stem


@cache
def imported(path: Path) -> frozenset[str]:
    """Absolute names of everything that a module imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def rooms_of(names: Iterable[str]) -> set[str]:
    """The folders and top modules of the product that imported names belong to."""
    ours = {name.split(".")[1] for name in names if name.startswith("headway.")}
    return {name for name in ours if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()}


def test_every_room_is_known() -> None:
    rooms = {room_of(path) for path in modules()}
    assert rooms <= ALLOWED.keys(), f"no rule for {rooms - ALLOWED.keys()}"
    assert {"model", "engine", "drivers", "api", "cli"} <= rooms


def test_imports_point_down() -> None:
    wrong = []
    for path in modules():
        room = room_of(path)
        also = ALSO_ALLOWED.get(room, set())
        rooms = rooms_of({name for name in imported(path) if name.rpartition(".")[0] not in also})
        if forbidden := sorted(rooms - ALLOWED[room] - {room}):
            wrong.append(f"{path.relative_to(SOURCE)}: {room} may not import {', '.join(forbidden)}")
        if "cli" in rooms and room not in ("cli", "__main__"):
            wrong.append(f"{path.relative_to(SOURCE)}: nothing imports cli")
    assert wrong == []


def test_the_product_does_not_import_the_papers() -> None:
    assert [path for path in modules() if any(name.startswith("headway_papers") for name in imported(path))] == []


def test_of_the_papers_only_their_own_command_line_imports_ours() -> None:
    paths = sorted(PAPERS.rglob("*.py"))
    wrong = [
        str(path.relative_to(PAPERS))
        for path in paths
        if path.relative_to(PAPERS).parts[0] != "cli" and rooms_of(imported(path)) & {"cli", "integrations"}
    ]
    assert paths and wrong == []


def test_policies_and_engine_are_pure() -> None:
    paths = [path for path in modules() if room_of(path) in POLICIES | {"engine", "model"}]
    touched = {path: {name.split(".")[0] for name in imported(path)} & IMPURE for path in paths}
    assert [f"{path.relative_to(SOURCE)} imports {sorted(names)}" for path, names in touched.items() if names] == []


def test_there_are_no_circles() -> None:
    graph: dict[str, frozenset[str]] = {}
    for path in modules():
        if path.name == "__init__.py" and path.parent == SOURCE:
            continue
        name = ".".join(("headway", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        graph[name] = imported(path)
    clean: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"circle: {' -> '.join((*trail[trail.index(name) :], name))}"
        if name in clean:
            return
        for target in graph[name]:
            owner = target if target in graph else target.rpartition(".")[0]
            if owner in graph and owner != name:
                visit(owner, (*trail, name))
        clean.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("module", ["headway.cli.main", "headway.cli.status", "headway.integrations.executor"])
def test_heavy_modules_are_not_loaded_for_a_quick_answer(module: str) -> None:
    code = (
        f"import {module}, sys; print(*sorted({{'numpy', 'numba', 'plotly', 'yaml', 'asyncio'}} & sys.modules.keys()))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.split() == [], f"{module} loads {output}"
