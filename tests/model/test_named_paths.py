"""The paths that a command names."""

from __future__ import annotations

import pytest

from headway.model.named_paths import named_paths
from headway.model.task import Task


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("python3 ./align.py --ref=ref.fa", {"python3", "align.py", "ref.fa"}),
        ("source ./names.sh && cat <in.txt", {"source", "names.sh", "cat", "in.txt"}),
        ("echo hello > hello.txt 2>> err.txt", {"echo", "hello"}),
        ("run -o out.txt --output=a.txt; x | tee -a log.txt; touch done", {"run", "x"}),
        ("cat 'my reads.fq' \"größe.txt\"", {"cat", "my reads.fq", "my", "reads.fq", "größe.txt"}),
        ("cat data/*.csv # and notes.txt", {"cat", "data/*.csv"}),
        ("echo $((3 * 4)) $(expr 2 \\* 3)", {"echo", "expr"}),
        ("cat /etc/passwd ../x ~/y 12 -n http://a.b/c", {"cat", "http"}),
        ("d = open('values.txt')", {"d", "open", "values.txt"}),
        ("it's", {"it", "s"}),
    ],
)
def test_words_that_can_be_paths(command: str, named: set[str]) -> None:
    assert named_paths(Task("t", "t", command)) == named


def test_the_setup_is_read_too() -> None:
    assert named_paths(Task("t", "t", "run", setup=("source env.sh",))) == {"source", "env.sh", "run"}
