"""What was learned: observations of attempts, across runs, and added to by any number of runs at once."""
