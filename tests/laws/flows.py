"""Workflows that seeds make up: a few stages, each of which reads what the stage before has made, or a user's files.

A `Flow` says in short what a workflow is like, so that a user's edits are small changes of it; `steps` has the entries
of the workflow file.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct, field, structs

SAMPLES = ("ada", "bob", "cyn", "dan", "eve", "fay", "gus", "hal")
WORDS = ("elm", "fir", "ash", "oak", "yew", "bay")
LIST, SCRIPT, SHEET, REGIONS = "list.txt", "scripts/work.sh", "samples.csv", "regions.tsv"
# Where the tasks of a stage put what they make; "own" is a directory with files of the user's.
Style = Literal["flat", "folder", "beside", "own", "directory"]
STYLES: tuple[Style, ...] = ("flat", "folder", "beside", "own", "directory")
# How a stage that merges names what it reads; "inside" writes its output into the directory that it reads.
How = Literal["pattern", "directory", "auto", "inside", "from"]
_HOWS: tuple[How, ...] = ("pattern", "pattern", "directory", "auto", "inside", "from")
EACHES = ("sheet", "where", "samples", "list", "files")
Kind = Literal["each", "merge", "side", "split", "parts", "regions"]


class Switches(Struct, frozen=True):
    """What workflows and their users may do. What is off breaks the law today, and is not hunted for again."""

    in_place_orphans: bool = (
        False  # tasks without a sandbox see files of former tasks: `headway clean --orphans` does not help
    )


class Stage(Struct):
    """One entry of a workflow file, in short."""

    kind: Kind
    name: str
    place: str  # the first part of its outputs' paths
    reads: int = -1  # the stage whose outputs it reads; -1: files of the user's
    each: str = "sheet"
    style: Style = "folder"
    how: How = "pattern"
    salt: int = 0  # a constant in its command
    temp: bool = False
    sandbox: bool = True
    auto: bool = False
    script: bool = False  # its command uses a script; a merge by `from` may read the files that a list names
    log: bool = False  # it has a second output


class Flow(Struct):
    """A workflow with its sample sheet."""

    file: str
    config: dict[str, str]
    rows: list[dict[str, str]]
    stages: list[Stage]

    @property
    def samples(self) -> list[str]:
        return [row["sample"] for row in self.rows]


class Step(Struct):
    """One entry of a workflow file, in full."""

    name: str
    each: str  # as in the file; empty: one task
    rows: str  # which rows it has: "", "all", "used", "files", "parts" or "regions"
    inputs: list[str]
    outputs: list[str]
    temp: list[str]
    lines: list[str]
    auto: bool = False
    sandbox: bool = True
    source: str = ""  # the step whose outputs it reads by `{from: …}`
    needs: list[str] = field(default_factory=list)


def made_up(chance: random.Random) -> tuple[Flow, dict[str, str]]:
    """Make up a workflow, and the files that its user has."""
    samples = chance.sample(SAMPLES[:6], chance.randint(2, 4))
    rows = [
        {"sample": name, "lib": chance.choice(WORDS), "use": chance.choice(["yes", "yes", "no"])} for name in samples
    ]
    rows[0]["use"] = "yes"
    flow = Flow("workflow.yaml", {"genome": chance.choice(WORDS), "depth": "7"}, rows, [])
    files = {f"reads/{name}.txt": words(chance) for name in samples}
    files |= {f"parts/{name}.txt": words(chance) for name in chance.sample(WORDS, 2)}
    files |= {SCRIPT: script_text(chance), "own/mine.txt": words(chance), LIST: word_list(chance)}
    flow.stages = list(_stages(chance))
    flow.stages += _of_files(flow.stages, random.Random(repr(flow)))
    return flow, files


def _stages(chance: random.Random) -> Iterator[Stage]:
    each, number = chance.choice(EACHES), 0
    for number in range(chance.randint(1, 2)):
        yield Stage(
            kind="each",
            name=f"s{number}",
            place=f"p{number}",
            reads=number - 1,
            each=each,
            style=chance.choice(STYLES),
            temp=chance.random() < 0.3,
            sandbox=chance.random() < 0.85,
            auto=chance.random() < 0.2,
            script=chance.random() < 0.4,
            log=chance.random() < 0.3,
        )
    number += 1
    if chance.random() < 0.9:
        how, style = chance.choice(_HOWS), chance.choice(("flat", "flat", "directory"))
        script, sandbox = chance.random() < 0.3, chance.random() < 0.9
        yield Stage("merge", f"s{number}", f"p{number}", number - 1, "", style, how, script=script, sandbox=sandbox)
        if chance.random() < 0.5:
            number += 1
            yield Stage("merge", f"s{number}", f"p{number}", number - 1, "", "flat", auto=chance.random() < 0.2)
    if chance.random() < 0.4:
        number += 1
        how = chance.choice(("pattern", "directory", "auto"))
        yield Stage("side", f"s{number}", f"p{number}", how=how, style=chance.choice(("flat", "directory")))
    if chance.random() < 0.5:
        number += 1
        kind: Kind = chance.choice(("parts", "regions"))
        yield Stage("split", f"s{number}", f"p{number}", each=kind)
        yield Stage(kind, f"s{number + 1}", f"p{number + 1}", number, style=chance.choice(("flat", "folder")))
        yield Stage("merge", f"s{number + 2}", f"p{number + 2}", number + 1, "", "flat", "from")


def _of_files(stages: Sequence[Stage], chance: random.Random) -> list[Stage]:
    """Perhaps have a task for each file that the tasks of the first stage, one for each sample, have made."""
    first, number = stages[0], len(stages)
    if first.style not in ("flat", "folder") or chance.random() < 0.6:
        return []
    parts = Stage("parts", f"s{number}", f"p{number}", 0, style=chance.choice(("flat", "folder")))
    parts.temp = chance.random() < 0.3
    return [parts, Stage("merge", f"s{number + 1}", f"p{number + 1}", number, "", "flat", "from")]


def words(chance: random.Random) -> str:
    """The content of a file: a few words."""
    return "".join(f"{word}\n" for word in chance.sample(WORDS, chance.randint(1, 3)))


def word_list(chance: random.Random) -> str:
    return "".join(f"{word}\n" for word in chance.sample(WORDS, chance.choice([0, 1, 2, 2, 3])))


def script_text(chance: random.Random) -> str:
    return f"cat $1\necho script {chance.choice(WORDS)} {chance.randrange(10)}\n"


# --- the entries of the file ---


def steps(flow: Flow) -> list[Step]:
    """Return the entries of the workflow file."""
    found: list[Step] = []
    for stage in flow.stages:
        makers = flow.stages[stage.reads] if stage.reads >= 0 else None
        found.append(_step(flow, stage, makers))
    return found


def _step(flow: Flow, stage: Stage, before: Stage | None) -> Step:
    match stage.kind:
        case "each" | "parts" | "regions":
            return _step_of_many(flow, stage, before)
        case "split":
            return _split(stage)
    return _merge(stage, before)


_NAMES = {"each": "sample", "parts": "part", "regions": "part"}


def outputs_of(stage: Stage) -> str:
    """Return the path of the first output of a stage's tasks, as in the file."""
    name = f"{{{_NAMES[stage.kind]}}}" if stage.kind in _NAMES else ""
    if not name:
        return f"{stage.place}.d" if stage.style == "directory" else f"{stage.place}.txt"
    return {
        "flat": f"{stage.place}_{name}.txt",
        "folder": f"{stage.place}/{name}.txt",
        "beside": f"reads/{name}.{stage.place}",
        "own": f"own/{name}-{stage.place}.txt",
        "directory": f"{stage.place}/{name}",
    }[stage.style]


def _files_in(stage: Stage) -> str:
    """Return how a command names the files that a task of a stage has made."""
    made = outputs_of(stage)
    return f"{made}/*.txt" if stage.style == "directory" else made


def _step_of_many(flow: Flow, stage: Stage, before: Stage | None) -> Step:
    name, made = _NAMES[stage.kind], outputs_of(stage)
    rows, each = _each(flow, stage, before)
    if before is None:
        read, files = f"reads/{{{name}}}.txt", f"reads/{{{name}}}.txt"
    elif stage.kind == "parts":
        read, files = (_files_of(before),) * 2
    elif before.kind == "split":
        read, files = REGIONS, REGIONS
    else:
        read, files = outputs_of(before), _files_in(before)
    lines = [f"test ! -e fail.{{{name}}}", *_made(stage, made, files)]
    if rows in ("all", "used") and stage.each != "list":
        lines.append(_append(stage, made, "{lib}"))
    outputs = [made]
    if stage.log:
        lines.append(f"echo {stage.salt} > logs/{stage.place}-{{{name}}}.log")
        outputs.append(f"logs/{stage.place}-{{{name}}}.log")
    inputs = [*([read] if not stage.auto or stage.style == "directory" else []), *([SCRIPT] if stage.script else [])]
    return _finished(Step(stage.name, each, rows, inputs, outputs, [], lines, stage.auto, stage.sandbox), stage)


def _files_of(before: Stage) -> str:
    """Return the names of the files of which a stage has one task each."""
    if before.kind == "split":
        return f"{before.place}.d/{{part}}.txt"
    return outputs_of(before).replace("{sample}", "{part}")


def _made(stage: Stage, made: str, files: str) -> list[str]:
    """Return the lines that make an output of certain files, the constant and a value of `config`."""
    if stage.style != "directory":
        start = f"sh {SCRIPT} {files} > {made}" if stage.script and "*" not in files else f"cat {files} > {made}"
        return [start, f"echo {files} {stage.salt} {{genome}} >> {made}"]
    # Files of the user's hold words that can be names.
    loop = f"for w in $(cat {files}); do echo $w {stage.salt} > {made}/$w.txt; done"
    content = loop if stage.reads < 0 else f"cat {files} > {made}/all.txt"
    return [f"mkdir -p {made}", content, f"echo {files} {stage.salt} {{genome}} > {made}/genome.txt"]


def _append(stage: Stage, made: str, what: str) -> str:
    return f"echo {what} > {made}/more.txt" if stage.style == "directory" else f"echo {what} >> {made}"


def _each(flow: Flow, stage: Stage, before: Stage | None) -> tuple[str, str]:
    if stage.kind == "parts":
        return "parts", f'{{files: "{_files_of(before)}", from: {before.name}}}' if before else ""
    if stage.kind == "regions":
        return "regions", f"{{sheet: {REGIONS}, from: {before.name}}}" if before else ""
    return {
        "sheet": ("all", SHEET),
        "where": ("used", f'{{sheet: {SHEET}, where: {{use: "yes"}}}}'),
        "samples": ("used", "samples"),
        "list": ("all", f"{{sample: [{', '.join(flow.samples)}]}}"),
        "files": ("files", '{files: "reads/{sample}.txt"}'),
    }[stage.each]


def _split(stage: Stage) -> Step:
    if stage.each == "parts":
        loop = f"for w in $(cat {LIST}); do echo $w {stage.salt} > {stage.place}.d/$w.txt; done"
        return Step(stage.name, "", "", [LIST], [f"{stage.place}.d"], [], [f"mkdir -p {stage.place}.d", loop])
    loop = f"for w in $(cat {LIST}); do echo $w >> {REGIONS}; done"
    return Step(stage.name, "", "", [LIST], [REGIONS], [], [f"echo part > {REGIONS}", loop])


def _merge(stage: Stage, before: Stage | None) -> Step:
    made = outputs_of(stage)
    if before is None:  # files of the user's
        pattern, folder = "parts/*.txt", "parts"
    else:
        several = before.kind in _NAMES
        pattern = outputs_of(before).replace("{sample}", "*").replace("{part}", "*")
        folder = pattern.rpartition("/")[0] if several and "/" in pattern else ""
        if stage.how == "inside" and several and before.style != "flat":
            made = f"{folder}/{stage.place}.{before.place if before.style == 'beside' else 'txt'}"
            stage = _plain(stage)
        if not several:
            folder = ""
    files = pattern
    if before is not None and before.style == "directory":
        files = f"{pattern}/*.txt"
    by_folder = bool(folder) and (stage.how == "directory" or made.startswith(f"{folder}/"))
    source = before.name if before is not None and stage.how == "from" else ""
    is_listed = False
    if source and before is not None and before.style != "directory":
        is_listed = stage.script or before.each in ("sheet", "samples")
        files, stage = "{inputs}", _plain(stage, style=stage.style)
    lines = ["test ! -e fail.all", *_made(stage, made, files)]
    if is_listed and stage.style != "directory":
        lines[1:] = [f"xargs cat < {{inputs.list}} > {made}", f"echo {stage.salt} {{genome}} >> {made}"]
    if by_folder:
        lines.append(f"ls {folder} > {made}/names.txt" if stage.style == "directory" else f"ls {folder} >> {made}")
    read = folder if by_folder else pattern
    auto = (stage.auto or stage.how == "auto") and not by_folder
    is_named = auto and (before is None or before.style != "directory")
    inputs = [] if is_named or source else [read]
    inputs += [SCRIPT] if stage.script and "*" not in files else []
    step = Step(stage.name, "", "", inputs, [made], [], lines, auto, stage.sandbox, source)
    return _finished(step, stage)


def _plain(stage: Stage, style: Style = "flat") -> Stage:
    """Return the stage without its script."""
    return structs.replace(stage, style=style, script=False)


def _finished(step: Step, stage: Stage) -> Step:
    if not stage.sandbox:  # the folders of its outputs are not made for it
        folders = sorted({path.rpartition("/")[0] for path in step.outputs if "/" in path})
        step.lines[:0] = [f"mkdir -p {folder}" for folder in folders]
    if stage.temp:
        step.outputs, step.temp = step.outputs[1:], step.outputs[:1]
    return step


def may_be_in_place(stage: Stage, flow: Flow, switches: Switches) -> bool:
    """Whether a stage without a sandbox would not break the law for a known reason."""
    if stage.style == "directory":  # what is in it stays: files of the user's may lie there
        return False
    reads_all = stage.kind == "merge" and stage.reads >= 0
    before = flow.stages[stage.reads]
    if not reads_all or (stage.how == "from" and before.style != "directory"):
        return True
    return switches.in_place_orphans


# --- the files ---


def workflow_text(flow: Flow) -> str:
    """Write a workflow file."""
    lines = ["name: law", f"config: {{{', '.join(f'{name}: {value}' for name, value in flow.config.items())}}}"]
    if any(stage.each == "samples" for stage in flow.stages):
        lines.append(f'samples: {{sheet: {SHEET}, where: {{use: "yes"}}}}')
    lines.append("tasks:")
    for step in steps(flow):
        lines += [f"  {step.name}:", *([f"    each: {step.each}"] if step.each else []), "    run: |"]
        lines += [f"      {line}" for line in step.lines]
        inputs = [*(["auto"] if step.auto else []), *map(_quoted, step.inputs)]
        inputs += [f"{{from: {step.source}}}"] if step.source else []
        lines += [f"    inputs: [{', '.join(inputs)}]"] if inputs else []
        lines += [f"    outputs: [{', '.join(map(_quoted, step.outputs))}]"] if step.outputs else []
        lines += [f"    temp: [{', '.join(map(_quoted, step.temp))}]"] if step.temp else []
        lines += [] if step.sandbox else ["    sandbox: false"]
    return "\n".join(lines) + "\n"


def _quoted(path: str) -> str:
    return f'"{path}"'


def sheet_text(rows: Sequence[dict[str, str]]) -> str:
    """Write a sample sheet."""
    return "".join(f"{line}\n" for line in ["sample,lib,use", *(",".join(row.values()) for row in rows)])
