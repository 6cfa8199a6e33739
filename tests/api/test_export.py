"""`headway export --rocrate`: crates of real runs, put before the checker of RO-Crates."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

import headway
from tests.api.crate_checker import complaints
from tests.cli.bench import SMALL, Bench

SECRET = "correct-horse-battery"
WORKFLOW = """
name: "odd & <b>bold</b>"
tasks:
  make:
    each: {n: [1, 2, 3]}
    run: echo {n} > made-{n}
    outputs: ["made-{n}"]
    env: {PLAIN: correct-horse-battery}
  grow:
    run: "[ $HEADWAY_TRY = 2 ] && cat made-1 > grown # --password opt10n-s3cret"
    retries: 1
    inputs: [made-1]
    outputs: [grown]
  "<script>bad('x')</script>":
    run: echo "no" >&2; exit 3
    inputs: [made-2]
    outputs: [never]
  "odd/name: #1":
    run: 'mkdir "a #b%20"; cat made-3 > "a #b%20/é:ü"; ln -s /etc/passwd "a #b%20/link"; ln -s /etc/hosts out'
    inputs: [made-3]
    outputs: ["a #b%20", out]
  last:
    run: cat never
    inputs: [never]
    outputs: [end]
"""


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    home = tmp_path_factory.mktemp("crate")
    made = Bench(home / "flow", home)
    made.write(WORKFLOW)
    done = made("run", "-q", "--keep-going", *SMALL)
    assert done.returncode == 1, done.stderr
    return made


def graph_of(text: str) -> dict[str, dict[str, Any]]:
    entities = json.loads(text)["@graph"]
    graph = {entity["@id"]: entity for entity in entities}
    assert len(graph) == len(entities), "every entity has an id of its own"
    return graph


def of_type(graph: dict[str, dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    """Entities of a type by their names."""
    return {entity["name"]: entity for entity in graph.values() if entity["@type"] == kind}


def test_a_failed_run_with_odd_names_and_its_results(flow: Bench, tmp_path: Path) -> None:
    crate = tmp_path / "crate"
    told = flow.json("export", "--rocrate", "1", str(crate), "--with-files", "--orcid", "0000-0002-1825-0097")
    assert complaints(crate, "provenance-run-crate", tmp_path / "cache") == []
    assert (told["state"], told["tasks"], told["attempts"], told["results"]) == ("failed", 7, 7, 5)
    assert told["left_out"] == [
        "1 file in a #b%20: links out of the workflow's directory, or no files",
        "out: it is a link out of the workflow's directory",
    ]
    files = {str(path.relative_to(crate)): path.read_text() for path in crate.rglob("*") if path.is_file()}
    own = {"workflow.yaml", "ro-crate-metadata.json"}
    assert files.keys() == own | {"made-1", "made-2", "made-3", "grown", "a #b%20/é:ü"}
    assert all(SECRET not in text and "opt10n-s3cret" not in text for text in files.values())
    graph = graph_of(files["ro-crate-metadata.json"])
    assert graph["./"]["author"] == {"@id": "https://orcid.org/0000-0002-1825-0097"}
    assert graph["#run"]["actionStatus"].endswith("FailedActionStatus")
    attempts = of_type(graph, "CreateAction")
    first, second = attempts["grow, attempt 1"], attempts["grow, attempt 2"]
    assert first["error"] == "exit-code, its command exited with code 1, exit code 1"
    assert second["actionStatus"].endswith("CompletedActionStatus") and "error" not in second
    assert (second["object"], second["result"]) == ({"@id": "made-1"}, {"@id": "grown"})
    assert graph["#run"]["startTime"] <= first["startTime"] <= first["endTime"] <= second["startTime"]
    used = {graph[each["@id"]]["name"]: graph[each["@id"]]["value"] for each in second["resourceUsage"]}
    assert used["run time"] > 0 and used["peak memory"] > 0
    assert attempts["odd/name: #1, attempt 1"]["result"] == [
        {"@id": "a%20%23b%2520/"},
        {"@id": "#file-6"},  # the link, which is not in the crate
    ]
    tasks = of_type(graph, "ControlAction")
    assert "last" not in tasks and "<script>bad('x')</script>" in tasks
    assert "given 1 core" in tasks["make[1]"]["description"]


def test_reused_results_in_an_archive_without_the_workflow_file(flow: Bench, tmp_path: Path) -> None:
    """A later run names the attempt that made a result; without a file, the workflow comes from the journal."""
    shutil.copytree(flow.directory, tmp_path / "flow", symlinks=True)
    moved = Bench(tmp_path / "flow", tmp_path)
    assert "3 reused" in moved.succeeds("run", "make", *SMALL)
    (moved.directory / "workflow.yaml").unlink()
    (moved.directory / "made-2").write_text("changed")
    crate = tmp_path / "crate.zip"
    said = moved.succeeds("export", "--rocrate", str(crate), "--with-files", "--license", "https://example.org/free")
    assert "a Provenance Run Crate of run 2 (succeeded; 3 tasks, 3 attempts)" in " ".join(said.split())
    assert "left out: made-2: it was changed since the run" in said
    assert complaints(crate, "provenance-run-crate", tmp_path / "cache") == []
    with zipfile.ZipFile(crate) as packed:
        assert set(packed.namelist()) == {"workflow-as-run.yaml", "ro-crate-metadata.json", "made-1", "made-3"}
        graph = graph_of(packed.read("ro-crate-metadata.json").decode())
        assert SECRET not in packed.read("workflow-as-run.yaml").decode()
    assert graph["./"]["license"] == {"@id": "https://example.org/free"}
    assert "in run 1 on" in of_type(graph, "ControlAction")["make[1]"]["description"]
    assert "this file exists" in moved.fails(2, "export", "--rocrate", str(crate))
    shutil.rmtree(moved.directory / ".headway/runs/1")  # the attempts are gone with the run that made them
    assert moved.json("export", "--rocrate", str(crate), "--force")["profile"] == "Workflow Run Crate"
    assert complaints(crate, "workflow-run-crate", tmp_path / "cache") == []


def test_a_run_that_goes_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "flow", tmp_path)
    go = tmp_path / "go"
    bench.write(f"name: w\ntasks: {{wait: {{run: 'touch {tmp_path}/begun; while [ ! -e {go} ]; do sleep 0.1; done'}}}}")
    running = bench.start("run", *SMALL)
    try:
        bench.wait_for_file("../begun")
        said = bench.succeeds("export", "--rocrate", str(tmp_path / "crate"), "--author", "Anna")
        assert "the run has not ended" in said
        assert complaints(tmp_path / "crate", "provenance-run-crate", tmp_path / "cache") == []
        graph = graph_of((tmp_path / "crate" / "ro-crate-metadata.json").read_text())
        assert graph["#author"]["name"] == "Anna"
        assert not {"endTime", "actionStatus"} & (graph["#run"].keys() | graph["#attempt-1"].keys())
    finally:
        go.touch()
        running.communicate(timeout=300)


def test_bad_wishes_get_one_sentence(flow: Bench, tmp_path: Path) -> None:
    out = str(tmp_path / "crate")
    assert "add --rocrate" in flow.fails(2, "export", out)
    assert "name the folder or .zip file" in flow.fails(2, "export", "--rocrate")
    assert "there is no run 9" in flow.fails(2, "export", "--rocrate", "9", out)
    assert "is not an ORCID" in flow.fails(2, "export", "--rocrate", out, "--orcid", "me")
    assert "there is no such folder" in flow.fails(2, "export", "--rocrate", str(tmp_path / "no" / "crate"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert "this folder is not empty" in flow.fails(2, "export", "--rocrate", str(tmp_path / "full"))
    assert "this is a file" in flow.fails(2, "export", "--rocrate", str(tmp_path / "full" / "file"))
    nothing = Bench(tmp_path / "nothing", tmp_path)
    assert "nothing has been run here" in nothing.fails(2, "export", "--rocrate", out)
    shutil.copytree(flow.directory, tmp_path / "damaged", symlinks=True)
    damaged = Bench(tmp_path / "damaged", tmp_path)
    (damaged.directory / ".headway/runs/1/journal.db").write_bytes(b"no database" * 1000)
    assert "cannot open the journal" in damaged.fails(3, "export", "--rocrate", out)
    assert not Path(out).exists() and list(tmp_path.glob(".crate*")) == []
    with pytest.raises(headway.HeadwayError, match="is not an ORCID"):
        headway.export(out, "1", flow.directory, orcid="0")


def test_values_of_config_are_inputs_of_the_workflow(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "work", tmp_path / "home")
    bench.write(
        """
        name: with config
        config: {minq: 20, parts: [a, b], api_token: none}
        tasks:
          one: {run: "echo {minq} {parts} > one", outputs: one}
        """
    )
    bench.succeeds("run", "-q", *SMALL, "--set", "minq=30", "--set", "api_token=abc123", HEADWAY_SEED="7")
    crate = tmp_path / "crate"
    bench.succeeds("export", "--rocrate", str(crate))
    assert complaints(crate, "provenance-run-crate", tmp_path / "cache") == []
    text = (crate / "ro-crate-metadata.json").read_text()
    graph = graph_of(text)
    values = {entity["name"]: entity["value"] for name, entity in graph.items() if name.startswith("#value-")}
    assert values == {"minq": "30", "parts": "a, b", "api_token": "(removed)"} and "abc123" not in text
    assert [each["@id"] for each in graph["workflow.yaml"]["input"]] == [
        "#config-minq",
        "#config-parts",
        "#config-api_token",
    ]
    assert {each["@id"] for each in graph["#run"]["object"]} == {"#value-minq", "#value-parts", "#value-api_token"}
    assert "HEADWAY_SEED=7" in graph["#run"]["description"] and "--set minq=30" in graph["#run"]["description"]
