"""Turn yearly emissions (year,GtC) into radiative forcing (year,W/m2)."""

import math
import sys

carbon = 280.0  # ppm
for line in sys.stdin:
    year, emitted = line.split(",")
    carbon += 0.45 * float(emitted) / 2.13
    print(f"{year},{5.35 * math.log(carbon / 280.0):.4f}")
