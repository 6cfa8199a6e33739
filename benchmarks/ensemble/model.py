"""One member of the ensemble: a zero-dimensional energy-balance model (year,W/m2 to year,K)."""

import random
import sys

member = int(sys.argv[1])
weather = random.Random(member)
sensitivity = 0.5 + 0.1 * member  # K per W/m2
warming = 0.0
for line in sys.stdin:
    year, forcing = line.split(",")
    warming += (sensitivity * float(forcing) - warming) / 20
    print(f"{year},{warming + weather.gauss(0, 0.1):.3f}")
