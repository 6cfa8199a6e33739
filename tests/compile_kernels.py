"""Compile the kernels that simulations use, so that the tests find the machine code and do not all compile it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import headway
from headway.kernels import compiled

if __name__ == "__main__":
    compiled.PATIENCE_S = compiled.PATIENCE_IF_KEPT_S = 0.0
    with tempfile.TemporaryDirectory() as folder:
        montage = str(Path(folder) / "montage.json")
        headway.generate("montage", tasks=60, output=montage)
        headway.simulate("lublin", jobs=10, machine=8)
        headway.simulate("lublin", jobs=10, machine=8, workflow=montage, plan=("headway",))
