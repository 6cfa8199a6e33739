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
# What Nextflow's own launcher opens to it; without that it keeps no cache.
_PACKAGES = "java.lang java.io java.nio java.net java.util java.util.concurrent.locks java.util.concurrent.atomic "
_PACKAGES += "java.nio.file.spi java.util.regex sun.nio.ch sun.nio.fs sun.net.www.protocol.http jdk.internal.misc"
_OPENS = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _PACKAGES.split()]
_QUICK = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
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
    own = {"NXF_HOME": str(directory / ".nextflow-home"), "NXF_OFFLINE": "true", "NXF_ANSI_LOG": "false"}
    return subprocess.run(
        ["java", *_QUICK, "-cp", f"{JARS}/*", *args],
        cwd=directory,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )


def launcher() -> Path:
    """Return the program `nextflow`, as users have it; it starts in half the time with an archive of loaded classes."""
    folder = JARS.with_name("nextflow-bin")
    program, archive = folder / "nextflow", folder / "classes.jsa"
    with open(JARS.with_name(f"{JARS.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists() or program.read_text() != _program(f"-XX:SharedArchiveFile={archive}"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "first.nf").write_text("process FIRST { script: 'true' }\nworkflow { FIRST() }\n")
            for option in (f"-XX:ArchiveClassesAtExit={archive}", f"-XX:SharedArchiveFile={archive}"):
                program.write_text(_program(option))
                program.chmod(0o755)
                if not archive.exists():
                    own = os.environ | {"NXF_HOME": str(folder)}
                    subprocess.run([program, "run", "first.nf"], cwd=folder, env=own, capture_output=True, check=True)
    return program


def _program(option: str) -> str:
    return f"""#!/bin/sh
export NXF_HOME="${{NXF_HOME:-$HOME/.nextflow}}" NXF_OFFLINE=true NXF_ANSI_LOG=false NXF_DISABLE_CHECK_LATEST=true
exec java {" ".join([*_QUICK, *_OPENS])} {option} -Xlog:disable -cp "{JARS}/*" nextflow.cli.Launcher "$@"
"""


def environment(home: Path) -> dict[str, str]:
    """Return variables with which `nextflow` is that of the tests, and Headway's plugin is compiled once for all."""
    path = f"{launcher().parent}:{os.environ['PATH']}"
    return {"PATH": path, "NXF_HOME": str(home), "NXF_PLUGINS_DIR": str(JARS.with_name("nextflow-plugins"))}


def nextflow(directory: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run `nextflow` in a directory."""
    return java(directory, "nextflow.cli.Launcher", *args)


if __name__ == "__main__":
    obstacle = get()
    print(obstacle, end="")  # the tests that need it are skipped then
    if not obstacle:
        launcher()
