"""Add up the counts of all ranges, and compute pi from them."""

from math import sqrt
from pathlib import Path

total = sum(int(Path(path).read_text()) for path in snakemake.input)  # noqa: F821
up_to = int(snakemake.params.up_to)  # noqa: F821
Path(snakemake.output[0]).write_text(  # noqa: F821
    f"{total} of the numbers up to {up_to} are square-free, so pi is about {sqrt(6 * up_to / total):.6f}\n"
)
