"""Agents: learners that choose the cores and the memory of a task together."""
