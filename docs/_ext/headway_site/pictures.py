"""Make the pictures of the site again, from real runs: `make pictures`."""

from __future__ import annotations

from pathlib import Path

from headway_site import page_pictures, recording, sizes_picture

PICTURES = Path(__file__).parents[2] / "pictures"
WORKFLOW = """\
name: first
tasks:
  numbers:
    run: seq 1000 > numbers.txt
    outputs: numbers.txt
  sevens:
    run: grep 7 numbers.txt > sevens.txt
    inputs: numbers.txt
    outputs: sevens.txt
  report:
    run: wc -l numbers.txt sevens.txt > report.txt
    inputs: [numbers.txt, sevens.txt]
    outputs: report.txt
"""
COMMANDS = [
    "cat workflow.yaml",
    "headway run",
    "cat report.txt",
    "sed -i 's/grep 7/grep 77/' workflow.yaml",
    "headway run",
    "headway why report | head -8",
]


def main() -> None:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "first-run.svg").write_text(recording.record(COMMANDS, {"workflow.yaml": WORKFLOW}))
    (PICTURES / "sizes.svg").write_text(sizes_picture.picture())
    for name, (command, label) in page_pictures.PICTURES.items():
        (PICTURES / f"{name}.svg").write_text(page_pictures.picture(command, label))


if __name__ == "__main__":
    main()
