"""`Task`: one command of a workflow, and the fingerprint of its result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct, field

from headway.model.job import Wish
from headway.model.resources import Resources

_SHELLS = frozenset(("ash", "bash", "dash", "ksh", "sh", "zsh"))


def digest(parts: Iterable[str]) -> str:
    """A short digest of a list of texts."""
    return hashlib.blake2b(msgspec.json.encode(list(parts)), digest_size=8).hexdigest()


class Terms(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a program that adds a task to a growing run asks for, besides the result.

    `key` is the program's own name for the submission: sent twice, it is one task. `quote` names the amounts of the
    first attempt, which were promised before the command was written. `on_exhausted` says what happens to a task that
    ran out of memory, disk or time: it is retried with more, or handed back to the program, which sees to that itself.
    With `keep` the task goes on when the program that waits for it is gone. `share` names the workflow or person on
    whose share of a pool the task counts. With `forget` no other task will depend on it, so that a run that lives for
    long may forget it some time after its end.
    """

    key: str = ""
    quote: str = ""
    on_exhausted: Literal["retry", "return"] = "retry"
    keep: bool = False
    share: str = ""
    forget: bool = False


class Work(Struct, frozen=True, omit_defaults=True, gc=False):
    """An attempt of another run, for which a task of a pool stands.

    `run` is that run's uid and `directory` its workflow's. The attempt has its own `folder` there, and `home` is the
    file that tells supervisors of the run. That run decides what is `held` for the attempt, and its `limits`.
    """

    run: str
    directory: str
    folder: str
    home: str
    task: Task
    attempt: int
    held: Resources
    limits: Resources
    expiries: int = 0  # earlier attempts that ended with their allocation


class Task(Struct, frozen=True, omit_defaults=True, gc=False):
    """One command to run.

    Tasks of one `category` do the same work on other data, so that the needs of one predict those of the next. `inputs`
    may hold patterns (`count_*`), outputs may not. `parents` are the ids of the tasks that must succeed first;
    `Workflow.add` adds those that files imply. `hints` are the user's requests by resource name (`memory_bytes`,
    `walltime_s`, …), `limits` what it must not exceed. A `malleable` task uses as many cores as it is given
    (`HEADWAY_CORES`). A task with `notice_s` gets a signal that many seconds before its walltime or its job ends, and
    may continue from its checkpoint later. `shell` is the program that runs the command, with its flags; if empty, that
    is strict bash. `software` has names by kind (`headway.model.software`); `Workflow.add` adds its files to the
    inputs. `input_bytes` is None until the inputs exist and have been read. With `auto_inputs` the files that the
    command names become inputs: `Workflow.add` adds those that tasks make, the start of a run adds those that exist,
    and clears the mark. `temp` are outputs that are deleted when all tasks that read them have succeeded. `wish`
    says in which jobs of a batch system it may run. `terms` are those of the program that added it to a growing run.
    `row` is the row of `each` that made it, by which users choose tasks; `columns` reads it.
    In a pool, `work` is what is run in its place. `gpu_memory_errors` are further texts in its error messages that say
    that it ran out of GPU memory. A `strict` task sees its inputs and nothing else of the workflow's directory;
    `declared_as` says where it comes from ("'plot' (workflow.yaml:12)"), so that a message can name the line to change.
    `shown` are paths that an attempt sees although they are not inputs: a check of the inputs has found them missing.
    `folders` are further directories of its sandbox that its command may write to.
    """

    id: str
    category: str
    command: str
    environment: dict[str, str] = field(default_factory=dict)
    setup: tuple[str, ...] = ()
    container: str | None = None
    software: dict[str, tuple[str, ...]] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    row: str = ""
    priority: float = 0
    hints: dict[str, float] = field(default_factory=dict)
    retries: int = 0
    sandbox: bool = True
    malleable: bool = False
    notice_s: float = 0
    shell: tuple[str, ...] = ()
    limits: dict[str, float] = field(default_factory=dict)
    input_bytes: int | None = None
    auto_inputs: bool = False
    temp: tuple[str, ...] = ()
    wish: Wish | None = None
    terms: Terms = Terms()
    work: Work | None = None
    gpu_memory_errors: tuple[str, ...] = ()
    strict: bool = False
    declared_as: str = ""
    shown: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    @property
    def nodes(self) -> int:
        """The number of whole nodes of one job that the task spans; with 1 it shares its node with others."""
        return int(self.hints.get("nodes", 1))

    @property
    def columns(self) -> dict[str, str]:
        """The names and values of `row`.

        A row is one text, `sample=s1` and the like with tabs between them, since a dictionary for each of 100,000 tasks
        takes several times the memory. Values have no control characters.
        """
        return dict(cell.split("=", 1) for cell in self.row.split("\t")) if self.row else {}

    @property
    def isolated(self) -> bool:
        """Whether the task runs in a directory of its own: it declares outputs and has not turned that off."""
        return bool(self.outputs) and self.sandbox

    def recipe(self) -> Recipe:
        """Digests of the parts of the task that decide its result. The caller's environment is not among them.

        Neither is `strict`: it only hides files on which the result should not depend.
        """
        return Recipe(
            command=digest([self.command]),
            environment=digest(f"{name}={value}" for name, value in sorted(self.environment.items())),
            setup=digest(self.setup),
            container=digest([self.container or ""]),
            outputs=digest(self.outputs),
            shell=digest(self.shell),
            software=digest(f"{kind}={name}" for kind, names in sorted(self.software.items()) for name in names),
        )


class Recipe(Struct, frozen=True, gc=False):
    """Digests of the parts of a task that decide its result, one each, so that a change can be named."""

    command: str
    environment: str
    setup: str
    container: str
    outputs: str
    shell: str = digest(())  # what a result has that was recorded before this field existed
    software: str = digest(())


class Fingerprint(Struct, frozen=True):
    """A task's recipe and the content of its inputs: equal fingerprints, equal results."""

    recipe: Recipe
    inputs: dict[str, str]

    def changes_since(self, earlier: Fingerprint, cause: str = "") -> list[str]:
        """What differs from `earlier`, in words; empty if nothing does. `cause` says why the recipe does."""
        parts = [
            part for part in Recipe.__struct_fields__ if getattr(self.recipe, part) != getattr(earlier.recipe, part)
        ]
        changes = [f"its {part} changed" for part in parts]
        if parts and cause:
            *others, last = parts
            changes = [f"its {', '.join(others)}{' and ' if others else ''}{last} changed: {cause}"]
        changes += [f"input {path} is new" for path in self.inputs if path not in earlier.inputs]
        changes += [f"{path} is no longer an input" for path in earlier.inputs if path not in self.inputs]
        changes += [
            f"input {path} changed"
            for path, digest in self.inputs.items()
            if earlier.inputs.get(path, digest) != digest
        ]
        if not changes and list(self.inputs) != list(earlier.inputs):
            changes = ["the order of its inputs changed"]
        return changes


def is_shell(program: Sequence[str]) -> bool:
    """Whether this program, with its flags, is a shell, as without any, and not another interpreter."""
    return not program or program[0].rpartition("/")[2] in _SHELLS


def is_pattern(path: str) -> bool:
    """Whether an input names files by a pattern rather than one file."""
    return any(mark in path for mark in "*?[")
