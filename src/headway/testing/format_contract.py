"""What every reader of an outside format must do."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

import math

from headway.formats.base import TaskLogFormat, WorkflowFormat
from headway.model.errors import HeadwayError

_GARBAGE = (b"", b"\0", b"\xff\xfe\xfd", b"{", b"<", b"[" * 5_000, b"a: &a [*a]", b"1,2\n3\n")


class WorkflowFormatContract:
    """Whatever a file holds: it is read, or one sentence says what is wrong."""

    def make(self) -> WorkflowFormat:
        """Return the format."""
        raise NotImplementedError

    def example(self) -> bytes:
        """Return a file with at least one task."""
        raise NotImplementedError

    def test_endings_are_lower_case_and_begin_with_a_dot(self) -> None:
        assert self.make().endings
        assert all(ending.startswith(".") and ending == ending.lower() for ending in self.make().endings)

    def test_the_example_is_read_the_same_twice(self) -> None:
        first, second = (self.make().read(self.example(), "example") for _ in range(2))
        assert len(first.workflow) >= 1
        assert list(first.workflow) == list(second.workflow)
        assert first.recorded == second.recorded

    def test_a_file_that_is_cut_off_or_garbage_gets_one_sentence(self) -> None:
        whole = self.example()
        for data in (*_GARBAGE, whole[: len(whole) // 2], whole + b"\xff"):
            try:
                self.make().read(data, "example")
            except HeadwayError as error:
                assert str(error).count("\n") == 0


class TaskLogFormatContract:
    """Tasks come in start order with finite figures; other logs are not recognised."""

    def make(self) -> TaskLogFormat:
        """Return the format."""
        raise NotImplementedError

    def example(self) -> str:
        """Return a log with at least one task that succeeded."""
        raise NotImplementedError

    def test_its_own_first_line_is_recognised_and_others_are_not(self) -> None:
        assert self.make().recognises(self.example().splitlines()[0])
        for line in ("", "{", "<xml>", "Lorem ipsum dolor sit amet", ";;;", "\0"):
            assert not self.make().recognises(line)

    def test_tasks_are_in_start_order_with_finite_figures(self) -> None:
        log = self.make().read(self.example().splitlines(keepends=True), "example", "example")
        assert log.tasks
        assert [task.started_at for task in log.tasks] == sorted(task.started_at for task in log.tasks)
        for task in log.tasks:
            assert math.isfinite(task.run_s)
            assert task.run_s >= 0
            assert task.used.get("memory_bytes", 0) > 0
            assert all(math.isfinite(amount) for amount in (*task.used.values(), *task.asked.values()))

    def test_a_log_that_is_cut_off_gets_one_sentence_or_fewer_tasks(self) -> None:
        whole = self.example()
        for end in range(0, len(whole), max(1, len(whole) // 50)):
            try:
                self.make().read(whole[:end].splitlines(keepends=True), "example", "example")
            except HeadwayError as error:
                assert str(error).count("\n") == 0
