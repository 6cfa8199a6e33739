"""Whole runs in a world of its own: virtual time, a batch system, nodes, commands, and faults that a seed chooses.

Manager, engine, plans, journal, job monitor, supervisors, sandboxes and their messages are the real ones. Simulated are
the clock, threads, the batch system, the lines between processes, and what commands do.
"""
