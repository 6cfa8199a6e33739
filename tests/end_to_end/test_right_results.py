"""A run in a used directory gives what a run in a clean one would, whatever rows and files there were before."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests import kills
from tests.end_to_end.project import Flow, wait_until

SHEET = """
name: samples
tasks:
  count:
    each: samples.tsv
    run: grep -c GATTACA {inputs} | sed 's/^/{sample} /' > {outputs}
    inputs: "{reads}"
    outputs: "counts/{sample}.txt"
  total:
    run: cat counts/*.txt > {outputs}
    inputs: "counts/*.txt"
    outputs: total.txt
  listed:
    run: cat counts/* > {outputs}
    inputs: counts
    outputs: listed.txt
  auto:
    run: cat counts/*.txt > auto.txt
    inputs: auto
    outputs: auto.txt
"""


def samples(directory: Path, names: list[str]) -> None:
    (directory / "reads").mkdir(exist_ok=True)
    for name in names:
        (directory / f"reads/{name}.fa").write_text(">x\nGATTACA\n")
    rows = [f"{name}\treads/{name}.fa" for name in names]
    (directory / "samples.tsv").write_text("\n".join(["sample\treads", *rows]) + "\n")


def merged(directory: Path) -> set[tuple[str, ...]]:
    """The samples in each of the merged files; all of them must agree."""
    texts = [(directory / name).read_text() for name in ("total.txt", "listed.txt", "auto.txt")]
    return {tuple(sorted(line.split()[0] for line in text.splitlines())) for text in texts}


def test_the_sheet_of_twelve(tmp_path: Path) -> None:
    names = [f"s{number:02}" for number in range(12)]
    samples(tmp_path, names)
    flow = Flow(tmp_path, SHEET)
    flow.headway("run")
    assert merged(tmp_path) == {tuple(names)}
    # A row is removed.
    samples(tmp_path, names[1:])
    foreseen = flow.headway("run", "-n").stdout
    assert "1 file in counts/ was made by earlier runs and belongs to no task now" in foreseen
    done = flow.headway("run").stdout
    assert merged(tmp_path) == {tuple(names[1:])}
    assert "`headway clean --orphans` deletes it" in done
    # A sample is renamed.
    samples(tmp_path, ["sX", *names[2:]])
    flow.headway("run")
    assert merged(tmp_path) == {tuple(sorted(["sX", *names[2:]]))}
    # The row comes back: its result is still there.
    samples(tmp_path, names[1:])
    flow.headway("run")
    assert merged(tmp_path) == {tuple(names[1:])}
    assert {launch.task for launch in flow.launches()} == {"total", "listed", "auto"}
    # What is listed is what is deleted, and nothing runs again.
    assert [each["name"] for each in flow.json("clean", "--orphans", "-n")["found"]] == [
        "counts/s00.txt",
        "counts/sX.txt",
    ]
    flow.headway("clean", "--orphans", "--yes")
    assert sorted(path.stem for path in (tmp_path / "counts").iterdir()) == names[1:]
    flow.headway("run")
    assert flow.launches() == []


COHORT = """
name: cohort
config: {sheet: cohort.csv, minq: 20}
samples: {sheet: "{sheet}"}
tasks:
  call:
    each: samples
    run: echo {sample} {minq} > {outputs}
    outputs: "vcf/{sample}.vcf"
  merge:
    run: cat vcf/*.vcf > {outputs}
    inputs: "vcf/*.vcf"
    outputs: merged.vcf
  joined:
    run: cat {inputs} > {outputs}
    inputs: [{from: call}]
    outputs: joined.vcf
"""


def test_the_cohort_of_a_hundred_and_its_pilot(tmp_path: Path) -> None:
    names = [f"P{number:03}" for number in range(100)]
    (tmp_path / "cohort.csv").write_text("\n".join(["sample", *names]))
    (tmp_path / "pilot.csv").write_text("\n".join(["sample", *names[:4]]))
    flow = Flow(tmp_path, COHORT)
    flow.headway("run")
    flow.headway("run", "--set", "sheet=pilot.csv", "--set", "minq=30")
    pilot = "".join(f"{name} 30\n" for name in names[:4])
    assert (tmp_path / "merged.vcf").read_text() == (tmp_path / "joined.vcf").read_text() == pilot
    flow.headway("run")  # the cohort again: 96 results are still right
    cohort = "".join(f"{name} 20\n" for name in names)
    assert (tmp_path / "merged.vcf").read_text() == (tmp_path / "joined.vcf").read_text() == cohort
    assert len(flow.reused()) == 96


def test_a_file_of_the_user_is_no_orphan_although_its_name_is_that_of_one(tmp_path: Path) -> None:
    samples(tmp_path, ["a", "b"])
    flow = Flow(tmp_path, SHEET)
    flow.headway("run")
    samples(tmp_path, ["a"])
    (tmp_path / "counts/b.txt").write_text("mine\n")
    (tmp_path / "counts/c.txt").write_text("mine\n")
    flow.headway("run")
    assert merged(tmp_path) == {("a", "mine", "mine")}
    assert flow.json("clean", "--orphans", "-n")["found"] == []


def test_a_renamed_workflow_file_leaves_no_orphans_in_the_results(tmp_path: Path) -> None:
    samples(tmp_path, ["a", "b"])
    flow = Flow(tmp_path, SHEET)
    flow.headway("run")
    samples(tmp_path, ["a"])
    (tmp_path / "workflow.yaml").rename(tmp_path / "renamed.yaml")
    flow.headway("run", "renamed.yaml")
    assert merged(tmp_path) == {("a",)}


def test_a_second_workflow_reads_what_the_first_one_makes(tmp_path: Path) -> None:
    samples(tmp_path, ["a", "b"])
    flow = Flow(tmp_path, SHEET)
    flow.headway("run")
    lines = "name: second\ntasks:\n  n: {run: 'cat counts/*.txt | wc -l > n', inputs: 'counts/*.txt', outputs: n}\n"
    (tmp_path / "second.yaml").write_text(lines)
    flow.headway("run", "second.yaml")
    assert (tmp_path / "n").read_text().strip() == "2"
    samples(tmp_path, ["a"])
    flow.headway("run")
    flow.headway("run", "second.yaml")
    assert (tmp_path / "n").read_text().strip() == "1"


def test_contents_count_and_not_clocks(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(6)]
    (tmp_path / "flow").mkdir()
    samples(tmp_path / "flow", names)
    flow = Flow(tmp_path / "flow", SHEET)
    flow.headway("run")
    for path in (tmp_path / "flow/counts").iterdir():
        path.touch()
    (tmp_path / "flow/total.txt").touch()
    flow.headway("run")
    assert flow.launches() == []
    shutil.copytree(tmp_path / "flow", tmp_path / "copy", copy_function=shutil.copyfile)  # new times
    copy = Flow(tmp_path / "copy", SHEET)
    copy.headway("run")
    assert copy.launches() == []
    text = (tmp_path / "copy/counts/s3.txt").read_text()
    (tmp_path / "copy/counts/s3.txt").write_text(text.swapcase())  # of the same size
    copy.headway("run")
    assert {launch.task for launch in copy.launches()} == {"count[s3]"}
    assert merged(tmp_path / "copy") == {tuple(names)}


def test_a_former_directory_and_an_output_that_was_renamed(tmp_path: Path) -> None:
    first = """
    name: w
    tasks:
      make: {run: "mkdir out; echo 1 > out/a.txt; echo 2 > out/b.txt", outputs: out}
      extra: {run: "echo 9 > extra.txt", outputs: extra.txt}
      all: {run: "cat out/*.txt *.txt > sum", inputs: ["out/*.txt", "*.txt"], outputs: sum}
    """
    second = first.replace("mkdir out; echo 1 > out/a.txt; echo 2 > out/b.txt", "mkdir -p out; echo 1 > out/a.txt")
    second = second.replace("outputs: out}", "outputs: out/a.txt}").replace("extra.txt", "other.txt")
    flow = Flow(tmp_path, first)
    flow.headway("run")
    assert (tmp_path / "sum").read_text() == "1\n2\n9\n"
    flow.write(second)
    flow.headway("run")
    assert (tmp_path / "sum").read_text() == "1\n9\n"


@pytest.mark.parametrize("pattern", ["reads/{sample}.fa", "{sample}.fa"])
def test_no_task_is_made_of_an_orphan(tmp_path: Path, pattern: str) -> None:
    folder = str(Path(pattern).parent)
    maker = f"name: w\ntasks:\n  made: {{run: 'echo 1 > {folder}/made.fa', outputs: '{folder}/made.fa'}}\n"
    each = (
        f"name: w\ntasks:\n  t: {{each: '{pattern}', run: 'echo {{sample}} > o_{{sample}}', outputs: 'o_{{sample}}'}}\n"
    )
    flow = Flow(tmp_path, maker)
    flow.headway("run")
    (tmp_path / folder / "mine.fa").write_text("2")
    flow.write(each)
    flow.headway("run")
    assert [launch.task for launch in flow.launches()] == ["t[mine]"]


def test_a_pattern_that_fits_orphans_only_says_so(tmp_path: Path) -> None:
    maker = "name: calls\ntasks:\n  call: {each: {q: [a, b]}, run: 'echo {q} > {outputs}', outputs: 'vcf/{q}.a'}\n"
    flow = Flow(tmp_path, "name: w\ntasks:\n  t: {each: 'vcf/{q}.a', run: 'echo {q} > {outputs}', outputs: 'o/{q}'}\n")
    (tmp_path / "calls.yaml").write_text(maker)
    flow.headway("run", "calls.yaml")
    flow.headway("run")
    (tmp_path / "calls.yaml").rename(tmp_path / "variants.yaml")
    said = " ".join(flow.headway("run", code=2).stderr.split())
    assert "no file fits 'vcf/{q}.a'" in said
    assert "2 files that fit were made by earlier runs, and no workflow file here makes them now" in said
    assert "run the workflow file that makes them, also if it was renamed, or copy them to other names" in said
    flow.headway("run", "variants.yaml")
    flow.headway("run")
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["a", "b"]


def test_a_directory_that_another_workflow_file_has_made_twice_is_its_own(tmp_path: Path) -> None:
    """What its files held before is what they hold now."""
    flow = Flow(tmp_path, "name: m\ntasks: {t: {each: 'd/{x}.txt', run: 'cat d/{x}.txt > o{x}', outputs: 'o{x}'}}\n")
    other = "name: o\ntasks: {o: {run: 'mkdir d; echo 1 > d/a.txt; echo WORD > d/b.txt', outputs: d}}\n"
    for word in ("1", "2"):
        (tmp_path / "other.yaml").write_text(other.replace("WORD", word))
        flow.headway("run", "other.yaml")
    (tmp_path / "d/notes").write_text("mine")
    flow.headway("run")
    assert [(tmp_path / name).read_text() for name in ("oa", "ob")] == ["1\n", "2\n"]
    assert flow.json("clean", "--orphans", "-n")["found"] == []


def test_an_input_that_fits_orphans_only_says_so(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks: {t: {run: 'cat {inputs} > t', inputs: 'c/*', outputs: t}}\n")
    (tmp_path / "prep.yaml").write_text("name: p\ntasks: {p: {run: echo 1 > c/1, outputs: c/1}}\n")
    flow.headway("run", "prep.yaml")
    (tmp_path / "prep.yaml").rename(tmp_path / "1_prep.yaml")
    said = " ".join(flow.headway("run", code=1).stdout.split())
    assert "c/1, which fits, was made by earlier runs, and no workflow file here makes it now" in said
    flow.headway("run", "1_prep.yaml")
    flow.headway("run")


def test_a_file_of_an_earlier_run_gives_way_to_a_directory(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks:\n  make: {run: echo 1 > out, outputs: out}\n")
    flow.headway("run")
    flow.write("name: w\ntasks:\n  make: {run: echo 2 > out/a, outputs: out/a}\n")
    assert "out, which an earlier run made, is deleted" in flow.headway("run").stderr
    assert (tmp_path / "out/a").read_text() == "2\n"
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").write_text("mine")
    assert "tasks make files in 'out', which is a file" in flow.headway("run", code=2).stderr
    assert (tmp_path / "out").read_text() == "mine"


def test_an_input_is_changed_and_changed_back_while_the_manager_is_dead(tmp_path: Path) -> None:
    """The command has read the changed file, and no manager saw that: its result must not count."""
    gate = tmp_path / "gate"
    command = f"while [ ! -e {gate} ]; do sleep 0.05; done; cat in.txt > out.txt"
    flow = Flow(tmp_path, f"name: w\ntasks: {{copy: {{run: '{command}', inputs: in.txt, outputs: out.txt}}}}")
    (tmp_path / "in.txt").write_text("right")
    manager = flow.start("run")
    wait_until(lambda: list(tmp_path.glob(".headway/runs/1/tasks/copy/1/work")))
    manager.kill()
    manager.communicate()
    kills.add()
    (tmp_path / "in.txt").write_text("wrong")
    gate.touch()
    wait_until(lambda: list(tmp_path.glob(".headway/runs/1/tasks/copy/1/result.json")))
    (tmp_path / "in.txt").write_text("right")
    flow.headway("cancel")
    flow.headway("run")
    assert (tmp_path / "out.txt").read_text() == "right"


def test_no_task_is_made_of_an_orphan_beside_what_a_task_makes(tmp_path: Path) -> None:
    """Rows were removed of the entry whose files another one has tasks for, in two levels, and with a temporary one."""
    text = """
    name: w
    samples: samples.tsv
    tasks:
      split: {each: samples, run: "echo {sample} > {outputs}", outputs: "p/{sample}.txt"}
      part:
        each: {files: "p/{x}.txt", from: split}
        run: "cat p/{x}.txt > {outputs}"
        inputs: "p/{x}.txt"
        temp: "q/{x}.txt"
      again:
        each: {files: "q/{y}.txt", from: part}
        run: "cat q/{y}.txt > {outputs}"
        inputs: "q/{y}.txt"
        outputs: "r/{y}.txt"
      all: {run: "cat {inputs} > all", inputs: [{from: again}], outputs: all}
    """
    samples(tmp_path, ["a", "b", "c"])
    flow = Flow(tmp_path, text)
    flow.headway("run")
    assert (tmp_path / "all").read_text() == "a\nb\nc\n"
    samples(tmp_path, ["a", "c"])
    (tmp_path / "p/mine.txt").write_text("mine\n")
    assert "part[b]" not in flow.headway("run", "-n", "--json").stdout
    flow.headway("run")
    assert (tmp_path / "all").read_text() == "a\nc\nmine\n"


CALLS = """
name: calls
tasks:
  call: {each: {s: [S]}, run: "echo WORD {s} > {outputs}", outputs: "FOLDER/{s}.txt"}
  merge: {run: "cat {inputs} > {outputs}", inputs: [PATTERNS], outputs: FOLDER.all}
"""


def calls(samples: str, folder: str, patterns: str, word: str = "x") -> str:
    text = CALLS.replace("[S]", f"[{samples}]").replace("FOLDER", folder)
    return text.replace("PATTERNS", patterns).replace("WORD", word)


def test_two_workflow_files_may_have_tasks_of_the_same_names(tmp_path: Path) -> None:
    flow = Flow(tmp_path, calls("a, b, c", "results", "results/*.txt"))
    (tmp_path / "pilot.yaml").write_text(calls("a", "pilot", "pilot/*.txt, results/*.txt"))
    flow.headway("run")
    flow.headway("run", "pilot.yaml")
    assert (tmp_path / "pilot.all").read_text() == "x a\nx a\nx b\nx c\n"
    assert flow.json("clean", "--orphans", "-n")["found"] == []
    flow.headway("run")
    assert flow.launches() == []
    flow.headway("run", "pilot.yaml")
    assert flow.launches() == []
    # A row of the first is removed: its result belongs to no task, and the second one's of that name are not touched.
    flow.write(calls("a, b", "results", "results/*.txt"))
    flow.headway("run")
    assert (tmp_path / "results.all").read_text() == "x a\nx b\n"
    assert [each["name"] for each in flow.json("clean", "--orphans", "-n")["found"]] == ["results/c.txt"]
    flow.headway("run", "pilot.yaml")
    assert (tmp_path / "pilot.all").read_text() == "x a\nx a\nx b\n"


def test_rows_may_be_files_that_a_task_of_the_same_name_makes_in_another_workflow(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path, "name: p\ntasks:\n  get: {each: {s: [a]}, run: 'echo {s} > {outputs}', outputs: 'reads/{s}'}\n"
    )
    main = """
    name: m
    tasks:
      get: {each: "reads/{s}", run: "cat {inputs} > {outputs}", inputs: "reads/{s}", outputs: "o/{s}"}
    """
    (tmp_path / "main.yaml").write_text(main)
    flow.headway("run")
    for _ in range(2):
        flow.headway("run", "main.yaml")
        assert (tmp_path / "o/a").read_text() == "a\n"


def test_a_copy_of_a_workflow_file_uses_the_results_of_the_first(tmp_path: Path) -> None:
    flow = Flow(tmp_path, calls("a, b", "results", "results/*.txt"))
    flow.headway("run")
    (tmp_path / "copy.yaml").write_text(calls("a, b", "results", "results/*.txt"))
    flow.headway("run", "copy.yaml")
    assert flow.launches() == []
    (tmp_path / "copy.yaml").write_text(calls("a", "results", "results/*.txt", "y"))
    flow.headway("run", "copy.yaml")
    assert (tmp_path / "results.all").read_text() == "y a\n"
    flow.headway("run")
    assert (tmp_path / "results.all").read_text() == "x a\nx b\n"
    assert {launch.task for launch in flow.launches()} == {"call[a]", "merge"}


def test_a_file_with_what_a_run_before_the_last_one_wrote_is_ours(tmp_path: Path) -> None:
    """As after `git checkout` of results, or from a backup."""
    flow = Flow(tmp_path, calls("a, b", "results", "results/*.txt"))
    flow.headway("run")
    before = (tmp_path / "results/b.txt").read_text()
    flow.write(calls("a, b", "results", "results/*.txt", "y"))
    flow.headway("run")
    (tmp_path / "results/b.txt").write_text(before)
    flow.write(calls("a", "results", "results/*.txt", "y"))
    flow.headway("run")
    assert (tmp_path / "results.all").read_text() == "y a\n"
    assert [each["name"] for each in flow.json("clean", "--orphans", "-n")["found"]] == ["results/b.txt"]
    (tmp_path / "results/b.txt").write_text("mine\n")
    flow.headway("run")
    assert (tmp_path / "results.all").read_text() == "y a\nmine\n"


def test_a_sandbox_shows_no_file_that_a_pattern_leaves_out(tmp_path: Path) -> None:
    """`{inputs}` holds the pattern, and the shell finds the files in the sandbox."""
    flow = Flow(tmp_path, calls("a", "results", "results/*.txt"))
    (tmp_path / "other.yaml").write_text("name: o\ntasks: {t: {run: 'echo o > {outputs}', outputs: results/o.txt}}\n")
    flow.headway("run", "other.yaml")
    flow.headway("run")
    assert (tmp_path / "results.all").read_text() == "x a\n"


IN_PLACE = """
name: w
tasks:
  make:
    run: "mkdir -p out/deep; LINK; for w in WORDS; do echo $w >> out/$w; echo $w > out/deep/$w; done"
    outputs: out
    sandbox: false
  all: {run: "cat out/[a-z] out/mine out/deep/* > {outputs}", inputs: out, outputs: all}
"""


def test_a_directory_that_is_written_in_place_loses_what_its_task_made_before(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").write_text("mine\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/kept").write_text("kept\n")
    flow = Flow(tmp_path, IN_PLACE.replace("WORDS", "a b").replace("LINK", "ln -s ../elsewhere out/link"))
    flow.headway("run")
    (tmp_path / "out/b").write_text("changed\n")
    flow.write(IN_PLACE.replace("WORDS", "c").replace("LINK", "true"))
    flow.headway("run")
    assert (tmp_path / "all").read_text() == "changed\nc\nmine\nc\n"
    assert (tmp_path / "elsewhere/kept").read_text() == "kept\n"
    assert not (tmp_path / "out/link").exists()


def test_a_directory_of_earlier_runs_gives_way_to_a_file(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks:\n  make: {run: 'echo 1 > {outputs}', outputs: c/x/y}\n")
    flow.headway("run")
    flow.write("name: w\ntasks:\n  make: {run: 'echo 2 > {outputs}', outputs: c/x}\n")
    assert "c/x, with files of earlier runs only, is deleted" in flow.headway("run").stderr
    assert (tmp_path / "c/x").read_text() == "2\n"
    flow.headway("run")
    assert flow.launches() == []
    (tmp_path / "c/x").unlink()
    (tmp_path / "c/x").mkdir()
    (tmp_path / "c/x/mine").write_text("mine")
    assert "c/x" in flow.headway("run", code=1).stdout
    assert (tmp_path / "c/x/mine").read_text() == "mine"


def test_a_directory_that_is_empty_without_orphans_goes_with_them(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks:\n  make: {run: 'echo 1 > {outputs}', outputs: c/x/y}\n")
    flow.headway("run")
    (tmp_path / "c/mine").write_text("mine")
    flow.write("name: w\ntasks:\n  other: {run: 'echo 2 > {outputs}', outputs: d}\n")
    flow.headway("run")
    flow.headway("clean", "--orphans", "--yes")
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["mine"]


def in_place(run: str, outputs: str, name: str = "t", more: str = "") -> str:
    return f"name: w\ntasks:\n  {name}: {{run: '{run}', outputs: {outputs}, sandbox: false}}\n{more}"


def test_a_file_that_was_there_before_a_command_wrote_in_place_stays_the_user_s(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("precious\n")
    flow = Flow(tmp_path, in_place("false; echo 1 >> x", "x"))
    flow.headway("run", code=1)
    flow.write(in_place("echo 1 >> x", "x"))
    flow.headway("run")
    assert (tmp_path / "x").read_text() == "precious\n1\n"
    flow.headway("run")
    assert flow.launches() == []
    flow.write(in_place("echo 2 >> x", "x"))
    flow.headway("run")
    assert (tmp_path / "x").read_text() == "precious\n1\n2\n"
    flow.write("name: w\ntasks: {u: {run: 'cat {inputs} > u', inputs: 'x*', outputs: u}}\n")
    flow.headway("run")
    assert flow.json("clean", "--orphans", "-n")["found"] == []


@pytest.mark.parametrize("fails", [True, False])
def test_files_of_the_user_in_a_directory_are_never_orphans(tmp_path: Path, fails: bool) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/mine").write_text("mine\n")
    flow = Flow(tmp_path, in_place("echo A > d/a" + "; false" * fails, "d"))
    flow.headway("run", code=int(fails))
    flow.write("name: w\ntasks: {u: {run: 'cat {inputs} > u', inputs: 'd/m*', outputs: u}}\n")
    flow.headway("run")
    assert (tmp_path / "u").read_text() == "mine\n"
    assert [each["name"] for each in flow.json("clean", "--orphans", "-n")["found"]] == ["d/a"] * (not fails)


def test_what_the_user_writes_after_a_failed_attempt_is_the_user_s(tmp_path: Path) -> None:
    flow = Flow(tmp_path, in_place("echo part > x; false", "x"))
    flow.headway("run", code=1)
    (tmp_path / "x").write_text("mine\n")
    later = (tmp_path / "x").stat().st_mtime + 10
    os.utime(tmp_path / "x", (later, later))
    flow.write("name: w\ntasks: {u: {run: 'cat {inputs} > u', inputs: 'x*', outputs: u}}\n")
    flow.headway("run")
    assert (tmp_path / "u").read_text() == "mine\n"
    assert flow.json("clean", "--orphans", "-n")["found"] == []


def test_what_a_workflow_file_names_in_full_is_not_cleaned_away(tmp_path: Path) -> None:
    first = """
    name: w
    tasks:
      a: {run: 'echo 1 > conf; printf "s\\nx\\n" > sheet.tsv; cp workflow.yaml next.yaml', outputs: [conf, sheet.tsv]}
      c: {each: {n: [1, 2]}, run: "echo {n} > {outputs}", outputs: "c/{n}"}
    """
    flow = Flow(tmp_path, first)
    (tmp_path / "other.yaml").write_text("name: o\ntasks: {o: {run: 'cat c/2 > o', inputs: c/2, outputs: o}}\n")
    flow.headway("run")
    flow.headway("run", "other.yaml")
    second = "name: w\ntasks: {b: {each: sheet.tsv, run: 'cat conf > b{s}', inputs: conf, outputs: 'b{s}'}}\n"
    flow.write(second)
    flow.headway("run")
    assert [each["name"] for each in flow.json("clean", "--orphans", "-n")["found"]] == ["c/1"]
    flow.headway("clean", "--orphans", "--yes")
    flow.headway("run")
    assert flow.launches() == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (in_place("echo 1 >> x", "x"), in_place("echo 1 >> x", "x", "u")),
        ("name: w\ntasks: {t: {run: 'echo 1 >> x', outputs: x}}\n", in_place("echo 1 >> x", "x", "u")),
        (in_place("mkdir -p x; echo 1 > x/a", "x"), in_place("mkdir -p x; echo 1 > x/b", "x", "u")),
    ],
)
@pytest.mark.parametrize("file", ["workflow.yaml", "second.yaml"])
def test_a_task_in_place_does_not_find_what_another_one_made_there(
    tmp_path: Path, first: str, second: str, file: str
) -> None:
    flow = Flow(tmp_path, first)
    flow.headway("run")
    (tmp_path / file).write_text(second)
    flow.headway("run", file)
    if (tmp_path / "x").is_dir():
        assert [path.name for path in (tmp_path / "x").iterdir()] == ["b"]
    else:
        assert (tmp_path / "x").read_text() == "1\n"


def test_a_file_that_a_program_adds_to_a_former_directory_does_not_make_all_of_it_the_user_s(tmp_path: Path) -> None:
    text = """
    name: w
    tasks:
      a: {each: {s: [1, 2]}, run: "mkdir -p {outputs}; echo {s} > {outputs}/x", outputs: "res/{s}"}
      t: {run: "cat res/*/x > t", inputs: auto, outputs: t}
    """
    flow = Flow(tmp_path, text)
    flow.headway("run")
    (tmp_path / "res/2/.DS_Store").touch()
    flow.write(text.replace("[1, 2]", "[1]"))
    flow.headway("run")
    assert (tmp_path / "t").read_text() == "1\n"
    assert [each["name"] for each in flow.json("clean", "--orphans", "-n")["found"]] == ["res/2/x"]


def test_older_contents_of_files_in_a_directory_are_ours(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks: {a: {run: 'mkdir o; echo 1 > o/a; echo old > o/b', outputs: o}}\n")
    flow.headway("run")
    flow.write("name: w\ntasks: {a: {run: 'mkdir o; echo 1 > o/a; echo new > o/b', outputs: o}}\n")
    flow.headway("run")
    (tmp_path / "o/b").write_text("old\n")
    flow.write("""
    name: w
    tasks:
      a: {run: echo 1 > o/a, outputs: o/a}
      t: {run: "cat {inputs} > t", inputs: "o/*", needs: a, outputs: t}
    """)
    flow.headway("run")
    assert (tmp_path / "t").read_text() == "1\n"


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_directory_that_a_task_made_gives_way_to_a_file(tmp_path: Path, name: str) -> None:
    flow = Flow(tmp_path, "name: w\ntasks: {a: {run: 'mkdir o; echo 1 > o/x', outputs: o}}\n")
    flow.headway("run")
    flow.write(f"name: w\ntasks: {{{name}: {{run: echo 3 > o, outputs: o}}}}\n")
    flow.headway("run")
    assert (tmp_path / "o").read_text() == "3\n"
