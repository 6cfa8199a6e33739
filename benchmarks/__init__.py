"""Time and memory, as ratios against other tools in the same run. `make bench` runs all benchmarks."""
