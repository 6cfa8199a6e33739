"""A real Nextflow for the tests, got from Maven Central with Debian's `maven`: `python -m tests.nextflow` gets it once.

Its own launcher would download it from elsewhere, so the jars are taken one by one. Two of them are not to be had there
in the version that Nextflow names: of one the version before serves as well, the other is for a service that no test
uses.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "25.04.4"
JARS = Path(sys.prefix) / f"nextflow-{VERSION}"
_PATIENCE_S = 600
PROJECT = f"""<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId> <artifactId>nextflow</artifactId> <version>1</version>
  <dependencyManagement><dependencies><dependency>
    <groupId>io.nextflow</groupId> <artifactId>nf-lang</artifactId> <version>25.04.0</version>
  </dependency></dependencies></dependencyManagement>
  <dependencies><dependency>
    <groupId>io.nextflow</groupId> <artifactId>nextflow</artifactId> <version>{VERSION}</version>
    <exclusions><exclusion><groupId>io.seqera</groupId> <artifactId>lib-trace</artifactId></exclusion></exclusions>
  </dependency></dependencies>
</project>
"""


def get() -> str:
    """Get the jars if they are not there yet; return why they cannot be had, or nothing."""
    if JARS.is_dir():
        return ""
    if not shutil.which("mvn") or not shutil.which("java"):
        return "Nextflow needs java and mvn: tests/packages.sh installs them"
    with open(JARS.with_name(f"{JARS.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        unfinished = JARS.with_name(f"{JARS.name}.unfinished")
        if JARS.is_dir():
            return ""
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        (unfinished / "pom.xml").write_text(PROJECT)
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=."]
        try:
            done = subprocess.run(
                command, cwd=unfinished, capture_output=True, text=True, check=False, timeout=_PATIENCE_S
            )
        except subprocess.TimeoutExpired:
            return f"Maven has not got Nextflow within {_PATIENCE_S} s"
        if done.returncode:
            return f"Maven cannot get Nextflow: {done.stdout[-500:]}"
        unfinished.rename(JARS)
    return ""


def java(directory: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a class of the jars in a directory."""
    quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
    environment = {"NXF_HOME": str(directory / ".nextflow-home"), "NXF_OFFLINE": "true", "NXF_ANSI_LOG": "false"}
    return subprocess.run(
        ["java", *quick, "-cp", f"{JARS}/*", *args],
        cwd=directory,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def nextflow(directory: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run `nextflow` in a directory."""
    return java(directory, "nextflow.cli.Launcher", *args)


if __name__ == "__main__":
    print(get(), end="")  # the tests that need it are skipped then
