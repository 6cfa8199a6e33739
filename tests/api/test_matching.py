"""Which tasks a name, a pattern or the values of columns mean."""

from __future__ import annotations

import pytest

from headway.api.matching import choose, columns_of, matching, with_values
from headway.model.errors import InputError
from headway.model.task import Task


def task(name: str, **columns: str) -> Task:
    row = "\t".join(f"{column}={value}" for column, value in columns.items())
    return Task(name, name.partition("[")[0], "true", row=row)


TASKS = {
    each.id: each
    for each in (
        task("call[s1]", sample="s1", tissue="lung"),
        task("call[s2]", sample="s2", tissue="liver"),
        task("calls", sample="s1"),
        task("plot[a,b]", sample="a,b", tissue=""),
        task("odd[*]", sample="*"),
        task("merge"),
    )
}


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("call", ["call[s1]", "call[s2]"]),  # exactly the category, not `calls`
        ("call*", ["call[s1]", "call[s2]", "calls"]),
        ("cal?", ["call[s1]", "call[s2]"]),  # the category fits
        ("call[s?]", ["call[s1]", "call[s2]"]),
        ("*[s1]", ["call[s1]"]),
        ("[cp]all*", []),  # brackets are no wildcards
        ("odd[*]", ["odd[*]"]),  # exactly the task
        ("Call*", []),
        ("*", list(TASKS)),
        ("out/*.txt", ["call[s2]", "merge"]),
        ("./out/a.txt", ["merge"]),
    ],
)
def test_names_and_patterns(name: str, ids: list[str]) -> None:
    assert matching(name, TASKS, {"out/a.txt": "merge", "out/b.txt": "call[s2]", "calls.txt": "merge"}) == ids


@pytest.mark.parametrize(
    ("only", "ids"),
    [
        (["sample=s1"], ["call[s1]", "calls"]),
        (["sample=s2,s1"], ["call[s1]", "call[s2]", "calls"]),  # in the workflow's order
        (["sample=s1", "sample=s2"], ["call[s1]", "call[s2]", "calls"]),
        (["sample=s?", "tissue=li*"], ["call[s2]"]),
        (["sample=a,b"], ["plot[a,b]"]),  # a value with a comma
        (["tissue="], ["plot[a,b]"]),
        (["sample=*"], ["odd[*]"]),  # exactly the value
    ],
)
def test_values_of_columns(only: list[str], ids: list[str]) -> None:
    assert with_values(only, TASKS) == ids


@pytest.mark.parametrize(
    ("names", "only", "sentence"),
    [
        ([], ["sampel=s1"], "no task has a column 'sampel'; did you mean 'sample'"),
        ([], ["sample=s1,t2"], "no task has the sample 't2'; there are s1, s2, a,b, *"),
        ([], ["sample=t*"], "no task has the sample 't*'"),
        ([], ["=s1"], "'=s1' is not a column with a value"),
        ([], ["sample=s1", "tissue=liver"], "no task has sample=s1 and tissue=liver"),
        (["merge"], ["sample=s1"], "merge has no task with sample=s1"),
        (["x*"], [], "no task is called 'x*': no task fits this pattern; there are"),
        (["cal[s1]"], ["sample=s1"], "no task is called 'cal[s1]'; did you mean 'call[s1]'"),
    ],
)
def test_mistakes(names: list[str], only: list[str], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        choose(names, only, TASKS)
    assert sentence in str(caught.value)


def test_tasks_without_columns() -> None:
    assert columns_of([TASKS["merge"]]) == {}
    with pytest.raises(InputError, match="no task has columns here; `each` in the workflow file gives them"):
        choose([], ["sample=s1"], {"merge": TASKS["merge"]})
