"""The GPUs that this process may give to tasks.

In a job of a batch system these are the ones that the job was granted, which its environment tells. Elsewhere they are
what NVIDIA's driver tells through its library NVML; where `CUDA_VISIBLE_DEVICES` is set, only the ones named there.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec import Struct

from headway.model.devices import Device

CUDA, ROCR = "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"
_GRANTED = (CUDA, ROCR, "SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
_LIBRARY = "libnvidia-ml.so.1"
_AMD = "/dev/kfd"  # the device file of AMD's driver
_WITHIN_S = 10.0


class Found(NamedTuple):
    """The devices, whether they are AMD's, and what is wrong with the driver or one of them, in a sentence."""

    devices: tuple[Device, ...] = ()
    amd: bool = False
    trouble: str = ""


NO_GPUS = Found()


class _Seen(Struct, frozen=True):
    """A device as the driver tells of it; `index` is its place among the node's."""

    id: str
    index: str
    type: str
    memory_bytes: int

    def is_called(self, name: str) -> bool:
        """Whether a variable means this device: by its index, or by its UUID, which may be cut."""
        return name == self.index or (name.startswith(("GPU-", "MIG-")) and self.id.startswith(name))


class _Told(Struct, frozen=True):
    devices: tuple[_Seen, ...] = ()
    trouble: str = ""


def find_devices(environment: Mapping[str, str] = os.environ, within_s: float = _WITHIN_S) -> Found:
    """Find the devices; none and no trouble where there is no driver."""
    told = _ask(within_s)
    named = next((variable for variable in _GRANTED if variable in environment), None)
    names = [name.strip() for name in environment.get(named or "", "").split(",")]
    names = [name for name in names if name and name != "NoDevFiles"]  # Slurm's word for GPUs without device files
    if "SLURM_JOB_ID" in environment:
        by_name = {name: next((seen for seen in told.devices if seen.is_called(name)), None) for name in names}
        devices = [
            Device(name, seen.type, seen.memory_bytes) if seen else Device(name) for name, seen in by_name.items()
        ]
        amd = not told.devices and (named == ROCR or os.path.exists(_AMD))
        return Found(tuple(devices), amd, told.trouble)
    here = [seen for seen in told.devices if CUDA not in environment or any(map(seen.is_called, names))]
    return Found(tuple(Device(seen.id, seen.type, seen.memory_bytes) for seen in here), False, told.trouble)


def has_driver() -> bool:
    """Whether NVIDIA's driver and the package that asks it are here."""
    if importlib.util.find_spec("pynvml") is None:
        return False
    try:
        ctypes.CDLL(_LIBRARY)
    except OSError:
        return False
    return True


def ask_command(what: str) -> list[str]:
    """The command of the process that asks the driver."""
    # -P: modules are not imported from the current directory
    return [sys.executable, "-P", "-m", "headway.workers.gpus.nvml", what]


def _ask(within_s: float) -> _Told:
    """Ask the driver in another process, which is left alone if it does not answer: it may not even be killed."""
    if not has_driver():
        return _Told()
    asking = subprocess.Popen(
        ask_command("list"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        answer, _ = asking.communicate(timeout=within_s)
        return msgspec.json.decode(answer, type=_Told)
    except subprocess.TimeoutExpired:
        asking.kill()
        return _Told(trouble=f"the driver of NVIDIA's GPUs did not answer within {within_s:g} s: no GPU is used")
    except msgspec.MsgspecError:
        return _Told(trouble=f"the driver of NVIDIA's GPUs cannot be asked (code {asking.returncode}): no GPU is used")
