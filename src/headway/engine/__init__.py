"""The run as a pure state machine: facts in, decisions out. No clock, no I/O, no randomness of its own."""
