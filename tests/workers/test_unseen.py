"""Which files a failed command looked for in its strict sandbox, by what programs write."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.model.task import Task
from headway.workers.attempt import AttemptFolder
from headway.workers.sandbox import prepare_directory
from headway.workers.sources import Sources
from headway.workers.unseen import unseen_files

FILES = (
    "plot.py", "util.py", "lib/__init__.py", "lib/deep.py", "src/main.c", "src/util.h", "inc/more.h", "bin/tool",
    "run.sh", "helper.js", "Help.pm", "Makefile", "data.csv", "my file.txt", "a[1].txt", "d/1.fq", "d/2.fq", "data/x",
    "README.md",
)  # fmt: skip
TASK = Task("t", "t", "python3 plot.py", inputs=("plot.py", "src/main.c"), outputs=("out/t.txt",), strict=True)
HIDDEN = [
    ("cat: data.csv: No such file or directory", ["data.csv"]),
    ("cat: 'my file.txt': No such file or directory", ["my file.txt"]),
    ("cat: 'd/*.fq': No such file or directory", ["d/*.fq"]),
    ("cat: 'a[1].txt': No such file or directory", ["a[[]1].txt"]),
    ("bash: line 1: cd: data: No such file or directory", ["data"]),
    ("bash: line 2: ./run.sh: No such file or directory", ["run.sh"]),
    ("sh: 1: ./run.sh: not found", ["run.sh"]),
    ("zsh:1: command not found: ./run.sh", ["run.sh"]),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'", ["data.csv"]),
    ("python3: can't open file 'WORK/util.py': [Errno 2] No such file or directory", ["util.py"]),
    ("ModuleNotFoundError: No module named 'util'", ["util.py"]),
    ("ModuleNotFoundError: No module named 'lib'", ["lib"]),
    ("/usr/bin/python3: No module named lib.deep", ["lib/deep.py"]),
    ("ImportError: cannot import name 'deep' from 'lib' (unknown location)", ["lib/deep.py"]),
    ("src/main.c:1:10: fatal error: util.h: No such file or directory", ["src/util.h"]),
    ("Error: Cannot find module './helper'\nRequire stack:\n- WORK/main.js", ["helper.js"]),
    ("Can't locate Help.pm in @INC (you may need to install the Help module)", ["Help.pm"]),
    ("make: *** No targets specified and no makefile found.  Stop.", ["Makefile"]),
    ("In file(file, \"rt\") :\n  cannot open file 'data.csv': No such file or directory", ["data.csv"]),
    ("[E::hts_open_format] Failed to open file \"data.csv\" : No such file or directory", ["data.csv"]),
    ("awk: cannot open data.csv (No such file or directory)", ["data.csv"]),
    ("FATAL: cannot find file\nfile: WORK/data.csv at line 0.", ["data.csv"]),
    ("a: b: data.csv: No such file\nx: run.sh: No such file", ["data.csv", "run.sh"]),
    ("Datei data.csv fehlt", ["data.csv"]),  # no words that we know, but a name
    ("error: could not read data from stream", []),  # a word of the sentence, though a directory has that name
    ("cat: nowhere.txt: No such file or directory", []),
    ("cat: out/t.txt: No such file or directory", []),
    ("cat: plot.py: Permission denied", []),
]  # fmt: skip


@pytest.fixture
def attempt(tmp_path: Path) -> AttemptFolder:
    for name in FILES:
        (tmp_path / "flow" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "flow" / name).write_text(name)
    (tmp_path / "attempt").mkdir()
    return AttemptFolder(tmp_path / "attempt")


def unseen(attempt: AttemptFolder, task: Task = TASK, made: tuple[str, ...] = ()) -> list[str]:
    flow = attempt.path.parent / "flow"
    sources = Sources(flow)
    sources.add_produced(made)
    if not attempt.work.exists():
        prepare_directory(attempt.work, task, flow, sources)
    return unseen_files("", attempt, task, flow, sources)


@pytest.mark.parametrize(("words", "expected"), HIDDEN, ids=[words[:40] for words, _ in HIDDEN])
def test_what_programs_write(words: str, expected: list[str], attempt: AttemptFolder) -> None:
    attempt.stderr.write_text(f"reading README\n{words.replace('WORK', str(attempt.work))}\n")
    task = TASK
    if "lib.deep" in words or "'deep'" in words:
        task = Task("t", "t", "python3 plot.py", inputs=("plot.py", "lib/__init__.py"), outputs=("t.txt",), strict=True)
    assert unseen(attempt, task) == expected


def test_messages_on_standard_output_and_in_a_log(attempt: AttemptFolder) -> None:
    attempt.stdout.write_text("cannot open data.csv\n")
    assert unseen(attempt) == ["data.csv"]
    attempt.stdout.unlink()
    assert unseen(attempt) == []
    (attempt.work / "tool.log").write_text("cannot open run.sh\n")
    assert unseen(attempt) == ["run.sh"]


def test_directories_that_the_command_names_are_searched(attempt: AttemptFolder) -> None:
    command = "gcc -Iinc src/main.c; PATH=bin:$PATH tool"
    task = Task("t", "t", command, inputs=("src/main.c",), outputs=("t",), strict=True)
    attempt.stderr.write_text("fatal error: more.h: No such file or directory\nbash: line 1: tool: command not found\n")
    assert unseen(attempt, task) == ["inc/more.h", "bin/tool"]


def test_a_file_that_another_task_has_not_made_yet(attempt: AttemptFolder) -> None:
    attempt.stderr.write_text("cat: later.txt: No such file or directory\n")
    assert unseen(attempt, made=("later.txt",)) == ["later.txt"]


def test_a_command_that_says_nothing_is_judged_by_what_it_names(attempt: AttemptFolder) -> None:
    task = Task("t", "t", "test -e data.csv", outputs=("t",), strict=True)
    assert unseen(attempt, task) == ["data.csv"]
