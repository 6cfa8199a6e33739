"""All that a task reads counts: order, modes, empty directories, links; and all that its outputs hold."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.end_to_end.project import Flow, wait_until


@pytest.mark.parametrize("listed", ["xargs cat < {inputs.list}", 'xargs cat < "$HEADWAY_INPUTS"', "cat {inputs}"])
def test_the_order_of_inputs(tmp_path: Path, listed: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name}\n")
    workflow = f"""
name: order
tasks:
  merge:
    run: {listed} > merged
    inputs: ORDER
    outputs: merged
"""
    Flow(tmp_path, workflow.replace("ORDER", "[a, b]")).headway("run")
    flow = Flow(tmp_path, workflow.replace("ORDER", "[b, a]"))
    assert "1 task run" in flow.headway("run").stdout
    assert (tmp_path / "merged").read_text() == "b\na\n"
    flow.headway("run")
    assert flow.launches() == []


def test_the_order_of_a_sheet(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path,
        """
name: order
tasks:
  call:
    each: samples.csv
    run: echo {sample} > {outputs}
    outputs: "{sample}.vcf"
  merge:
    run: xargs cat < {inputs.list} > merged
    inputs: [{from: call}]
    outputs: merged
""",
    )
    for order in ("abc", "cab"):
        (tmp_path / "samples.csv").write_text("\n".join(["sample", *order]))
        flow.headway("run")
        assert (tmp_path / "merged").read_text().split() == list(order)
    assert "the order of its inputs changed" in flow.headway("why", "merge").stdout


def test_what_lies_behind_a_link_in_a_directory(tmp_path: Path) -> None:
    for name in ("data", "real"):
        (tmp_path / name).mkdir()
    (tmp_path / "data/sub").symlink_to("../real")
    (tmp_path / "data/up").symlink_to("../data")
    names = [f"package{number}" for number in range(15)]
    for name in names:  # in as many ways as there are orders of them
        (tmp_path / "data" / name).mkdir()
        for other in names:
            (tmp_path / "data" / name / other).symlink_to(f"../{other}")
    (tmp_path / "data/top").symlink_to("/")  # is not followed: the directory itself lies there
    flow = Flow(tmp_path, "name: links\ntasks: {c: {run: cat data/sub/x > o, inputs: data, outputs: o}}\n")
    for text in ("one", "two"):
        (tmp_path / "real/x").write_text(text)
        flow.headway("run")
        assert (tmp_path / "o").read_text() == text
    flow.headway("run")
    assert flow.launches() == []


def test_empty_directories(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path,
        """
name: empty
config: {name: a}
tasks:
  make: {run: "mkdir -p made/{name}", outputs: made}
  list: {run: ls made > listed, inputs: made, outputs: listed}
""",
    )
    for name in ("a", "b"):
        flow.headway("run", "--set", f"name={name}")
        assert (tmp_path / "listed").read_text() == f"{name}\n"
    flow.headway("run", "--set", "name=b")
    assert flow.launches() == []


def test_whether_a_file_can_be_executed(tmp_path: Path) -> None:
    workflow = """
name: modes
tasks:
  make: {run: "printf '#!/bin/sh\\necho hi\\n' > s.sh && CHMOD", outputs: s.sh}
  use: {run: "./s.sh > used 2> /dev/null || echo no > used", inputs: s.sh, outputs: used}
  mine: {run: "./mine.sh > own 2> /dev/null || echo no > own", inputs: mine.sh, outputs: own}
"""
    (tmp_path / "mine.sh").write_text("#!/bin/sh\necho hi\n")
    for mode, said in (("chmod +x s.sh", "hi\n"), ("true", "no\n")):
        (tmp_path / "mine.sh").chmod(0o755 if said == "hi\n" else 0o644)
        flow = Flow(tmp_path, workflow.replace("CHMOD", mode))
        flow.headway("run")
        assert [(tmp_path / name).read_text() for name in ("used", "own")] == [said, said]
    flow.headway("run")
    assert flow.launches() == []


def test_an_output_of_the_same_size_and_time_is_not_the_result(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path,
        """
name: times
config: {word: aa}
tasks:
  a: {run: "echo {word} > o; touch -d @1000 o", outputs: o}
  b: {run: cat o > p, inputs: o, outputs: p}
""",
    )
    flow.headway("run")
    shutil.copy2(tmp_path / "o", tmp_path / "saved")
    flow.headway("run", "--set", "word=bb")
    shutil.copy2(tmp_path / "saved", tmp_path / "o")
    flow.headway("run", "--set", "word=bb")
    assert [(tmp_path / name).read_text() for name in ("o", "p")] == ["bb\n", "bb\n"]
    os.replace(tmp_path / "saved", tmp_path / "o")
    flow.headway("run", "--set", "word=bb")
    assert [(tmp_path / name).read_text() for name in ("o", "p")] == ["bb\n", "bb\n"]


@pytest.mark.parametrize("back", [os.replace, shutil.copy2])
def test_an_input_is_exchanged_while_it_is_read(tmp_path: Path, back: object) -> None:
    read, go_on = tmp_path / "read", tmp_path / "go-on"
    wait = f"until test -e {read}; do sleep 0.1; done; cat in > out; until test -e {go_on}; do sleep 0.1; done"
    flow = Flow(tmp_path, f'name: swap\ntasks: {{t: {{run: "{wait}", inputs: in, outputs: out}}}}\n')
    (tmp_path / "in").write_text("first\n")
    run = flow.start("run")
    wait_until(lambda: any(tmp_path.glob(".headway/**/work/in")))
    shutil.copy2(tmp_path / "in", tmp_path / "kept")
    os.replace(tmp_path / "in", tmp_path / "kept")
    (tmp_path / "in").write_text("other\n")
    read.touch()
    wait_until(lambda: any(path.stat().st_size for path in tmp_path.glob(".headway/**/work/out")))
    back(tmp_path / "kept", tmp_path / "in")  # type: ignore[operator]
    go_on.touch()
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0 and "the input of t changed while it ran" in said, said
    flow.headway("run")
    assert (tmp_path / "out").read_text() == "first\n"


IN_PLACE = """
name: in place
config: {word: one, code: "0"}
tasks:
  add:
    run: mkdir -p d && echo {word} | tee -a out > d/{word} && exit {code}
    outputs: [out, d]
    sandbox: false
"""


def test_a_task_without_a_sandbox_does_not_find_its_earlier_outputs(tmp_path: Path) -> None:
    flow = Flow(tmp_path, IN_PLACE)
    for word in ("one", "two"):
        flow.headway("run", "--set", f"word={word}")
        assert (tmp_path / "out").read_text() == f"{word}\n"
        assert word in os.listdir(tmp_path / "d")


def test_a_directory_stays_where_a_task_without_a_sandbox_runs(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/mine").write_text("mine\n")
    flow = Flow(tmp_path, IN_PLACE)
    for word in ("one", "two"):
        flow.headway("run", "--set", f"word={word}")
    assert (tmp_path / "d/mine").read_text() == "mine\n"


def test_nor_those_of_another_command_that_failed(tmp_path: Path) -> None:
    flow = Flow(tmp_path, IN_PLACE)
    flow.headway("run", "--set", "code=1", code=1)
    assert (tmp_path / "out").read_text() == "one\n"  # it can be looked at
    flow.headway("run")
    assert (tmp_path / "out").read_text() == "one\n"


def test_a_task_without_a_sandbox_goes_on_with_what_it_had_begun(tmp_path: Path) -> None:
    command = "echo step >> out; test $(grep -c step out) -ge 4"
    flow = Flow(tmp_path, f"name: go on\ntasks: {{t: {{run: {command}, outputs: out, sandbox: false, retries: 1}}}}\n")
    flow.headway("run", code=1)
    assert (tmp_path / "out").read_text() == "step\nstep\n"
    flow.headway("run")
    assert (tmp_path / "out").read_text() == 4 * "step\n"
    flow.headway("run", "--force", "t", code=1)
    assert (tmp_path / "out").read_text() == "step\nstep\n"


def test_a_file_of_the_user_stays_where_a_task_without_a_sandbox_runs(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine\n")
    Flow(tmp_path, IN_PLACE).headway("run")
    assert (tmp_path / "out").read_text() == "mine\none\n"
