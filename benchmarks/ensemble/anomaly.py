"""Print the temperature of each year (year,K) less the mean of the first thirty."""

import sys

kelvin = [float(line.split(",")[1]) for line in sys.stdin]
usual = sum(kelvin[:30]) / 30
for value in kelvin:
    print(f"{value - usual:.3f}")
