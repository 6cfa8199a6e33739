"""Cut the numbers up to the last one into ranges, one file each: its first number, and the one after its last."""

from pathlib import Path

folder = Path(snakemake.output[0])  # noqa: F821
up_to, parts = int(snakemake.params.up_to), int(snakemake.params.parts)  # noqa: F821
folder.mkdir()
for part in range(parts):
    first, after = 1 + part * up_to // parts, 1 + (part + 1) * up_to // parts
    (folder / f"{part + 1}.txt").write_text(f"{first} {after}\n")
