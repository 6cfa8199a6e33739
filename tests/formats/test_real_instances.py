"""Published instances can be read, written and read again. They are not part of this project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headway.formats.headway_yaml import parse_workflow
from headway.formats.headway_yaml_out import headway_yaml
from headway.formats.read_any import read_instance
from headway.formats.wfformat import parse_wfformat
from headway.formats.wfformat_out import wfformat
from tests.formats.instances import content

DATA = Path(os.environ.get("HEADWAY_DATA", ""))
INSTANCES = sorted(DATA.glob("wfinstances/*/*.json.gz")) if os.environ.get("HEADWAY_DATA") else []
DAXES = sorted(DATA.glob("glume-dax/*.dax.gz")) if os.environ.get("HEADWAY_DATA") else []
FILES = [*INSTANCES, *DAXES]
APPLICATIONS = {
    path.name.replace("_", "-").partition("-")[0]: path for path in sorted(FILES, key=os.path.getsize)[::-1]
}

pytestmark = pytest.mark.skipif(not FILES, reason="HEADWAY_DATA names no directory with published instances")


def test_instances_are_found() -> None:
    assert len(INSTANCES) >= 100
    assert len(DAXES) >= 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_read_and_written_and_read(path: Path) -> None:
    instance = read_instance(path)
    assert instance.recorded.keys() == instance.workflow.tasks.keys()
    assert instance.file_bytes
    assert content(parse_wfformat(wfformat(instance))) == content(instance)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_one_of_each_application_as_a_workflow_file(application: str) -> None:
    flow = read_instance(APPLICATIONS[application]).workflow
    assert list(parse_workflow(headway_yaml(flow))) == list(flow)


@pytest.mark.parametrize(
    ("application", "categories"),
    [
        ("montage", {"mProject", "mDiffFit", "mConcatFit", "mBgModel", "mBackground", "mImgtbl", "mAdd", "mViewer"}),
        ("blast", {"split_fasta", "blastall", "cat_blast", "cat"}),
        ("seismology", {"sG1IterDecon", "wrapper_siftSTFByMisfit"}),
        ("1000genome", {"individuals", "individuals_merge", "sifting", "mutation_overlap", "frequency"}),
        ("CYBERSHAKE", {"ExtractSGT", "SeismogramSynthesis", "PeakValCalcOkaya", "ZipPSA", "ZipSeis"}),
    ],
)
def test_categories_are_the_programs_that_tasks_run(application: str, categories: set[str]) -> None:
    assert {task.category for task in read_instance(APPLICATIONS[application]).workflow} == categories


def test_tasks_of_epigenomics_have_few_categories() -> None:
    assert len({task.category for task in read_instance(APPLICATIONS["epigenomics"]).workflow}) <= 8
