"""Tells whether a failed command ran out of GPU memory: no signal says so, only its own words."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

# What CUDA, HIP and the programs that use them write.
PATTERNS = (
    "CUDA out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "HIP out of memory",
    "RESOURCE_EXHAUSTED",
    "cudaErrorMemoryAllocation",
    "hipErrorOutOfMemory",
    "torch.OutOfMemoryError",
    "torch.cuda.OutOfMemoryError",
)
_READ_BYTES = 64_000  # the end of what the command wrote to standard error


def out_of_memory_words(stderr: Path, own: Iterable[str] = ()) -> str:
    """Return the pattern, ours or the user's own, that the end of the error messages contains; else nothing."""
    try:
        with stderr.open("rb") as file:
            file.seek(max(0, os.path.getsize(stderr) - _READ_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return next((pattern for pattern in (*PATTERNS, *own) if pattern in text), "")
