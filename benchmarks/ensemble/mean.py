"""Print the mean of each line's comma-separated numbers."""

import sys

for line in sys.stdin:
    numbers = [float(word) for word in line.split(",")]
    print(f"{sum(numbers) / len(numbers):.3f}")
