"""Wrapper around one of Slurm's commands that sometimes lies: `python -IS liar.py PLAN COMMAND ARGUMENTS…`.

It imports nothing of the project, so that it starts fast. What the n-th call of a command does depends only on the
plan, its seed, the command and n (`sbatch --test-only` counts as a separate command). A call without a lie runs the
real command. tests/slurm/lies.py describes the lies.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

JOB_ID = re.compile(r"(\d+)(_\d+|_\[[^\]]*\])?(\+\d+)?(\.\w+)?")
BETWEEN_FIELDS = re.compile(r"[|,;\s]+")
OUT_OF_TOUCH = {
    "sbatch": "sbatch: error: Batch job submission failed: {}",
    "squeue": "slurm_load_jobs error: {}",
    "scancel": "scancel: error: slurm_kill_job2 error: {}",
    "sacct": "sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection: {}",
    "sinfo": "slurm_load_partitions: {}",
    "scontrol": "slurm_load_ctl_conf error: {}",
}
ABOUT_JOBS = ("forgotten-jobs", "duplicate-states", "out-of-order-states")
BANNER = b"*** The system is going down for maintenance at 18:00. ***\nWelcome! 3 updates can be applied.\n"
Rows = list[tuple[str, Any]]  # (job id, row); the id is empty for a row without a job


class Call:
    """One call of a command."""

    def __init__(self, plan: dict[str, Any], command: str, arguments: list[str]) -> None:
        self.plan, self.command, self.arguments = plan, command, arguments
        self.lie: str = plan["lie"]
        self.folder = Path(plan["folder"])
        self.real: str = plan["commands"][command]
        self.environment = {**os.environ, **plan["environment"]}
        # Probes are counted separately: their number depends on other users' jobs in the queue.
        self.counted = "probe" if "--test-only" in arguments else command
        with (self.folder / f"{self.counted}.calls").open("a+") as counted:  # one byte per call
            fcntl.flock(counted, fcntl.LOCK_EX)
            counted.write(".")
            counted.flush()
            self.number = counted.tell()

    def draw(self, *about: object) -> float:
        """Return a pseudo-random number in [0, 1) that depends only on the seed, the command and `about`."""
        key = "/".join(map(str, (self.plan["seed"], self.lie, self.counted, *about)))
        return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") / 2**64

    def may_be_lied_about(self) -> bool:
        if self.lie in {"accepted-but-reported-failed", "accepted-late"} and "--test-only" in self.arguments:
            return False
        if self.lie in ABOUT_JOBS and self.command == "scontrol" and self.arguments[:2] != ["show", "job"]:
            return False
        return self.command in self.plan["lied_about"]

    def note(self, *, lied: bool) -> None:
        line = {
            "at": time.time(),
            "command": self.command,
            "number": self.number,
            "arguments": self.arguments,
            "lie": self.lie if lied else None,
        }
        with (self.folder / "calls.jsonl").open("a") as log:
            fcntl.flock(log, fcntl.LOCK_EX)
            log.write(json.dumps(line) + "\n")

    def tell_the_truth(self) -> NoReturn:
        os.execve(self.real, [self.command, *self.arguments], self.environment)

    def ask(self) -> subprocess.CompletedProcess[bytes]:
        """Run the real command and return its result."""
        return subprocess.run([self.real, *self.arguments], env=self.environment, capture_output=True, check=False)

    def fail(self, why: str) -> NoReturn:
        print(OUT_OF_TOUCH[self.command].format(why), file=sys.stderr)
        sys.exit(1)


def say(truth: subprocess.CompletedProcess[bytes], output: bytes) -> NoReturn:
    sys.stdout.buffer.write(output)
    sys.stdout.flush()
    sys.stderr.buffer.write(truth.stderr)
    sys.stderr.flush()
    sys.exit(truth.returncode)


def hang(call: Call) -> NoReturn:
    time.sleep(call.plan["hang_s"])
    call.fail("Socket timed out on send/recv operation")


def hang_after_acting(call: Call) -> NoReturn:
    call.ask()
    hang(call)


def error(call: Call) -> NoReturn:
    call.fail("Unable to contact slurm controller (connect failure)")


def garbage(call: Call) -> NoReturn:
    """Print noise, a login banner, or the first half of the real output (nothing if that has only one line)."""
    truth = call.ask()
    lines = truth.stdout.splitlines(keepends=True)
    half = b"".join(lines)[: len(truth.stdout) // 2] if len(lines) > 1 else b""
    noise = hashlib.shake_128(f"{call.plan['seed']}/{call.number}".encode()).digest(300)
    sys.stdout.buffer.write((noise, BANNER, half)[int(call.draw("kind", call.number) * 3)])
    sys.stdout.flush()
    sys.exit(0)


def accept_but_report_failure(call: Call) -> NoReturn:
    call.ask()
    sys.exit(1)


def accept_late(call: Call) -> NoReturn:
    """Report an error, but submit the job some seconds later, with the script as it is now."""
    kept = call.folder / "late" / str(call.number)
    kept.mkdir(parents=True)
    script = next((index for index, one in enumerate(call.arguments) if os.path.isfile(one)), None)
    (kept / "stdin").touch()
    if script is not None:
        call.arguments[script] = shutil.copy(call.arguments[script], str(kept))
    elif not any(one.startswith("--wrap") for one in call.arguments):
        (kept / "stdin").write_bytes(sys.stdin.buffer.read())
    late = os.fork()
    if late == 0:
        os.setsid()
        os.dup2(os.open(kept / "stdin", os.O_RDONLY), 0)
        os.dup2(os.open(kept / "answer", os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(1, 2)
        time.sleep(call.plan["late_s"])
        call.tell_the_truth()
    (kept / "pid").write_text(str(late))
    call.fail("Socket timed out on send/recv operation")


def forget_jobs(call: Call) -> NoReturn:
    """Leave jobs out, each for several calls in a row. The choice is made per job, not per call."""
    truth = call.ask()
    stretch = (call.number - 1) // call.plan["calls_in_a_row"]
    rows, write = read_rows(truth.stdout)
    kept = [(job, row) for job, row in rows if not job or call.draw(job, stretch) >= call.plan["rate"]]
    call.note(lied=kept != rows)
    if len({job for job, _ in rows if job}) == 1 and not any(job for job, _ in kept) and asks_for_jobs(call):
        call.fail("Invalid job id specified")
    say(truth, write(kept))


def repeat_states(call: Call) -> NoReturn:
    """Show each job twice: in its current state, and as an earlier call showed it (or the current state again)."""
    truth = call.ask()
    rows, write = read_rows(truth.stdout)
    earlier = remember(call, rows)
    shown: Rows = []
    for job, same in by_job(rows):
        shown += same
        if job:
            past = earlier.get(job)
            shown += [(job, row) for row in past[int(call.draw(job, call.number) * len(past))]] if past else same
    say(truth, write(shown))


def go_back(call: Call) -> NoReturn:
    """Show jobs as earlier calls showed them."""
    truth = call.ask()
    rows, write = read_rows(truth.stdout)
    earlier = remember(call, rows)
    shown: Rows = []
    for job, same in by_job(rows):
        past = earlier.get(job, [])
        chosen = int(call.draw(job, call.number) * len(past)) if past else 0
        shown += [(job, row) for row in past[chosen]] if past else same
    say(truth, write(shown))


def look_honestly(call: Call) -> NoReturn:
    """Print the real output and remember it for later lies."""
    truth = call.ask()
    remember(call, read_rows(truth.stdout)[0])
    say(truth, truth.stdout)


def asks_for_jobs(call: Call) -> bool:
    """Return whether the call names the jobs that it asks about."""
    if call.command == "scontrol":
        return len(call.arguments) > 2
    return any(one.startswith(("-j", "--job")) for one in call.arguments)


def read_rows(output: bytes) -> tuple[Rows, Any]:
    """Split JSON, paragraphs (scontrol) or lines into rows with job ids; also return a function to join rows again."""
    if output.lstrip().startswith(b"{"):
        document = json.loads(output)
        rows = [(str(job.get("job_id", "")), job) for job in document.get("jobs", [])]
        return rows, lambda kept: json.dumps({**document, "jobs": [row for _, row in kept]}).encode()
    between = "\n\n" if output.startswith(b"JobId=") and b"\n   " in output else "\n"
    parts = output.decode(errors="surrogateescape").split(between)
    rows = [(job_of(part), part) for part in parts]
    return rows, lambda kept: between.join(row for _, row in kept).encode(errors="surrogateescape")


def job_of(text: str) -> str:
    """Return the job id of a row: the value of JobId=, or the first field that looks like a job id."""
    named = re.match(r"JobId=(\d+)", text)
    if named:
        return named[1]
    ids = (JOB_ID.fullmatch(field) for field in BETWEEN_FIELDS.split(text))
    return next((found[1] for found in ids if found), "")


def by_job(rows: Rows) -> list[tuple[str, Rows]]:
    """Group neighbouring rows of the same job (a job and its steps)."""
    groups: list[tuple[str, Rows]] = []
    for job, row in rows:
        if job and groups and groups[-1][0] == job:
            groups[-1][1].append((job, row))
        else:
            groups.append((job, [(job, row)]))
    return groups


def remember(call: Call, rows: Rows) -> dict[str, list[list[Any]]]:
    """Store how this call shows each job, and return how earlier calls with the same options showed it."""
    question = re.sub(r"\d+(,\d+)*", "#", " ".join(call.arguments))
    name = hashlib.blake2b(f"{call.command} {question}".encode(), digest_size=8).hexdigest()
    with (call.folder / f"{name}.seen").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        seen: dict[str, list[list[Any]]] = json.loads(file.read() or "{}")
        past = {job: list(shown) for job, shown in seen.items()}
        for job, same in by_job(rows):
            now = [row for _, row in same]
            if job and now not in seen.setdefault(job, []):
                seen[job] = [*seen[job][-20:], now]
        file.seek(0)
        file.truncate()
        file.write(json.dumps(seen))
    return past


LIES = {
    "hangs": hang,
    "hangs-after-acting": hang_after_acting,
    "errors": error,
    "garbage": garbage,
    "accepted-but-reported-failed": accept_but_report_failure,
    "accepted-late": accept_late,
    "duplicate-states": repeat_states,
    "out-of-order-states": go_back,
}


def main() -> NoReturn:
    plan_file, command, *arguments = sys.argv[1:]
    call = Call(json.loads(Path(plan_file).read_text()), command, arguments)
    may_lie = call.may_be_lied_about()
    if may_lie and call.lie == "forgotten-jobs":
        forget_jobs(call)
    lied = may_lie and call.draw(call.number) < call.plan["rate"]
    call.note(lied=lied)
    if lied:
        LIES[call.lie](call)
    if may_lie and call.lie in ABOUT_JOBS:
        look_honestly(call)
    call.tell_the_truth()


if __name__ == "__main__":
    main()
