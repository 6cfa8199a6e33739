"""The contracts of outside formats: how a file is recognised, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from headway.model.instance import Instance
from headway.model.task_log import TaskLog


class WorkflowFormat(Struct, frozen=True):
    """A format of workflow files, recognised by the ending of a file's name.

    `read` gets the file's content, unpacked if its name ended in .gz, and its name for error messages. It raises
    `InputError` or `WorkflowError` with the line at which something is wrong.
    """

    endings: tuple[str, ...]  # such as (".json",), in lower case
    words: str  # for the sentence that lists what is known, such as ".json (WfFormat)"
    read: Callable[[bytes, str], Instance]


class TaskLogFormat(Struct, frozen=True):
    """A format of logs of what tasks used, recognised by the first line of a file.

    `read` gets the lines (the first one included), the file's name for error messages, and the log's own name. Tasks
    are in the order in which they started; tasks without a peak of memory are left out and counted. `sign` completes
    "it was read as ..., since": by what such a file is recognised.
    """

    words: str  # for the sentence that lists what is known
    recognises: Callable[[str], bool]  # gets the first line that is not blank
    read: Callable[[Iterable[str], str, str], TaskLog]
    sign: str = "its first line looks like one"
