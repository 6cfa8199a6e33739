"""A private, real Slurm for tests: munged, slurmctld and emulated nodes on loopback, in its own folder.

It needs Slurm's packages (see tests/packages.sh) but neither systemd nor root, and leaves no files or processes behind.
Several can run side by side: each has its own ports, key, state and configuration, which clients find by SLURM_CONF.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.slurm import accounting
from tests.slurm.configuration import (
    CGROUP_CONF,
    Configuration,
    Ports,
    cgroup_obstacle,
    gres_conf,
    node_names,
    slurm_conf,
)
from tests.slurm.processes import kill_all, kill_jobs, mentioning, of_jobs, start_daemon, wait_until

COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch")
# `scontrol reboot` makes slurmd run this in a shell; the machine goes down, and `start_rebooted` is its way up.
REBOOT = "#!/bin/sh\nkill -KILL $(ps -o ppid= -p $PPID)\n"
ACCOUNTING_COMMANDS = ("slurmdbd", "mariadbd", "mariadb-install-db")


def missing_commands(*, with_accounting: bool = False, with_fast_clock: bool = False) -> list[str]:
    """Return the commands that a lab needs and that are not installed."""
    needed = COMMANDS + (ACCOUNTING_COMMANDS if with_accounting else ()) + (("faketime",) if with_fast_clock else ())
    return [command for command in needed if shutil.which(command, path=_daemons_path()) is None]


class SlurmLab:
    """One Slurm that runs from `start` to `stop`."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self.configuration = configuration or Configuration()
        if self.configuration.enforcement == "cgroup" and (obstacle := cgroup_obstacle()):
            raise RuntimeError(obstacle)
        # The path is short, since a socket's path has at most 107 bytes. Other users may read it to submit jobs.
        self.root = Path(tempfile.mkdtemp(prefix="slurm-lab-"))
        self.root.chmod(0o755)
        self.ports = _free_ports(self.configuration.nodes)
        self.nodes = node_names(self.configuration, self.ports)
        self._path = _daemons_path()  # saved now, because a test may put lying commands in front later
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._guard: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start all daemons and wait until all nodes are idle."""
        self._guard = subprocess.Popen(
            [sys.executable, "-m", "tests.slurm.guard", str(self.root)],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        )
        for folder in ("etc", "run", "log", "state", *(f"spool/{node}" for node in self.nodes)):
            (self.root / folder).mkdir(parents=True, mode=0o755)
        (self.root / "etc/slurm.conf").write_text(slurm_conf(self.configuration, self.root, self.ports))
        (self.root / "etc/cgroup.conf").write_text(CGROUP_CONF)
        (self.root / "etc/gres.conf").write_text(gres_conf(self.configuration, self.nodes))
        reboot = self.root / "etc/reboot"
        reboot.write_text(REBOOT)
        reboot.chmod(0o755)
        if self.configuration.job_submit:
            (self.root / "etc/job_submit.lua").write_text(self.configuration.job_submit)
        self._start_munged()
        if self.configuration.accounting:
            self._daemons["mariadbd"] = accounting.start_database(self.root)
            self._daemons["slurmdbd"] = accounting.start_slurmdbd(self.root, self.ports, self.run)
            accounting.register(self.run)
            self.limit_user(self.configuration.max_running_per_user, self.configuration.max_submitted_per_user)
        self._start("slurmctld", "slurmctld", "-D")
        for node in self.nodes:
            self._start(node, "slurmd", "-D", "-N", node)
        self._wait_for_nodes(self.nodes)

    def stop(self) -> None:
        """Kill all processes of this Slurm and delete its files. Daemons get SIGKILL: their state is not needed."""
        for daemon in ("slurmctld", *self.nodes, "slurmdbd", "mariadbd", "munged"):
            self._end(daemon, signal.SIGKILL)
        kill_jobs(self.root)
        kill_all(mentioning(self.root))  # clients that hang, late submissions, and the guard
        if self._guard is not None:
            self._guard.communicate()
            self._guard = None
        self._remove_cgroups()
        shutil.rmtree(self.root, ignore_errors=True)

    def tidy(self) -> None:
        """Undo what an earlier test left: start daemons that are down, end all jobs, and wait for idle nodes."""
        if "slurmctld" not in self._daemons:
            self.start_controller()
        for node in self.nodes:
            if node not in self._daemons:
                self._start(node, "slurmd", "-D", "-N", node)
        if jobs := self.run("squeue", "-h", "-a", "-o", "%A").stdout.split():
            self.run("scancel", *jobs, check=False)  # a job may have ended meanwhile
        wait_until(lambda: not self.run("squeue", "-h", "-a").stdout, "all jobs to end")
        for node in self.run("sinfo", "-h", "-N", "-t", "drain", "-o", "%N").stdout.split():
            self.run("scontrol", "update", f"nodename={node}", "state=resume", check=False)
        if self.configuration.accounting:
            self.limit_user(self.configuration.max_running_per_user, self.configuration.max_submitted_per_user)
        self._wait_for_nodes(self.nodes)

    def environment(self) -> dict[str, str]:
        """Return the variables that a client of this Slurm needs in addition to its own."""
        quick = {"HEADWAY_ASK_EVERY": "5s", "HEADWAY_SUBMISSIONS": "1000"}  # so that tests do not wait for minutes
        return {"SLURM_CONF": f"{self.root}/etc/slurm.conf", "PATH": self._path, **quick}

    def run(self, *argv: str, check: bool = True, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run a client to its end; with `check`, a failure raises an error with its standard error.

        A controller with a fast clock may hang up on a client that is slow; Slurm's clients then die of SIGPIPE. With
        `check` such a client is run again, a few times.
        """
        for _ in range(5 if check else 1):
            done = subprocess.run(
                argv,
                env={**os.environ, **self.environment()},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
            if done.returncode != -signal.SIGPIPE:
                break
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr.strip()}")
        return done

    def submit(self, script: str, *options: str) -> int:
        """Submit the text of a shell script and return the job id; discard its output unless `options` has --output."""
        out = ("--output=/dev/null",) if not any(one.startswith("--output") for one in options) else ()
        return int(self.run("sbatch", "--parsable", *out, *options, f"--wrap={script}").stdout.split(";")[0])

    def job_state(self, job: int) -> str:
        """Return the job's state in squeue, or an empty string if squeue does not list it."""
        shown = self.run("squeue", "-h", "-t", "all", "-j", str(job), "-o", "%T", check=False).stdout.split()
        return shown[0] if shown else ""

    def wait_for_job(self, job: int, *states: str, patience_s: float = 120.0) -> str:
        """Wait until a job is in one of `states` (default: any state of an ended job) and return its state."""
        wanted = states or ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "DEADLINE")
        seen = ""

        def there() -> bool:
            nonlocal seen
            seen = self.job_state(job)
            return seen in wanted

        wait_until(there, f"job {job} to be {' or '.join(wanted)}", patience_s=patience_s)
        return seen

    def node_state(self, node: str) -> str:
        return self.run("sinfo", "-h", "-n", node, "-o", "%T").stdout.split()[0].rstrip("*")

    def kill_node(self, node: str) -> None:
        """Kill a node and all processes on it at once. Slurm notices this some time later."""
        kill_all(of_jobs(self.root, node), signal.SIGSTOP)  # or an srun sees the death of slurmd and ends its job
        self._end(node, signal.SIGKILL)
        kill_jobs(self.root, node)

    def revive_node(self, node: str) -> None:
        """Restart a dead node and wait until it is up."""
        self._start(node, "slurmd", "-D", "-N", node)
        self._wait_for_nodes((node,))

    def start_rebooted(self, node: str) -> None:
        """Wait until Slurm has rebooted a node, start it, and wait until it is up."""
        daemon = self._daemons[node]
        wait_until(lambda: daemon.poll() is not None, f"{node} to go down")
        del self._daemons[node]
        self._start(node, "slurmd", "-D", "-N", node, "-b")  # -b: as after a reboot
        self._wait_for_nodes((node,))

    def kill_controller(self) -> None:
        """Kill slurmctld; it may lose what it did in the last seconds."""
        self._end("slurmctld", signal.SIGKILL)

    def stop_controller(self) -> None:
        """Shut slurmctld down cleanly, with its state saved."""
        self._end("slurmctld", signal.SIGTERM)

    def start_controller(self) -> None:
        """Start slurmctld again and wait until it answers."""
        self._start("slurmctld", "slurmctld", "-D")
        wait_until(self._controller_answers, "slurmctld to answer")

    def limit_user(self, running: int | None = None, submitted: int | None = None) -> None:
        """Set the current user's job limits; slurmdbd stores them and slurmctld enforces them."""
        accounting.limit_user(self.run, running, submitted)

    def now(self) -> float:
        """Return the time of this Slurm's clock."""
        return time.time()

    def real_s(self, slurm_s: float) -> float:
        """Convert seconds of this Slurm's clock to real seconds."""
        return slurm_s / self.configuration.speed

    def daemon_environment(self) -> dict[str, str]:
        """Return extra environment variables for slurmctld and slurmd."""
        return {}

    def _start_munged(self) -> None:
        key = self.root / "etc/munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        run, log = self.root / "run", self.root / "log/munged.log"
        own = [f"--key-file={key}", f"--socket={run}/munge.socket", f"--pid-file={run}/munged.pid"]
        own += [f"--seed-file={run}/munged.seed", f"--log-file={log}", "--force", "--foreground"]
        self._start("munged", "munged", *own)
        wait_until((run / "munge.socket").exists, "munged to listen")

    def _start(self, name: str, command: str, *arguments: str) -> None:
        assert name not in self._daemons, f"{name} runs already"
        found = shutil.which(command, path=_daemons_path())
        assert found, f"{command} is not installed: run tests/packages.sh"
        environment = {**self.environment(), **self.daemon_environment()}
        self._daemons[name] = start_daemon([found, *arguments], self.root / f"log/{name}.out", environment)

    def _end(self, name: str, how: signal.Signals) -> None:
        daemon = self._daemons.pop(name, None)
        if daemon is not None:
            daemon.send_signal(how)
            daemon.wait(timeout=120)

    def _controller_answers(self) -> bool:
        return " is UP" in self.run("scontrol", "ping", check=False).stdout

    def _wait_for_nodes(self, nodes: tuple[str, ...]) -> None:
        def all_up() -> bool:
            self._raise_if_a_daemon_ended()
            shown = self.run("sinfo", "-h", "-N", "-n", ",".join(nodes), "-o", "%N %T", check=False).stdout.split("\n")
            return {line.split()[0] for line in shown if line.endswith((" idle", " mixed", " allocated"))} == set(nodes)

        wait_until(all_up, f"the nodes {', '.join(nodes)} to be up")

    def _raise_if_a_daemon_ended(self) -> None:
        for name, daemon in self._daemons.items():
            if daemon.poll() is not None:
                last_words = (self.root / f"log/{name}.out").read_text(errors="replace")[-500:]
                raise RuntimeError(f"{name} ended with {daemon.returncode} at once: {last_words}")

    def _remove_cgroups(self) -> None:
        def all_gone() -> bool:
            groups = [group for node in self.nodes for group in Path("/sys/fs/cgroup").glob(f"*/slurm_{node}")]
            for group in groups:
                for folder, _, _ in os.walk(group, topdown=False):
                    with contextlib.suppress(OSError):  # the kernel may still count ended processes in it
                        os.rmdir(folder)
            return not groups

        if self.configuration.enforcement == "cgroup":
            wait_until(all_gone, "the end of the nodes' cgroups")


def _daemons_path() -> str:
    """Return PATH with the administrator's directories, which hold the daemons."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def _free_ports(nodes: int) -> Ports:
    """Find consecutive free loopback ports below the range that the kernel assigns to clients."""
    for _ in range(100):
        first = random.SystemRandom().randrange(10_000, 32_000 - nodes - 2)
        if all(map(_is_free, range(first, first + nodes + 2))):
            return Ports(first, first + 1, tuple(range(first + 2, first + 2 + nodes)))
    raise RuntimeError("found no free loopback ports for a Slurm")


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
