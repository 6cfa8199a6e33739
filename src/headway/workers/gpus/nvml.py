"""Asks NVIDIA's driver, in a process of its own: `python -m headway.workers.gpus.nvml list` or `… watch`.

`list` prints one line about all devices. `watch` prints a line about the processes on them ten times a second, as long
as its standard input is open.
"""

from __future__ import annotations

import json
import select
import sys
from collections.abc import Iterator
from typing import Any

EVERY_S = 0.1


def devices() -> dict[str, Any]:
    """Every GPU and every instance of a divided one, and what is wrong with those that do not answer."""
    import pynvml

    found, trouble = [], []
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            for number, each in enumerate(_instances(handle) or [handle]):
                about = {
                    "id": pynvml.nvmlDeviceGetUUID(each),
                    "index": str(index) if each is handle else f"{index}:{number}",
                    "type": pynvml.nvmlDeviceGetName(each),
                    "memory_bytes": pynvml.nvmlDeviceGetMemoryInfo(each).total,
                }
                found.append(about)
        except pynvml.NVMLError as error:
            trouble.append(f"GPU {index} of this node cannot be used: {error}")
    return {"devices": found, "trouble": "; ".join(trouble)}


def _instances(handle: Any) -> list[Any]:
    """The instances into which a GPU is divided (MIG); none if it is not."""
    import pynvml

    try:
        if pynvml.nvmlDeviceGetMigMode(handle)[0] != pynvml.NVML_DEVICE_MIG_ENABLE:
            return []
        numbers = range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle))
    except pynvml.NVMLError:  # such as "not supported"
        return []
    found = []
    for number in numbers:
        try:
            found.append(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number))
        except pynvml.NVMLError_NotFound:
            continue
    return found


class Looks:
    """Looks at the processes that use the GPUs, one after the other."""

    def __init__(self) -> None:
        import pynvml

        self._seen_us: dict[int, int] = {}  # by device: when its newest sample of utilisation was taken
        self._busy: dict[int, dict[int, float]] = {}  # by device and process
        self._handles: dict[int, Any] = {}
        self._lost: dict[int, str] = {}
        for index in range(pynvml.nvmlDeviceGetCount()):
            try:
                self._handles[index] = pynvml.nvmlDeviceGetHandleByIndex(index)
            except pynvml.NVMLError as error:
                self._lost[index] = str(error)

    def look(self) -> dict[str, Any]:
        """The memory and the utilisation of each process, by its number, and the GPUs that do not answer any more.

        Memory is in bytes, None where the driver does not tell it; utilisation is in GPUs.
        """
        import pynvml

        processes: dict[int, list[float | None]] = {}
        for index, handle in list(self._handles.items()):
            try:
                for pid, used in _memory(handle):
                    so_far = processes.setdefault(pid, [0, None])
                    so_far[0] = None if used is None or so_far[0] is None else so_far[0] + used
            except pynvml.NVMLError as error:
                self._lost[index] = str(error)
                del self._handles[index]
                continue
            # A sample is newer than the last only a few times a second: until then the last one counts.
            self._busy[index] = self._busy.get(index, {}) | self._utilisation(index, handle)
            for pid, busy in self._busy[index].items():
                if pid in processes:
                    processes[pid][1] = (processes[pid][1] or 0) + busy
        return {"processes": processes, "lost": self._lost}

    def _utilisation(self, index: int, handle: Any) -> dict[int, float]:
        """The newest sample of each process's share of the time of a GPU; some GPUs count none."""
        import pynvml

        try:
            samples = pynvml.nvmlDeviceGetProcessUtilization(handle, self._seen_us.get(index, 0))
        except pynvml.NVMLError:  # no new sample, or not supported
            return {}
        newest = {sample.pid: sample for sample in sorted(samples, key=lambda sample: sample.timeStamp)}
        self._seen_us[index] = max((sample.timeStamp for sample in samples), default=self._seen_us.get(index, 0))
        return {pid: min(sample.smUtil, 100) / 100 for pid, sample in newest.items()}


def _memory(handle: Any) -> Iterator[tuple[int, int | None]]:
    """Each process on a GPU and the memory that it holds there; one that computes and draws is listed twice."""
    import pynvml

    seen: dict[int, int | None] = {}
    for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle):
        seen[process.pid] = process.usedGpuMemory
    for process in pynvml.nvmlDeviceGetGraphicsRunningProcesses(handle):
        seen.setdefault(process.pid, process.usedGpuMemory)
    yield from seen.items()


def main() -> None:
    """Print what is asked for; an error of the driver is a line with `trouble`."""
    import pynvml

    try:
        pynvml.nvmlInit()
        if sys.argv[1] == "list":
            print(json.dumps(devices()), flush=True)
            return
        looks = Looks()
        while not select.select([sys.stdin], [], [], EVERY_S)[0]:
            print(json.dumps(looks.look()), flush=True)
    except pynvml.NVMLError as error:
        print(json.dumps({"trouble": f"the driver of NVIDIA's GPUs does not work: {error}"}), flush=True)
    except BrokenPipeError:  # the supervisor is gone
        return


if __name__ == "__main__":
    main()
