"""Zunker 2021: reinforcement learning sizes tasks, on simulated runs of measured pipelines, and on this machine."""
