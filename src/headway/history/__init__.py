"""The history: what was learned across runs; any number of runs may add to it at the same time."""
