"""Timings and memory, as ratios against named peers in the same run; `make bench` runs them all."""
