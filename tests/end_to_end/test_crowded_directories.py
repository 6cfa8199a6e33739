"""Tasks in directories with many files: what a command sees there, and what is said of a file that it does not see."""

from __future__ import annotations

from pathlib import Path

from tests.end_to_end.project import Flow

SAMPLES = 200


def crowded(directory: Path, workflow: str) -> Flow:
    for number in range(SAMPLES):
        (directory / f"s{number}.txt").write_text(f"{number}\n")
    return Flow(directory, workflow)


def test_scripts_modules_and_settings_beside_many_samples_are_seen(tmp_path: Path) -> None:
    (tmp_path / "names.sh").write_text("greeting=hello\n")
    (tmp_path / "helpers.py").write_text("def shout(text): return text.upper()\n")
    (tmp_path / "settings.ini").write_text("width=3\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "more.txt").write_text("more\n")
    flow = crowded(
        tmp_path,
        """
name: crowded
tasks:
  one:
    run: |
      source ./names.sh
      python3 -c "import helpers; print(helpers.shout('$greeting'))" > out.txt
      cat settings.ini lib/more.txt s1.txt s2.txt >> out.txt
      cat s*.txt | wc -l >> out.txt
    inputs: s1.txt
    outputs: out.txt
""",
    )
    flow.headway("run", "--quiet")
    assert (tmp_path / "out.txt").read_text().split() == ["HELLO", "width=3", "more", "1", "2", str(SAMPLES)]


def test_a_file_that_was_not_linked_is_named_with_what_to_do(tmp_path: Path) -> None:
    flow = crowded(
        tmp_path,
        """
name: crowded
tasks:
  one: {run: n=5; cat "s$n.txt" > one.out, inputs: s1.txt, outputs: one.out}
""",
    )
    (failed,) = flow.json("run", code=1)["failed"]
    assert "its messages name s5.txt, which is not among its inputs and was not linked for it" in failed["message"]
    assert "add it to 'inputs'" in failed["message"]


def test_the_output_of_another_task_that_is_not_an_input_is_named(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path,
        """
name: forgotten
tasks:
  first: {run: echo 1 > made.txt, outputs: made.txt}
  second: {run: python3 -c "print(open('made.txt').read())" > out, needs: first, outputs: out}
""",
    )
    (failed,) = flow.json("run", code=1)["failed"]
    assert "its messages name made.txt, which is not among its inputs" in failed["message"]
