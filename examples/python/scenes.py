"""A workflow of commands, built in code: loops and variables instead of a file.

Run it: python examples/python/scenes.py [DIRECTORY]
"""

import sys
from pathlib import Path

import headway

SCENES = ("dawn", "noon", "dusk")
DRAW = """
import sys
name, size = sys.argv[1], int(sys.argv[2])
level = {"dawn": 90, "noon": 230, "dusk": 60}[name]
with open(f"{name}.pgm", "w") as picture:
    print("P2", size, size, 255, file=picture)
    for row in range(size):
        print(*(level * (row + column) // (2 * size) for column in range(size)), file=picture)
"""


def scenes(size: int) -> headway.Workflow:
    """Draw pictures, measure their brightness, and find the brightest."""
    flow = headway.Workflow("scenes")
    flow.task("script", f"cat > draw.py <<'END'{DRAW}END", outputs=["draw.py"])
    for scene in SCENES:
        flow.task(
            f"draw[{scene}]",
            f"python3 draw.py {scene} {size}",
            inputs=["draw.py"],
            outputs=[f"{scene}.pgm"],
            resources={"memory": "200 MB", "time": "1m"},  # optional hints
        )
        flow.task(
            f"measure[{scene}]",
            f"tail -n +2 {scene}.pgm | tr ' ' '\\n' "
            f"| awk -v name={scene} '{{s += $1}} END {{print s / NR, name}}' > {scene}.txt",
            inputs=[f"{scene}.pgm"],
            outputs=[f"{scene}.txt"],
        )
    flow.task(
        "brightest", "sort -rn *.txt | head -1 > brightest", inputs=[f"{s}.txt" for s in SCENES], outputs=["brightest"]
    )
    return flow


def main() -> None:
    """Run it twice: the second time there is nothing to do."""
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "scenes")
    directory.mkdir(exist_ok=True)
    first = headway.run(scenes(size=200), directory)
    print("brightest:", (directory / "brightest").read_text().split()[1])
    print("measure[noon] used", first.usage["measure[noon]"].memory_bytes, "bytes of memory")
    second = headway.run(scenes(size=200), directory)
    print(f"then {len(second.usage)} of {len(second.reused)} tasks had to run again")


if __name__ == "__main__":
    main()
