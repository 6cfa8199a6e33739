"""Pegasus' DAX, of both generations."""

from __future__ import annotations

import pytest

from headway.formats.pegasus_dax import parse_dax
from headway.model.errors import InputError

DAX_3 = b"""<?xml version="1.0" encoding="UTF-8"?>
<!-- generated -->
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="3.6" name="diamond" index="0" count="1">
  <file name="f.a"><pfn url="file:///x/f.a" site="local"/></file>
  <executable name="preprocess"><pfn url="file:///bin/p" site="local"/></executable>
  <transformation name="preprocess"><uses name="helper" executable="true"/></transformation>
  <job id="ID01" namespace="diamond" name="preprocess" version="4.0">
    <argument>-a top -T60
      -i <file name="f.a"/>  -o <file name="f.b"/></argument>
    <profile namespace="condor" key="priority">20</profile>
    <stdout name="log file" link="output"/>
    <uses name="f.a" link="input"/>
    <uses name="f.b" link="output" register="false"/>
    <uses name="preprocess" link="input" executable="true"/>
  </job>
  <job id="ID02" name="analyze"><uses name="f.b" link="input"/><uses name="f.c" link="inout"/></job>
  <job id="ID03" name="report"/>
  <child ref="ID02"><parent ref="ID01"/></child>
  <child ref="ID03"><parent ref="ID02" edge-label="x"/></child>
</adag>
"""

DAX_2 = b"""<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="test" jobCount="2">
  <job id="ID00000" namespace="Montage" name="mProjectPP" version="1.0" runtime="9450.90">
    <argument>-X <filename file="in.fits"/></argument>
    <uses file="in.fits" link="input" type="data" size="304"/>
    <uses file="out.fits" link="output" type="data" size="4181643"/>
  </job>
  <job id="ID00001" name="mAdd" runtime="1"><uses file="out.fits" link="input" size="4181643"/></job>
  <child ref="ID00001"><parent ref="ID00000"/></child>
</adag>
"""


def test_version_3() -> None:
    instance = parse_dax(DAX_3)
    preprocess, analyze, report = instance.workflow
    assert instance.workflow.name == "diamond"
    assert preprocess.command == "preprocess -a top -T60 -i f.a  -o f.b > 'log file'"
    assert (preprocess.inputs, preprocess.outputs) == (("f.a",), ("log file", "f.b"))
    assert (analyze.command, analyze.inputs, analyze.outputs, analyze.parents) == ("", ("f.b",), ("f.c",), ("ID01",))
    assert (report.category, report.parents) == ("report", ("ID02",))
    assert (instance.recorded, instance.file_bytes) == ({}, {})


def test_version_2_with_run_times_and_sizes() -> None:
    instance = parse_dax(DAX_2)
    assert {task.id: (task.category, task.command, task.parents) for task in instance.workflow} == {
        "ID00000": ("mProjectPP", "mProjectPP -X in.fits", ()),
        "ID00001": ("mAdd", "", ("ID00000",)),
    }
    assert {task: recorded.run_s for task, recorded in instance.recorded.items()} == {"ID00000": 9450.9, "ID00001": 1}
    assert instance.file_bytes == {"in.fits": 304, "out.fits": 4181643}


def job(job_id: str, *uses: tuple[str, str]) -> str:
    files = "".join(f'<uses file="{name}" link="{link}" size="{len(job_id)}"/>' for link, name in uses)
    return f'<job id="{job_id}" name="j">{files}</job>\n'


def test_parents_decide_between_files_of_the_same_name() -> None:
    jobs = job("a", ("output", "x")) + job("bb", ("output", "x")) + job("c", ("input", "x"))
    instance = parse_dax(f'<adag name="w">{jobs}<child ref="c"><parent ref="bb"/></child></adag>'.encode())
    assert instance.workflow.tasks["c"].inputs == ("bb/x",)
    assert instance.workflow.tasks["c"].parents == ("bb",)
    assert instance.file_bytes == {"a/x": 1, "bb/x": 2}


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        (job("a", ("output", "x")) + job("b", ("output", "x")) + job("c", ("input", "x")), 4, ["'a' and 'b'", "'c'"]),
        (job("a") + job("a"), 3, ["two jobs", "'a'"]),
        ('<job name="j"/>', 2, ["'id'", "missing"]),
        ('<job id="a"/>', 2, ["'name'"]),
        ('<job id="a" name="j" runtime="-1"/>', 2, ["'a'", "'-1'"]),
        ('<job id="a" name="j" runtime="NaN"/>', 2, ["'NaN'"]),
        ('<job id="a" name="j" runtime="1e400"/>', 2, ["'1e400'"]),
        ('<job id="a" name="j"><uses file="x" link="input" size="many"/></job>', 2, ["'x'", "'many'"]),
        ('<job id="a" name="j"><uses link="input"/></job>', 2, ["does not name a file"]),
        ('<dax id="a" file="sub.dax"/>', 2, ["<dax>", "nested workflow"]),
        (job("a") + '<child ref="b"><parent ref="a"/></child>', 3, ["'b'"]),
        (job("a") + '<child ref="a"><parent ref="b"/></child>', 2, ["needs 'b'"]),
        (job("a") + '<child ref="a"><parent ref="a"/></child>', 2, ["circle"]),
        (job("a") + "<child><parent ref='a'/></child>", 3, ["'ref'"]),
    ],
)
def test_errors_name_line_and_culprit(body: str, line: int, words: list[str]) -> None:
    with pytest.raises(InputError) as problem:
        parse_dax(f'<adag name="w">\n{body}</adag>'.encode(), "w.dax")
    assert str(problem.value).startswith(f"w.dax:{line}: "), problem.value
    assert all(word in str(problem.value) for word in words), problem.value


def test_a_dax_without_jobs() -> None:
    with pytest.raises(InputError, match="no jobs"):
        parse_dax(b"<adag/>")
