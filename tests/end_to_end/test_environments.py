"""Tasks with environments (conda, pixi, uv, venv) and modules: really created, or by a stand-in for the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headway.model.records import EnvironmentMissing
from tests.end_to_end.project import Flow, wait_until

# A package without dependencies, from this folder: tests need no network.
_PACKAGE = """
[project]
name = "greeter"
version = "{version}"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
_BACKEND = """
import zipfile
def build_wheel(folder, settings=None, metadata=None):
    name = "greeter-{version}-py3-none-any.whl"
    about = "greeter-{version}.dist-info/"
    with zipfile.ZipFile(folder + "/" + name, "w") as wheel:
        wheel.writestr("greeter.py", "VERSION = '{version}'")
        wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\\nName: greeter\\nVersion: {version}\\n")
        wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(about + "RECORD", "")
    return name
"""
_GREET = "import greeter, sys; print(greeter.VERSION, sys.prefix, file=open('out_{x}', 'w'))"


def package(folder: Path, version: str) -> Path:
    """Write a package; return its folder."""
    path = folder / f"greeter-{version}"
    path.mkdir()
    (path / "pyproject.toml").write_text(_PACKAGE.format(version=version))
    (path / "backend.py").write_text(_BACKEND.format(version=version))
    return path


def created(flow: Flow, run: str | None = None) -> list[str]:
    return [record.environment for record in flow.records(run) if isinstance(record, EnvironmentMissing)]


def program(folder: Path, name: str, text: str) -> str:
    """Put a program into a folder; return a PATH with it."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize("kind", ["uv", "venv"])
def test_a_real_environment_is_created_once_and_its_file_makes_results_stale(kind: str, tmp_path: Path) -> None:
    old, new = package(tmp_path, "1.0"), package(tmp_path, "2.0")
    (tmp_path / "my needs.txt").write_text(f"{old}\n")
    flow = Flow(
        tmp_path,
        f"name: w\n{kind}: my needs.txt\ntasks:\n  greet:\n    each: {{x: [a, b]}}\n    shell: python3\n"
        f"    run: {_GREET}\n"
        "    outputs: 'out_{x}'\n",
    )
    done = flow.headway("run")
    version, prefix = (tmp_path / "out_a").read_text().split(maxsplit=1)
    assert version == "1.0"
    assert prefix.startswith(f"{tmp_path}/.headway/envs/")
    assert created(flow) == [f"{kind} environment of my needs.txt"]
    assert "creating" in done.stdout
    flow.headway("run")
    assert flow.reused() == ["greet[a]", "greet[b]"]
    (tmp_path / "my needs.txt").write_text(f"{new}\n")
    assert "input my needs.txt changed" in " ".join(flow.headway("run", "--dry-run").stdout.split())
    flow.headway("run")
    assert (tmp_path / "out_b").read_text().startswith("2.0 ")


def test_a_real_lock_file_of_uv(tmp_path: Path) -> None:
    project = tmp_path / "pinned"
    project.mkdir()
    greeter = package(tmp_path, "3.0")
    (project / "pyproject.toml").write_text(
        f'[project]\nname = "pinned"\nversion = "0"\nrequires-python = ">=3.9"\ndependencies = ["greeter"]\n'
        f'[tool.uv.sources]\ngreeter = {{ path = "{greeter}" }}\n'
    )
    subprocess.run(["uv", "lock", "--offline"], cwd=project, check=True, capture_output=True)
    flow = Flow(
        tmp_path,
        f"name: w\ntasks:\n  a:\n    each: {{x: [1]}}\n    uv: pinned/uv.lock\n    shell: python3\n    run: {_GREET}\n"
        "    outputs: out_{x}\n",
    )
    flow.headway("run")
    assert (tmp_path / "out_1").read_text().startswith(f"3.0 {tmp_path}/.headway/envs/")


def test_an_environment_that_exists_already(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks:\n  a: {venv: tools, run: hello > out, outputs: out}\n")
    program(tmp_path / "tools", "unused", "")
    program(tmp_path / "tools" / "bin", "hello", "#!/bin/sh\necho hello from $VIRTUAL_ENV\n")
    flow.headway("run")
    assert (tmp_path / "out").read_text() == f"hello from {tmp_path}/tools\n"
    flow.write("name: w\ntasks:\n  a: {venv: nowhere, run: hello > out, outputs: out}\n")
    flow.headway("run", code=1)
    assert "there is no venv environment nowhere" in " ".join(flow.headway("why", "a").stdout.split())


# Stands in for conda, mamba and micromamba: `create` makes a folder with one program and one activation script.
_CONDA = """#!/bin/sh
echo "$(basename "$0") $*" >> "{log}"
if [ "$1 $2" = "env list" ]; then echo '{{"envs": ["/opt/conda", "{named}"]}}'; exit; fi
while [ "$1" != --prefix ]; do shift; done
sleep {seconds}
mkdir -p "$2/bin" "$2/etc/conda/activate.d"
printf '#!/bin/sh\\necho hello $FROM' > "$2/bin/hello"
chmod +x "$2/bin/hello"
echo 'export FROM=conda; echo activated >> "{log}"' > "$2/etc/conda/activate.d/a.sh"
{end}
"""


def conda(folder: Path, name: str = "conda", end: str = "", seconds: float = 0) -> tuple[str, Path]:
    log = folder / "calls"
    text = _CONDA.format(log=log, named=folder / "opt/envs/tools", end=end, seconds=seconds)
    return program(folder / "bin", name, text), log


@pytest.mark.parametrize("name", ["conda", "mamba", "micromamba"])
def test_conda_and_its_kin(name: str, tmp_path: Path) -> None:
    path, log = conda(tmp_path, name)
    (tmp_path / "env.yaml").write_text("dependencies: [hello]\n")
    flow = Flow(
        tmp_path,
        "name: w\ntasks:\n  a:\n    each: {x: [1, 2, 3]}\n    conda: env.yaml\n    run: hello > out{x}\n"
        "    outputs: 'out{x}'\n",
    )
    flow.headway("run", PATH=path)
    assert (tmp_path / "out3").read_text() == "hello conda\n"
    calls = log.read_text().splitlines()
    assert calls.count("activated") == 1  # for three tasks
    prefix, file = next((tmp_path / ".headway/envs").glob("*/")), tmp_path / "env.yaml"
    verb = "create" if name == "micromamba" else "env create"
    assert calls[0] == f"{name} {verb} --quiet --prefix {prefix} --file {file}"
    (tmp_path / "out1").unlink()
    flow.headway("run", PATH=path)
    assert len(log.read_text().splitlines()) == 3  # activated once more, not created again


def test_conda_by_name(tmp_path: Path) -> None:
    path, _ = conda(tmp_path)
    program(tmp_path / "opt", "unused", "")
    (tmp_path / "opt/envs/tools").mkdir(parents=True)
    program(tmp_path / "opt/envs/tools/bin", "hello", "#!/bin/sh\necho named\n")
    flow = Flow(tmp_path, "name: w\ntasks:\n  a: {conda: tools, run: hello > out, outputs: out}\n")
    flow.headway("run", PATH=path)
    assert (tmp_path / "out").read_text() == "named\n"
    flow.write("name: w\ntasks:\n  a: {conda: other, run: hello > out, outputs: out}\n")
    flow.headway("run", code=1, PATH=path)
    assert "there is no conda environment 'other'; there are: conda, tools" in " ".join(
        flow.headway("why", "a").stdout.split()
    )


def test_a_creation_that_fails_is_reported_once_with_its_log(tmp_path: Path) -> None:
    path, _ = conda(tmp_path, end="echo nothing provides hello >&2; exit 3")
    (tmp_path / "env.yaml").write_text("dependencies: [hello]\n")
    flow = Flow(tmp_path, "name: w\ntasks:\n  a: {conda: env.yaml, run: hello > out, outputs: out}\n")
    done = flow.headway("run", code=1, PATH=path)
    said = " ".join(done.stdout.split())
    assert "cannot create the conda environment of env.yaml" in said
    assert "exited with code 3: nothing provides hello" in said
    path, _ = conda(tmp_path)
    flow.headway("run", PATH=path)  # what was left of the failed one is no hindrance
    assert (tmp_path / "out").read_text() == "hello conda\n"


def test_ctrl_c_twice_while_an_environment_is_created(tmp_path: Path) -> None:
    path, log = conda(tmp_path, seconds=300)
    (tmp_path / "env.yaml").write_text("dependencies: [hello]\n")
    flow = Flow(tmp_path, "name: w\ntasks:\n  a: {conda: env.yaml, run: hello > out, outputs: out}\n")
    manager = flow.start("run", PATH=path)
    wait_until(log.exists)
    manager.send_signal(signal.SIGINT)
    wait_until(lambda: any(type(record).__name__ == "UserCancel" for record in flow.records()))
    manager.send_signal(signal.SIGINT)
    manager.wait(30)
    path, _ = conda(tmp_path)
    flow.headway("resume", PATH=path)
    assert (tmp_path / "out").read_text() == "hello conda\n"


def test_pixi(tmp_path: Path) -> None:
    path = program(
        tmp_path / "bin",
        "pixi",
        f'#!/bin/sh\necho "$*" >> "{tmp_path}/calls"\n'
        '[ "$1" = install ] || echo \'export FROM=pixi PIXI_ODD="two\nlines"\'\n',
    )
    (tmp_path / "pixi.toml").write_text("[project]\n")
    (tmp_path / "pixi.lock").write_text("version: 6\n")
    flow = Flow(
        tmp_path,
        "name: w\ntasks:\n  a: {pixi: pixi.lock, run: 'echo \"$FROM $PIXI_ODD\" > out', outputs: out}\n",
    )
    flow.headway("run", PATH=path)
    assert (tmp_path / "out").read_text() == "pixi two\nlines\n"
    (prefix,) = (tmp_path / ".headway/envs").glob("*/")
    assert sorted(file.name for file in prefix.iterdir()) == ["pixi.lock", "pixi.toml"]
    assert (tmp_path / "calls").read_text().splitlines() == [
        f"install --frozen --manifest-path {prefix}/pixi.toml",
        f"shell-hook --shell bash --manifest-path {prefix}/pixi.toml",
    ]
    (tmp_path / "pixi.toml").write_text("[project]\nname = 'x'\n")
    flow.headway("run", PATH=path)
    assert not flow.reused()


def test_real_modules(tmp_path: Path) -> None:
    if not Path("/usr/share/modules/init/bash").exists():
        pytest.skip("environment-modules is not installed (tests/packages.sh)")
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "hello").write_text(f"#%Module1.0\nprepend-path PATH {tmp_path}/bin\nsetenv FROM modules\n")
    program(tmp_path / "bin", "hello", "#!/bin/sh\necho hello from $FROM with $LOADEDMODULES\n")
    text = "name: w\nmodules: [hello]\ntasks:\n  a: {run: hello > out, outputs: out}\n"
    flow = Flow(tmp_path, text)
    flow.headway("run", MODULEPATH=str(modules))
    assert (tmp_path / "out").read_text() == "hello from modules with hello\n"
    flow.write(text.replace("[hello]", "[hello, none/1.0]"))
    assert "its software changed" in " ".join(flow.headway("run", "--dry-run").stdout.split())
    flow.headway("run", code=1, MODULEPATH=str(modules))
    assert "Unable to locate a modulefile for 'none/1.0'" in " ".join(flow.headway("why", "a").stdout.split())


def test_python_workflows_name_software_too(tmp_path: Path) -> None:
    path, _ = conda(tmp_path)
    (tmp_path / "env.yaml").write_text("dependencies: [hello]\n")
    (tmp_path / "make.py").write_text(
        "import headway\nflow = headway.Workflow('w')\n"
        "flow.task('a', 'hello > out', outputs=['out'], software={'conda': 'env.yaml'})\n"
        "assert flow.tasks['a'].inputs == ('env.yaml',)\nheadway.run(flow)\n"
    )
    flow = Flow(tmp_path, "")
    subprocess.run([sys.executable, "make.py"], cwd=flow.directory, env=os.environ | {"PATH": path}, check=True)
    assert (tmp_path / "out").read_text() == "hello conda\n"
