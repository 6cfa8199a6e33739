"""What users do between runs, and while they go on: a seed chooses, and each deed finds out by itself what it acts on.

A deed is a kind and a number from which all its choices follow, so that deeds can be left out of a history.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

from msgspec import Struct, structs

from headway.formats.headway_yaml import read_workflow
from headway.model.errors import HeadwayError
from headway.model.workflow import folders_above
from tests.laws import oracle
from tests.laws.flows import (
    EACHES,
    LIST,
    SAMPLES,
    SCRIPT,
    SHEET,
    STYLES,
    WORDS,
    Flow,
    Switches,
    may_be_in_place,
    script_text,
    sheet_text,
    word_list,
    words,
    workflow_text,
)
from tests.world.faults import Fault, Kind

_MOST_RUNS = 5
_FAULTY = 0.4  # of all runs
_CHANGES_MEANWHILE, _LEAVES_FILES = 0.15, 0.1
ALL = 0  # the number of a run of all tasks, without options
FAULTS: dict[Kind, float] = {  # with the latest boundary, or second, at which each happens
    "manager dies at a boundary": 90,
    "supervisor dies at a boundary": 40,
    "manager dies": 60,
    "supervisor dies": 60,
    "user stops the run": 60,
    "node fails": 60,
}


class Deed(Struct, frozen=True):
    """Something that a user does. A run may have faults, and deeds may be done while it goes on, after some seconds."""

    kind: str
    number: int
    faults: tuple[Fault, ...] = ()
    during: tuple[tuple[float, Deed], ...] = ()
    rest_s: float | None = None  # before it; otherwise a moment, or some minutes


class User:
    """The user's own files, as they are meant to be and in a directory, by a clock."""

    def __init__(self, flow: Flow, files: dict[str, str], base: Path, clock: Callable[[], float] | None) -> None:
        self.flow = flow
        self.files = files
        self.base = base  # under which there is nothing else
        self.directory = base / "work"
        self.directory.mkdir()
        self.markers: set[str] = set()
        self.tampered: set[str] = set()  # outputs that the user changed: without a task they would be the user's
        # While a run goes on: a temporary output that is changed before it is read is gone when that could be seen, and
        # an output that is changed while its command writes it in place is what the command has made.
        self.is_running = False
        self.before: list[tuple[Flow, dict[str, str]]] = []
        self.past: dict[str, list[str]] = {}  # what outputs have held after runs, oldest first
        self._clock = clock
        self._written: dict[str, str] = {}
        self._results: dict[str, oracle.Clean] = {}
        self._copies = self._rooms = 0

    def save(self) -> None:
        """Write what has changed."""
        texts = {**self.files, **dict.fromkeys(self.markers, "")}
        texts |= {SHEET: sheet_text(self.flow.rows), self.flow.file: workflow_text(self.flow)}
        for path in [path for path in self._written if path not in texts]:
            (self.directory / path).unlink(missing_ok=True)
            self.date(path.rpartition("/")[0])
        for path, text in texts.items():
            if self._written.get(path) != text:
                (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
                (self.directory / path).write_text(text)
                self.date(path)
                self.date(path.rpartition("/")[0])
        self._written = texts

    def date(self, path: str) -> None:
        """Let a file or directory have been changed now."""
        if self._clock is not None:
            now_ns = int(self._clock() * 1e9)
            os.utime(self.directory / path, ns=(now_ns, now_ns))

    def is_legal(self) -> bool:
        """Whether Headway accepts the workflow."""
        room = self.room()
        try:
            oracle.lay_out(self.flow, self.files, room)
            read_workflow(room / self.flow.file).check_temporary()
        except HeadwayError:
            return False
        finally:
            shutil.rmtree(room)
        return True

    def room(self) -> Path:
        """Make an empty directory."""
        self._rooms += 1
        room = self.base / f"room{self._rooms}"
        room.mkdir()
        return room

    def expected(self, config: dict[str, str]) -> oracle.Clean:
        """What the workflow gives in an empty directory."""
        key = repr((self.flow, sorted(self.files.items()), config))
        if key not in self._results:
            room = self.room()
            oracle.lay_out(self.flow, self.files, room)
            self._results[key] = oracle.clean_run(self.flow, room, config)
            shutil.rmtree(room)
        return self._results[key]

    def outputs(self) -> list[str]:
        """All outputs of the workflow that lie in the directory, and that users do things to.

        What users put into a directory that a task makes in place is theirs, and stays.
        """
        in_place = {stage.name for stage in self.flow.stages if not stage.sandbox}
        tasks = self.expected({}).tasks.values()
        if self.is_running:
            made = [path for task in tasks if task.category not in in_place for path in task.outputs]
        else:
            made = [path for task in tasks for path in (*task.outputs, *task.temp)]
            kept = {path for task in tasks if task.category in in_place for path in (*task.outputs, *task.temp)}
            made = [path for path in made if path not in kept or not (self.directory / path).is_dir()]
        return sorted(filter(self.has, made))

    def keep_outputs(self) -> None:
        """Note what the outputs hold, as a backup does."""
        for path in self.outputs():
            if (self.directory / path).is_file() and (text := (self.directory / path).read_text()) not in (
                seen := self.past.setdefault(path, [])
            ):
                seen.append(text)

    def has(self, path: str) -> bool:
        return (self.directory / path).exists()

    def copy(self, *, dated: bool) -> None:
        """Go on in a copy of the directory; the copies of files may keep their dates."""
        self._copies += 1
        copy = self.base / f"copy{self._copies}"
        how = shutil.copy2 if dated else shutil.copyfile
        shutil.copytree(self.directory, copy, symlinks=True, copy_function=how)
        self.directory = copy
        if not dated:
            for folder, _, names in os.walk(copy):
                for name in names:
                    if not Path(folder, name).is_symlink():
                        self.date(str(Path(folder, name).relative_to(copy)))

    def move(self) -> None:
        self._copies += 1
        self.directory = self.directory.rename(self.base / f"moved{self._copies}")


# --- edits of the workflow and the user's files: each returns words about what was done, or nothing ---

Act = Callable[[User, random.Random], str]


def _add_row(user: User, chance: random.Random) -> str:
    free = [name for name in SAMPLES if name not in user.flow.samples]
    if not free:
        return ""
    name = chance.choice(free)
    user.flow.rows.insert(
        chance.randint(0, len(user.flow.rows)), {"sample": name, "lib": chance.choice(WORDS), "use": "yes"}
    )
    user.files[f"reads/{name}.txt"] = words(chance)
    return f"adds sample {name}"


def _remove_row(user: User, chance: random.Random) -> str:
    if len(user.flow.rows) < 2:
        return ""
    row = user.flow.rows.pop(chance.randrange(len(user.flow.rows)))
    user.files.pop(f"reads/{row['sample']}.txt")
    return f"removes sample {row['sample']}"


def _rename_sample(user: User, chance: random.Random) -> str:
    free = [name for name in SAMPLES if name not in user.flow.samples]
    if not free:
        return ""
    row, name = chance.choice(user.flow.rows), chance.choice(free)
    was, row["sample"] = row["sample"], name
    user.files[f"reads/{name}.txt"] = user.files.pop(f"reads/{was}.txt")
    return f"renames sample {was} to {name}"


def _swap_samples(user: User, chance: random.Random) -> str:
    if len(user.flow.rows) < 2:
        return ""
    one, other = (f"reads/{name}.txt" for name in chance.sample(user.flow.samples, 2))
    user.files[one], user.files[other] = user.files[other], user.files[one]
    return f"swaps {one} and {other}"


def _reorder(user: User, chance: random.Random) -> str:
    chance.shuffle(user.flow.rows)
    return "reorders the samples"


def _change_lib(user: User, chance: random.Random) -> str:
    row = chance.choice(user.flow.rows)
    row["lib"] = chance.choice(WORDS)
    return f"sets lib of {row['sample']} to {row['lib']}"


def _toggle_use(user: User, chance: random.Random) -> str:
    row = chance.choice(user.flow.rows)
    row["use"] = "no" if row["use"] == "yes" else "yes"
    return f"sets use of {row['sample']} to {row['use']}" if any(row["use"] == "yes" for row in user.flow.rows) else ""


def _change_config(user: User, chance: random.Random) -> str:
    user.flow.config["genome"] = chance.choice(WORDS)
    return f"sets genome to {user.flow.config['genome']} in the file"


def _change_command(user: User, chance: random.Random) -> str:
    stage = chance.choice(user.flow.stages)
    stage.salt = chance.randrange(3)
    return f"changes the constant in {stage.name} to {stage.salt}"


def _change_script(user: User, chance: random.Random) -> str:
    user.files[SCRIPT] = script_text(chance)
    return f"changes {SCRIPT}"


def _edit_input(user: User, chance: random.Random) -> str:
    path = chance.choice(sorted(user.files.keys() - {SCRIPT, LIST}))
    user.files[path] = words(chance)
    return f"edits {path}"


def _edit_same_size(user: User, chance: random.Random) -> str:
    path = chance.choice(sorted(user.files.keys() - {SCRIPT, LIST}))
    lines = user.files[path].splitlines()
    lines[chance.randrange(len(lines))] = chance.choice(WORDS)
    user.files[path] = "".join(f"{line}\n" for line in lines)
    return f"edits {path}, which keeps its size"


def _edit_list(user: User, chance: random.Random) -> str:
    user.files[LIST] = word_list(chance)
    return f"edits {LIST}"


def _touch_input(user: User, chance: random.Random) -> str:
    path = chance.choice(sorted(user.files))
    if user.has(path):
        user.date(path)
    return f"touches {path}"


def _add_file(user: User, chance: random.Random) -> str:
    path = f"{chance.choice(['parts', 'own'])}/{chance.choice(WORDS)}.txt"
    user.files[path] = words(chance)
    return f"writes {path}"


def _remove_file(user: User, chance: random.Random) -> str:
    found = sorted(path for path in user.files if path.startswith(("parts/", "own/")))
    path = chance.choice(found)
    user.files.pop(path)
    return f"deletes {path}" if len(found) > 1 else ""


def _rename_file(user: User, chance: random.Random) -> str:
    found = sorted(path for path in user.files if path.startswith(("parts/", "own/")))
    path, name = chance.choice(found), chance.choice(WORDS)
    new = f"{path.partition('/')[0]}/{name}.txt"
    user.files[new] = user.files.pop(path)
    return f"renames {path} to {new}"


def _rename_task(user: User, chance: random.Random) -> str:
    stage = chance.choice(user.flow.stages)
    was, stage.name = stage.name, f"t{chance.randrange(4)}"
    return f"renames task {was} to {stage.name}"


def _swap_tasks(user: User, chance: random.Random) -> str:
    if len(user.flow.stages) < 2:
        return ""
    one, other = chance.sample(user.flow.stages, 2)
    one.name, other.name = other.name, one.name
    return f"swaps the names of {one.name} and {other.name}"


def _rename_outputs(user: User, chance: random.Random) -> str:
    stage = chance.choice(user.flow.stages)
    was, stage.place = stage.place, f"q{chance.randrange(4)}"
    return f"renames the outputs {was} of {stage.name} to {stage.place}"


def _swap_outputs(user: User, chance: random.Random) -> str:
    if len(user.flow.stages) < 2:
        return ""
    one, other = chance.sample(user.flow.stages, 2)
    one.place, other.place = other.place, one.place
    return f"swaps the names of the outputs of {one.name} and {other.name}"


def _change_style(user: User, chance: random.Random) -> str:
    stage = chance.choice(user.flow.stages)
    stage.style = chance.choice(STYLES if stage.kind == "each" else ("flat", "directory"))
    return f"lets the outputs of {stage.name} be {stage.style}"


def _change_how(user: User, chance: random.Random) -> str:
    merges = [
        stage for stage in user.flow.stages if stage.kind in ("merge", "side") and stage.how not in ("from", "inside")
    ]
    if not merges:
        return ""
    stage = chance.choice(merges)
    stage.how = chance.choice(("pattern", "directory", "auto"))
    return f"lets {stage.name} name its inputs by {stage.how}"


def _change_flag(user: User, chance: random.Random) -> str:
    stage, flag = chance.choice(user.flow.stages), chance.choice(("temp", "sandbox", "auto", "script", "log"))
    setattr(stage, flag, not getattr(stage, flag))
    return f"sets {flag} of {stage.name} to {getattr(stage, flag)}"


def _change_each(user: User, chance: random.Random) -> str:
    each = chance.choice(EACHES)
    for stage in user.flow.stages:
        if stage.kind == "each":
            stage.each = each
    return f"lets tasks be for each of {each}"


def _drop_last(user: User, chance: random.Random) -> str:
    if len(user.flow.stages) < 2:
        return ""
    return f"removes task {user.flow.stages.pop().name}"


def _rename_workflow(user: User, chance: random.Random) -> str:
    was, user.flow.file = user.flow.file, chance.choice(["workflow.yaml", "other.yaml", "third.yaml"])
    return f"renames {was} to {user.flow.file}"


def _edit_back(user: User, chance: random.Random) -> str:
    if not user.before:
        return ""
    number = chance.randrange(len(user.before))
    user.flow, user.files = deepcopy(user.before[number])
    return f"brings back the files as they were after {number} edits"


def _undo(user: User, chance: random.Random) -> str:
    if not user.before:
        return ""
    user.flow, user.files = deepcopy(user.before[-1])
    return "undoes the newest edit"


def _mark(user: User, chance: random.Random) -> str:
    path = f"{oracle.MARKER}{chance.choice([*user.flow.samples, 'all'])}"
    user.markers ^= {path}
    return f"{'writes' if path in user.markers else 'deletes'} {path}"


def _unmark(user: User, chance: random.Random) -> str:
    user.markers.clear()
    return f"deletes {oracle.MARKER}*"


# --- what is done to outputs ---


def _delete_output(user: User, chance: random.Random) -> str:
    if not (found := user.outputs()):
        return ""
    path = chance.choice(found)
    _remove(user.directory / path)
    return f"deletes output {path}"


def _delete_folder(user: User, chance: random.Random) -> str:
    found = sorted({path.partition("/")[0] for path in user.outputs() if "/" in path} - {"reads", "own"})
    if not found:
        return ""
    path = chance.choice(found)
    _remove(user.directory / path)
    return f"deletes {path} with all that is in it"


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _files_of_outputs(user: User) -> list[str]:
    return sorted(
        path
        for made in user.outputs()
        for path in oracle.contents(user.directory, made)
        if (user.directory / path).is_file()
    )


def _touch_output(user: User, chance: random.Random) -> str:
    if not (found := _files_of_outputs(user)):
        return ""
    path = chance.choice(found)
    user.date(path)
    return f"touches output {path}"


def _replace_output(user: User, chance: random.Random) -> str:
    if not (found := _files_of_outputs(user)):
        return ""
    path = chance.choice(found)
    file = user.directory / path
    text, modified_ns = file.read_text(), file.stat().st_mtime_ns
    if chance.random() < 0.5:
        other = file.with_name("other")
        other.write_text(text[::-1])
        os.utime(other, ns=(modified_ns, modified_ns))
        other.replace(file)
        return f"writes something else into output {path}, which keeps its size and date"
    file.write_text(text + "more\n")
    user.date(path)
    return f"writes something else into output {path}"


def _copy_output(user: User, chance: random.Random) -> str:
    """Put another output in the place of one, with its date, as `cp -p` does."""
    if len(found := _files_of_outputs(user)) < 2:
        return ""
    source, target = (user.directory / path for path in chance.sample(found, 2))
    shutil.copy2(source, target)
    return f"copies {source.name} over {target.name} with `cp -p`"


def _restore_output(user: User, chance: random.Random) -> str:
    """Put back what an output once held; it may be that of no task now."""
    found = sorted(user.past.keys() - user.tampered - user.files.keys())
    path = chance.choice(found) if found else ""
    folders = [user.directory / folder for folder in folders_above(path)]
    if not path or (user.directory / path).is_dir() or any(folder.is_file() for folder in folders):
        return ""
    (user.directory / path).parent.mkdir(parents=True, exist_ok=True)
    (user.directory / path).write_text(chance.choice(user.past[path]))
    user.date(path)
    return f"puts back what {path} once held"


def _tamper_inside(user: User, chance: random.Random) -> str:
    """Change which files a directory that is an output has."""
    found = [path for path in user.outputs() if (user.directory / path).is_dir()]
    if not found:
        return ""
    folder = user.directory / chance.choice(found)
    names = sorted(os.listdir(folder))
    match chance.choice(["rename", "delete", "add"]) if names else "add":
        case "rename":
            name = chance.choice(names)
            (folder / name).rename(folder / f"new-{name}")
            what = f"renames {name} in"
        case "delete":
            name = chance.choice(names)
            (folder / name).unlink()
            what = f"deletes {name} of"
        case _:
            (folder / "zoo.txt").write_text("zoo\n")
            user.date(str((folder / "zoo.txt").relative_to(user.directory)))
            what = "adds a file to"
    user.date(str(folder.relative_to(user.directory)))
    return f"{what} output {folder.name}"


EDITS: dict[str, Act] = {
    "add a row": _add_row,
    "swap samples": _swap_samples,
    "reorder rows": _reorder,
    "change a cell": _change_lib,
    "change config": _change_config,
    "change a command": _change_command,
    "change the script": _change_script,
    "edit an input": _edit_input,
    "edit an input, same size": _edit_same_size,
    "edit the list": _edit_list,
    "touch an input": _touch_input,
    "add a file": _add_file,
    "remove a file": _remove_file,
    "rename a file": _rename_file,
    "rename a task": _rename_task,
    "swap tasks": _swap_tasks,
    "change how inputs are named": _change_how,
    "change a flag": _change_flag,
    "change each": _change_each,
    "drop the last task": _drop_last,
    "rename the workflow": _rename_workflow,
    "edit back": _edit_back,
    "undo": _undo,
    "mark": _mark,
    "unmark": _unmark,
}
LEAVES_FILES: dict[str, Act] = {  # that no task makes any more
    "remove a row": _remove_row,
    "rename a sample": _rename_sample,
    "use a row or not": _toggle_use,
    "rename outputs": _rename_outputs,
    "swap outputs": _swap_outputs,
    "change a style": _change_style,
}
TAMPERING: dict[str, Act] = {
    "delete an output": _delete_output,
    "delete a folder": _delete_folder,
    "touch an output": _touch_output,
    "replace an output": _replace_output,
    "copy an output": _copy_output,
    "tamper inside": _tamper_inside,
}
RESTORES: dict[str, Act] = {"restore an output": _restore_output}
ACTS = EDITS | LEAVES_FILES | TAMPERING | RESTORES
_TWICE = ("edit back", "edit an input", "edit an input, same size", "change config")  # likelier than others


def do(user: User, deed: Deed, switches: Switches) -> str:
    """Do what can be done between runs; return words about it, or nothing if it made no sense."""
    before = deepcopy((user.flow, user.files))
    made = {path: oracle.contents(user.directory, path) for path in user.outputs()} if deed.kind in TAMPERING else {}
    what = ACTS[deed.kind](user, random.Random(deed.number))
    if what and deed.kind not in TAMPERING and not is_allowed(user, switches):
        what = ""
    if not what:
        user.flow, user.files = before
    elif before != (user.flow, user.files):
        user.before.append(before)
    if deed.kind in TAMPERING:
        user.tampered |= {path for path, found in made.items() if oracle.contents(user.directory, path) != found}
    user.save()
    return what


def is_allowed(user: User, switches: Switches) -> bool:
    """Whether the workflow is one that Headway accepts, and that the switches allow in this directory."""
    if not user.is_legal():
        return False
    made = {path for task in user.expected({}).tasks.values() for path in (*task.outputs, *task.temp)}
    if any(user.has(path) for path in user.tampered - made):
        return False
    return all(stage.sandbox or may_be_in_place(stage, user.flow, switches) for stage in user.flow.stages)


def deeds_of(seed: int) -> list[Deed]:
    """Choose what the user of a seed does."""
    deeds, chance = list(_deeds(random.Random(f"deeds {seed}"))), random.Random(f"more deeds {seed}")
    more = [*["restore an output"] * chance.choice([0, 0, 0, 1, 2]), *["other file"] * chance.choice([0, 0, 0, 1, 2])]
    for kind in more:
        deeds.insert(chance.randint(1, len(deeds)), Deed(kind, chance.getrandbits(30)))
    return deeds


def _deeds(chance: random.Random) -> Iterator[Deed]:
    yield _run(chance)
    for _ in range(chance.randint(1, _MOST_RUNS)):
        if (what := chance.random()) < _CHANGES_MEANWHILE + _LEAVES_FILES:
            yield from _change_meanwhile(chance) if what < _CHANGES_MEANWHILE else _leave_files(chance)
            continue
        for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
            yield _edit(chance)
        match chance.choice(["run"] * 12 + ["resume"] * 3 + ["cancel", "clean", "copy", "copy with dates", "move"]):
            case "run":
                yield _run(chance)
            case "resume":
                yield Deed("resume", chance.getrandbits(30), _faults(chance))
            case kind:
                yield Deed(kind, chance.getrandbits(30))


def _change_meanwhile(chance: random.Random) -> Iterator[Deed]:
    """Change an input while a command reads it, and change it back; perhaps nobody looks, for the manager is dead."""
    edit = Deed(chance.choice(["edit an input", "edit an input, same size"]), chance.getrandbits(30), rest_s=0.1)
    again = Deed("run", ALL, during=() if (dies := chance.random() < 0.5) else ((chance.uniform(4.0, 12.0), edit),))
    yield Deed("change a command", chance.getrandbits(30))
    if dies:
        yield structs.replace(again, faults=(Fault("manager dies", chance.uniform(4.0, 12.0)),))
        yield edit
    else:
        yield again
    yield Deed("undo", 0, rest_s=chance.choice([30.0, 700.0]))
    yield Deed("run", ALL)


def _leave_files(chance: random.Random) -> Iterator[Deed]:
    """Leave files that no task makes any more, and let tasks that could see them run again, twice."""
    yield Deed(chance.choice(list(LEAVES_FILES)), chance.getrandbits(30))
    for _ in range(2):
        yield Deed("run", ALL)
        yield Deed(chance.choice(["edit an input", "change a command"]), chance.getrandbits(30))
    yield Deed("run", ALL)


def _edit(chance: random.Random) -> Deed:
    kinds = [*EDITS, *_TWICE, *LEAVES_FILES, *TAMPERING]
    return Deed(chance.choice(kinds), chance.getrandbits(30))


def _run(chance: random.Random) -> Deed:
    during = []
    if chance.random() < 0.15:
        edits = [name for name in (*EDITS, *TAMPERING) if name not in ("copy", "move")]
        during = [(chance.uniform(0.0, 60.0), Deed(chance.choice(edits), chance.getrandbits(30))) for _ in range(2)]
    return Deed("run", chance.getrandbits(30), _faults(chance), tuple(during))


def _faults(chance: random.Random) -> tuple[Fault, ...]:
    if chance.random() >= _FAULTY:
        return ()
    kinds = [chance.choice(list(FAULTS)) for _ in range(chance.choice([1, 1, 2]))]
    return tuple(
        Fault(kind, int(chance.random() ** 2 * FAULTS[kind]) if "boundary" in kind else chance.random() * FAULTS[kind])
        for kind in kinds
    )
