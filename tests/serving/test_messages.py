"""The protocol as docs/service.md describes it, and how commands become tasks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from headway.model.errors import InputError
from headway.serving import client, messages
from headway.serving.commands import category_of, task_of
from headway.serving.wishes import read_sbatch, read_wish

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
REQUESTS = get_args(messages.Requests)


def test_the_page_has_every_request_with_its_fields() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE))
    for request in REQUESTS:
        row = rows[request.__struct_config__.tag]
        unsaid = {"id"} | ({"attempt", "stdout", "stderr"} if request is messages.Submit else set())
        assert {name for name in request.__struct_fields__ if f"`{name}`" not in row} == unsaid


def test_the_conversation_on_the_page_is_one() -> None:
    said = [messages.decode(line.encode()) for line in re.findall(r"^→ (.*)$", PAGE, re.MULTILINE)]
    assert [type(request) for request in said] == [messages.Hello, messages.Submit]
    heard = [json.loads(line) for line in re.findall(r"^← (\{.*?\})$", PAGE, re.MULTILINE | re.DOTALL)]
    events = {it.__struct_config__.tag: it for it in messages.Event.__subclasses__()}
    for event in heard:
        assert set(event) - {"event"} <= set(events[event["event"]].__struct_fields__)
    assert heard[0]["version"] == messages.VERSION == client.VERSION


@pytest.mark.parametrize(
    ("argv", "category"),
    [
        (["/usr/bin/sort", "a"], "sort"),
        (["bash", "-e", "scripts/align.sh", "s1"], "align.sh"),
        (["python3", "-c", "import os; print()"], "python3"),
        (["./my prog"], "my prog"),
        (["nice", "-n", "5"], "5"),
    ],
)
def test_categories_of_commands(argv: list[str], category: str) -> None:
    assert category_of(messages.Submit(argv=argv)) == category


def test_what_headway_and_slurm_set_is_not_the_clients_to_set() -> None:
    given = {"HEADWAY_CORES": "9", "SLURM_JOB_ID": "1", "A": "b", "SAME": "same"}
    request = messages.Submit(argv=["true"], environment=given)
    own = {"SAME": "same", "GONE": "x", "BASH_FUNC_f%%": "() { :; }", "SLURM_MPI_TYPE": "pmix"}
    here = task_of(request, 1, own, in_jobs=False)
    assert here.environment == {"A": "b", "SLURM_JOB_ID": "1"}
    assert here.command == "unset GONE\nunset SLURM_MPI_TYPE\nexec true"
    assert task_of(request, 1, own, in_jobs=True).environment == {"A": "b"}


@pytest.mark.parametrize(
    "words",
    [[], ["--"], ["--memory"], ["--nonsense", "1", "--", "true"], ["--retries", "x", "--", "true"], ["--json", "true"]],
)
def test_words_that_need_explaining(words: list[str]) -> None:
    assert client.parse(words) is None


def test_words() -> None:
    words = ["--memory=2GB", "--cores", "4", "--keep", "--in", "/d", "--", "a", "--memory", "--", "b"]
    request, own = client.parse(words) or ({}, {})
    assert request["argv"] == ["a", "--memory", "--", "b"]
    assert (request["hints"], request["keep"], own["place"]) == ({"memory_bytes": "2GB", "cores": "4"}, True, "/d")


@pytest.mark.parametrize("value", ['é\n"\\\u2028\x00', 0, 1, -2.5, None, True, False, [], {"a": [{"b": "c"}]}])
def test_what_the_client_writes_is_json(value: object) -> None:
    assert json.loads(client.to_json(value)) == value


@pytest.mark.parametrize(
    ("text", "wish", "gpus", "unread"),
    [
        ("", {}, 0, ()),
        ("-p long -Aphysics -q=low", {"partition": "long", "account": "physics", "qos": "low"}, 0, ()),
        ("--constraint ib&avx", {"constraint": "ib&avx"}, 0, ()),
        ("--gres=gpu:2", {}, 2, ()),
        ("--gpus a100", {"gpu-type": "a100"}, 1, ()),
        ("--gpus-per-node=v100:4 --exclusive -n 1", {"gpu-type": "v100"}, 4, ("--exclusive", "-n")),
        ("--gres=license:2 --comment 'of mine' 7", {}, 0, ("--gres", "--comment", "7")),
        ("--comment 'unfinished", {}, 0, ("--comment",)),
        ("--partition", {}, 0, ("--partition",)),
    ],
)
def test_options_of_sbatch(text: str, wish: dict[str, str], gpus: int, unread: tuple[str, ...]) -> None:
    assert read_sbatch(text) == (wish, gpus, unread)


def test_a_wish_that_slurm_cannot_know_gets_a_sentence() -> None:
    with pytest.raises(InputError, match="there is no wish 'queue'; there are partition, constraint, account, qos"):
        read_wish({"queue": "long"})
    with pytest.raises(InputError, match="account is '--uid=0', which Slurm cannot know"):
        read_wish({"account": "--uid=0"})
