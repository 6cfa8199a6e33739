"""Build both distributions, and try the wheels where nothing else is installed: `make release-check`.

What is packed must be whole: the environment has no clone beside it, and the workflow runs in an empty directory.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = {"headway": ROOT, "headway-papers": ROOT / "papers"}


def build(folder: Path) -> dict[str, Path]:
    """Build wheel and sdist of each distribution into a folder, from which earlier ones go; return the wheels."""
    for old in folder.glob("headway*"):
        old.unlink()
    wheels = {}
    for name, source in DISTRIBUTIONS.items():
        for target in ("wheel", "sdist"):
            words = ["-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
            subprocess.run([sys.executable, *words], cwd=source, check=True)
        wheels[name] = next(folder.glob(f"{name.replace('-', '_')}-*.whl"))
    return wheels


def version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def example() -> str:
    """Return the workflow that the README shows first."""
    found = re.search(r"^```yaml\n(name: .*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found, "README.md shows no workflow"
    return found[1]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="headway-release-") as place:
        folder = Path(place)
        wheels = build(ROOT / "dist")
        versions = {version_of(wheel) for wheel in wheels.values()}
        assert len(versions) == 1, f"the distributions have different versions: {', '.join(sorted(versions))}"
        [version] = versions
        assert f"\n## {version} - " in (ROOT / "CHANGELOG.md").read_text(), f"CHANGELOG.md has no section {version}"
        venv.create(folder / "environment", with_pip=True)
        programs = folder / "environment" / "bin"
        # Extras of the papers need Headway's own wheel, not one from an index.
        words = [f"headway[simulate] @ {wheels['headway'].as_uri()}", str(wheels["headway-papers"])]
        subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *words], check=True)
        work = folder / "work"
        work.mkdir()
        (work / "workflow.yaml").write_text(example())
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWAY", "PYTHON"))}
        clean |= {"PATH": f"{programs}:/usr/bin:/bin", "HOME": place, "XDG_STATE_HOME": str(folder / "state")}

        def headway(*words: str) -> str:
            print("headway", *words, flush=True)
            done = subprocess.run(
                [programs / "headway", *words], cwd=work, env=clean, check=True, stdout=subprocess.PIPE, text=True
            )
            print(done.stdout, end="", flush=True)
            return done.stdout

        assert version in headway("--version")
        headway("run")
        assert "succeeded" in headway("status")
        headway("docs", "index")
        headway("reproduce", "--help")
    print(f"Headway {version} is in {ROOT / 'dist'}, installs and runs. Now tag it: docs/releasing.md")


if __name__ == "__main__":
    main()
