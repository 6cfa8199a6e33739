"""The bill of materials is a valid one, and no version that is known to be bad may be installed with Headway."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

pytest.importorskip("packaging")

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.sbom import EXTRAS, bill

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SECURITY = (ROOT / "SECURITY.md").read_text()
# The first version of a package without the faults that SECURITY.md names.
SOUND = {name: Version(first) for name, first in re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \|", SECURITY, re.MULTILINE)}


def requirements() -> list[Requirement]:
    groups = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] for extra in EXTRAS)]
    return [Requirement(text) for group in groups for text in group]


def test_the_bill_of_materials_is_valid_and_whole() -> None:
    pytest.importorskip("cyclonedx")
    from cyclonedx.schema import SchemaVersion  # takes seconds: only the worker that runs this test pays
    from cyclonedx.validation.json import JsonStrictValidator

    found = bill()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(found)) is None
    names = {component["name"] for component in found["components"]}
    assert {canonicalize_name(each.name) for each in requirements()} <= names
    assert "pytest" not in names
    assert bill() == found


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_no_version_that_is_known_to_be_bad_is_allowed(requirement: Requirement) -> None:
    lowest = [Version(each.version) for each in requirement.specifier if each.operator in (">=", "==")]
    assert lowest, "a requirement says from which version on"
    first = SOUND.get(canonicalize_name(requirement.name))
    assert first is None or max(lowest) >= first


def test_what_is_installed_here_is_sound() -> None:
    assert len(SOUND) > 8
    for name, first in SOUND.items():
        assert Version(version(name)) >= first
