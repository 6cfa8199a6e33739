"""The variables that keep an attempt to its own GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from headway.workers.gpus.finding import CUDA, ROCR, Found


def gpu_variables(devices: Sequence[str], gpus: float, found: Found) -> dict[str, str]:
    """The variable that tells programs which GPUs of this node they may use; an empty one means none.

    Where no GPU is known, or not which of them the attempt holds of the `gpus` that it asked for, nothing is set. AMD's
    programs apply `HIP_VISIBLE_DEVICES` and `CUDA_VISIBLE_DEVICES` to what `ROCR_VISIBLE_DEVICES` has left: they would
    look for the second of one device.

    >>> from headway.model.devices import Device
    >>> gpu_variables(["1"], 1, Found((Device("0"), Device("1"))))
    {'CUDA_VISIBLE_DEVICES': '1'}
    """
    if not found.devices or (gpus and not devices):
        return {}
    return {ROCR if found.amd else CUDA: ",".join(devices)}


def unwanted_variables(found: Found) -> tuple[str, ...]:
    """Variables of the job that would be applied a second time."""
    return (CUDA, "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL") if found.amd else ()
