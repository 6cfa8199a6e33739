"""One workflow through a real Slurm by Headway, Parsl, Snakemake, Nextflow and plain job arrays.

All get the same four emulated nodes, which jobs share, the same commands, and the same requests: one core, 500 MB and
two minutes a task. The commands sleep, so that this machine's cores do not limit them. Each tool uses its defaults,
and settings that its documentation gives for shared nodes; Parsl is told the width of the workflow besides.

The table has the time from start to exit, the core-seconds that Slurm charges (sacct), the Slurm commands that the
tool called, and the CPU time of slurmctld. With `--load` other users' jobs take part of the nodes.

    python -m benchmarks.slurm_peers [--load 0.6] [--seed 1]
    python -m benchmarks.slurm_peers --tasks 2000        # tasks of one second that depend on nothing
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table
from tests import nextflow as real_nextflow
from tests.slurm.background import NAME as OTHERS
from tests.slurm.background import BackgroundLoad
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.lab import SlurmLab, missing_commands
from tests.slurm.processes import wait_until

from benchmarks.measure import timed

NODES, CORES = 4, 8
MEMORY_MB, MINUTES = 500, 2
CALLS = ("sbatch", "squeue", "sacct", "scontrol", "scancel", "sinfo", "srun", "sacctmgr", "sshare", "sprio", "sdiag")


@dataclass(frozen=True)
class Stage:
    """Tasks 1 to `width`, each of which sleeps; a task needs the one of its number in `after`, or all of it."""

    name: str
    width: int
    sleep: str  # seconds, an expression with the task's number in n that the shell and Python read alike
    after: str = ""
    needs_all: bool = False


DIAMOND = (
    Stage("align", 12, "4 + n % 5"),
    Stage("sort", 12, "3 + n % 3", after="align"),
    Stage("call", 5, "6", after="sort", needs_all=True),
    Stage("merge", 1, "4", after="call", needs_all=True),
)


def work_core_s(stages: Sequence[Stage]) -> float:
    """Return what the tasks themselves take."""
    return sum(eval(stage.sleep, {"n": n}) for stage in stages for n in range(1, stage.width + 1))


def headway(stages: Sequence[Stage]) -> tuple[str, str, list[str]]:
    """A workflow file with the tasks' requests."""
    tasks = ["name: peers", "tasks:"]
    for stage in stages:
        needed = f'inputs: ["{stage.after}-{"*" if stage.needs_all else "{n}"}"]' if stage.after else ""
        tasks += [
            f"  {stage.name}:",
            f"    each: {{n: 1..{stage.width}}}",
            f"    run: n={{n}}; sleep $(({stage.sleep})); echo > {stage.name}-{{n}}",
            f"    {needed}",
            f'    outputs: ["{stage.name}-{{n}}"]',
            f"    resources: {{cores: 1, memory: {MEMORY_MB} MB, time: {MINUTES} min}}",
        ]
    return "workflow.yaml", "\n".join(tasks), [sys.executable, "-m", "headway", "run", "--on", "slurm"]


def snakemake(stages: Sequence[Stage]) -> tuple[str, str, list[str]]:
    """A Snakefile, by the plugin `slurm`."""
    last = stages[-1]
    rules = [f"rule all:\n    input: expand('{last.name}-{{n}}', n=range(1, {last.width + 1}))"]
    widths = {stage.name: stage.width for stage in stages}
    for stage in stages:
        rules.append(f"rule {stage.name}:")
        if stage.after:
            every = f"expand('{stage.after}-{{m}}', m=range(1, {widths[stage.after] + 1}))"
            rules.append(f"    input: {every if stage.needs_all else repr(stage.after + '-{n}')}")
        rules.append(f"    output: '{stage.name}-{{n}}'")
        rules.append(f"    resources: mem_mb={MEMORY_MB}, runtime={MINUTES}")
        rules.append(f"    shell: 'n={{wildcards.n}}; sleep $(({stage.sleep})); echo > {{output}}'")
    words = ["snakemake", "--executor", "slurm", "--jobs", "100", "--slurm-no-account", "--quiet", "progress"]
    return "Snakefile", "\n".join(rules), [sys.executable, "-m", *words]


def snakemake_on_headway(stages: Sequence[Stage]) -> tuple[str, str, list[str]]:
    """The same Snakefile, by Headway's executor."""
    file, rules, _ = snakemake(stages)
    words = ["snakemake", "--executor", "headway", "--headway-on", "slurm", "--cores", "100", "--quiet", "progress"]
    return file, rules, [sys.executable, "-m", *words]


def nextflow(stages: Sequence[Stage]) -> tuple[str, str, list[str]]:
    """A pipeline, by Nextflow's own executor for Slurm."""
    processes, calls = [], []
    for stage in stages:
        script = f"n=$n; sleep \\$(({stage.sleep})); echo > $launchDir/{stage.name}-$n"
        wants = f"cpus 1\n    memory '{MEMORY_MB} MB'\n    time '{MINUTES} min'"
        values = "input:\n    val n\n    val before\n    output:\n    val n"
        processes.append(f'process {stage.name.upper()} {{\n    {wants}\n    {values}\n    script:\n    "{script}"\n}}')
        of_all = f"Channel.of(1..{stage.width})"
        before = f"{stage.after.upper()}.out"
        given = f"{before}, 0" if stage.after else f"{of_all}, 0"
        calls.append(f"    {stage.name.upper()}({f'{of_all}, {before}.collect()' if stage.needs_all else given})")
    text = "\n".join((*processes, "workflow {", *calls, "}"))
    return "main.nf", text, ["nextflow", "run", "main.nf", "-process.executor=slurm"]


def nextflow_on_headway(stages: Sequence[Stage]) -> tuple[str, str, list[str]]:
    """The same pipeline, on Headway."""
    file, text, _ = nextflow(stages)
    return file, text, [sys.executable, "-m", "headway", "nextflow", "--on", "slurm", "--", "run", "main.nf"]


def parsl(stages: Sequence[Stage]) -> tuple[str, str, list[str]]:
    """A program with blocks of half a node, as many as the widest stage needs."""
    width = min(NODES * CORES, max(stage.width for stage in stages))
    cores = min(width, CORES // 2)
    program = f"""
        import parsl
        from parsl.config import Config
        from parsl.executors import HighThroughputExecutor
        from parsl.providers import SlurmProvider

        parsl.load(Config(executors=[HighThroughputExecutor(
            label="htex", address="127.0.0.1", cores_per_worker=1, max_workers_per_node={cores},
            provider=SlurmProvider(
                nodes_per_block=1, cores_per_node={cores}, mem_per_node={max(1, cores * MEMORY_MB // 1000)},
                init_blocks=1, max_blocks={-(-width // cores)}, walltime="00:10:00", exclusive=False,
                worker_init="export PATH={Path(sys.executable).parent}:$PATH"),
        )], initialize_logging=False))

        @parsl.bash_app
        def task(name, n, sleep, inputs=()):
            return f"n={{n}}; sleep $(({{sleep}})); echo > {{name}}-{{n}}"

        made = {{}}
        for name, width, sleep, after, needs_all in {[tuple(vars(stage).values()) for stage in stages]}:
            made[name] = [
                task(name, n, sleep, inputs=(made[after] if needs_all else [made[after][n - 1]]) if after else [])
                for n in range(1, width + 1)
            ]
        for futures in made.values():
            for future in futures:
                future.result()
        parsl.dfk().cleanup()
    """
    return "peer.py", textwrap.dedent(program), [sys.executable, "peer.py"]


def job_arrays(stages: Sequence[Stage]) -> tuple[str, str, list[str]]:
    """A script that submits one array a stage and waits for the last."""
    lines = ["set -e"]
    for stage in stages:
        how = "afterok" if stage.needs_all else "aftercorr"
        after = f"--dependency={how}:$(cat id-{stage.after})" if stage.after else ""
        task = f"n=$SLURM_ARRAY_TASK_ID; sleep $(({stage.sleep})); echo > {stage.name}-$n"
        options = f"--parsable --array=1-{stage.width} --mem={MEMORY_MB} --time={MINUTES} --output=/dev/null {after}"
        wait = "--wait" if stage is stages[-1] else ""
        lines.append(f"sbatch {options} {wait} --wrap='{task}' > id-{stage.name}")
    return "submit.sh", "\n".join(lines), ["bash", "submit.sh"]


CONTENDERS: dict[str, Callable[[Sequence[Stage]], tuple[str, str, list[str]]]] = {
    "headway": headway,
    "Parsl": parsl,
    "Snakemake": snakemake,
    "Snakemake on Headway": snakemake_on_headway,
    "Nextflow": nextflow,
    "Nextflow on Headway": nextflow_on_headway,
    "job arrays": job_arrays,
}


@dataclass(frozen=True)
class Seen:
    """What one contender took."""

    wall_s: float
    core_s: float
    calls: int
    controller_cpu_s: float


def measure(lab: SlurmLab, stages: Sequence[Stage], contender: str, directory: Path) -> Seen:
    """Run one contender to its end. All its tasks' files must be there."""
    name, text, argv = CONTENDERS[contender](stages)
    (directory / name).write_text(text)
    environment = {word: value for word, value in lab.environment().items() if not word.startswith("HEADWAY_")}
    programs = (_counters(lab, directory), Path(sys.executable).parent, real_nextflow.launcher().parent)
    environment |= real_nextflow.environment(directory)
    environment["PATH"] = ":".join((*map(str, programs), lab.environment()["PATH"]))
    environment["XDG_CACHE_HOME"] = str(directory / "cache")
    controller = psutil.Process(int((lab.root / "run/slurmctld.pid").read_text()))
    first = lab.submit("true", f"--job-name={OTHERS}")
    lab.wait_for_job(first)
    cpu_s = sum(controller.cpu_times()[:2])
    took = timed(argv, directory, **environment)
    cpu_s = sum(controller.cpu_times()[:2]) - cpu_s
    for stage in stages:
        missing = [n for n in range(1, stage.width + 1) if not (directory / f"{stage.name}-{n}").exists()]
        assert not missing, f"{contender}: no output of {stage.name} {missing}"
    return Seen(took.wall_s, _charged_core_s(lab, first), len((directory / "calls").read_text().split()), cpu_s)


def _counters(lab: SlurmLab, directory: Path) -> Path:
    """Make a folder of commands that note each call and then become Slurm's own."""
    folder = directory / "counters"
    folder.mkdir()
    for command in CALLS:
        real = shutil.which(command, path=lab.environment()["PATH"])
        # Snakemake's jobs drop the variables of Slurm. At a site Slurm's clients find their configuration without one.
        lines = ("#!/bin/sh", f"echo {command} >> {directory}/calls", f"export SLURM_CONF={lab.root}/etc/slurm.conf")
        (folder / command).write_text("\n".join((*lines, f'exec {real} "$@"\n')))
        (folder / command).chmod(0o755)
    return folder


def _charged_core_s(lab: SlurmLab, after: int) -> float:
    """Return what Slurm charges for the jobs after job `after` that are not other users'.

    `-D` also shows a job as it was before it gave back nodes.
    """

    def rows() -> list[list[str]]:
        shown = lab.run("sacct", "-a", "-D", "-X", "-n", "-P", "-o", "JobIDRaw,JobName,AllocCPUS,ElapsedRaw,End").stdout
        ours = [line.split("|") for line in shown.splitlines()]
        return [row for row in ours if int(row[0]) > after and row[1] != OTHERS]

    wait_until(lambda: all(row[4] != "Unknown" for row in rows()), "the accounts of all jobs")
    return sum(int(cores) * float(elapsed_s) for _, _, cores, elapsed_s, _ in rows())


@contextlib.contextmanager
def _other_load(lab: SlurmLab, load: float, seed: int) -> Iterator[None]:
    if not load:
        yield
        return
    lab.run("sacctmgr", "-i", "add", "user", "nobody", "account=lab")  # whose jobs they are
    with BackgroundLoad(lab, load, seed, typical_run_s=20, backlog_s=15):
        wait_until(lambda: OTHERS in lab.run("squeue", "-h", "-t", "R", "-o", "%j").stdout, "other users' jobs to run")
        yield


def main() -> None:
    """Run the contenders one after the other and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, help="that many tasks of one second instead of the workflow of 30")
    parser.add_argument("--load", type=float, default=0.0, help="the share of the nodes that other users' jobs take")
    parser.add_argument("--seed", type=int, default=1, help="for other users' jobs")
    parser.add_argument("--only", nargs="+", default=list(CONTENDERS), choices=list(CONTENDERS), metavar="NAME")
    chosen = parser.parse_args()
    console = Console()
    if missing := missing_commands(with_accounting=True):
        console.print(f"this benchmark needs {', '.join(missing)}: run tests/packages.sh as root")
        return
    if obstacle := real_nextflow.get():
        console.print(obstacle)
        return
    stages = (Stage("second", chosen.tasks, "1"),) if chosen.tasks else DIAMOND
    tasks = sum(stage.width for stage in stages)
    table = Table(title=f"{tasks:,} tasks, {work_core_s(stages):.0f} core-s of work, other load {chosen.load:.0%}")
    for heading in ("", "makespan", "core-seconds charged", "per core-second of work", "calls", "controller CPU"):
        table.add_column(heading, justify="right" if heading else "left")
    site = Configuration(
        nodes=NODES, cpus=CORES, memory_mb=8_000, partitions=(Partition("main", max_time_min=60),),
        accounting=True, min_job_age_s=60, more=("MaxArraySize=10001",),
    )  # fmt: skip
    for contender in chosen.only:  # a Slurm each, so that no one's jobs are in another's way
        with SlurmLab(site) as lab, tempfile.TemporaryDirectory(prefix="headway-peers-") as directory:
            with _other_load(lab, chosen.load, chosen.seed):
                seen = measure(lab, stages, contender, Path(directory))
            share = seen.core_s / work_core_s(stages)
            figures = (f"{seen.wall_s:.0f} s", f"{seen.core_s:.0f}", f"{share:.2f}", f"{seen.calls}")
            table.add_row(contender, *figures, f"{seen.controller_cpu_s:.1f} s")
            console.print(f"  {contender}: {', '.join(figures)}", style="dim")
    console.print(table)
    console.print(f"{datetime.now(UTC):%Y-%m-%d}, seed {chosen.seed}, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
