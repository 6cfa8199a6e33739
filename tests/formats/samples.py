"""The sample sheets and files that the examples in docs/workflow-file.md name."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

DOCUMENTATION = (Path(__file__).parents[2] / "docs" / "workflow-file.md").read_text()
READS = {"s1": "GATTACA\nTTT\nGATTACA\n", "s2": "TATA\n", "s3": "CCC\nGATTACA\n"}


def put_documented_samples(directory: Path) -> None:
    """Write the sheets, and the files that they name."""
    (sheet,) = re.findall(r"^```tsv\n(.*?)^```", DOCUMENTATION, re.MULTILINE | re.DOTALL)
    (directory / "samples.tsv").write_text(sheet)
    rows = ["s1,L1,reads/s1_1.fa.gz,liver,120", "s1,L2,reads/s1_2.fa.gz,lung,95", "s2,L1,reads/s2_1.fa.gz,skin,9"]
    (directory / "samples.csv").write_text("\n".join(["sample,lane,reads,tissue,size_mb", *rows]))
    (directory / "reads").mkdir()
    for name, text in READS.items():
        for file in (f"{name}.fa.gz", f"{name}_1.fa.gz", f"{name}_2.fa.gz"):
            (directory / "reads" / file).write_bytes(gzip.compress(text.encode()))
