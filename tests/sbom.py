"""Write the software bill of materials of Headway with its extras, as CycloneDX: `python -m tests.sbom FILE`.

It lists what is installed here of what Headway needs when it runs, directly or not, and nothing else.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "headway"
# What people install beside the core; `dev`, `docs` and `bench` are for those who work on Headway itself.
EXTRAS = ("simulate", "slurm", "postgres", "gpu", "cwl", "parsl", "serve", "top", "generate")


def needs(of: Distribution, extras: tuple[str, ...]) -> Iterator[tuple[Distribution, tuple[str, ...]]]:
    """What a distribution with some extras needs here, each with the extras that it is needed with."""
    for text in of.requires or ():
        requirement = Requirement(text)
        wanted = (*extras, "")
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in wanted):
            try:
                yield distribution(requirement.name), tuple(sorted(requirement.extras))
            except PackageNotFoundError:
                continue  # for another system, or an extra that is not installed


def name_of(of: Distribution) -> str:
    """The name as package indexes write it."""
    return canonicalize_name(of.metadata["Name"])


def purl(of: Distribution) -> str:
    """The package's address, by which databases of vulnerabilities know it."""
    return f"pkg:pypi/{name_of(of)}@{of.version}"


def component(of: Distribution, kind: str) -> dict[str, Any]:
    """One entry of the bill."""
    entry = {"type": kind, "bom-ref": purl(of), "name": name_of(of), "version": of.version, "purl": purl(of)}
    expression = of.metadata.get("License-Expression")
    return entry | ({"licenses": [{"expression": expression}]} if expression else {})


def bill() -> dict[str, Any]:
    """The bill of materials; the same installation gives the same one."""
    top = distribution(NAME)
    seen: dict[str, Distribution] = {}
    below: dict[str, set[str]] = {purl(top): set()}
    waiting: list[tuple[Distribution, tuple[str, ...]]] = [(top, EXTRAS)]
    looked_at: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        of, extras = waiting.pop()
        if (name_of(of), extras) in looked_at:
            continue
        looked_at.add((name_of(of), extras))
        for needed, with_extras in needs(of, extras):
            if name_of(needed) == NAME:
                continue
            below[purl(of)].add(purl(needed))
            below.setdefault(purl(needed), set())
            seen[purl(needed)] = needed
            waiting.append((needed, with_extras))
    components = [component(seen[ref], "library") for ref in sorted(seen)]
    dependencies = [{"ref": ref, "dependsOn": sorted(refs)} for ref, refs in sorted(below.items())]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(dependencies))}",
        "version": 1,
        "metadata": {"component": component(top, "application")},
        "components": components,
        "dependencies": dependencies,
    }


def main() -> None:
    """Write the bill to the file that is named."""
    place = Path(sys.argv[1])
    found = bill()
    place.write_text(json.dumps(found, indent=2) + "\n")
    print(f"{place}: Headway {found['metadata']['component']['version']} and {len(found['components'])} packages")


if __name__ == "__main__":
    main()
