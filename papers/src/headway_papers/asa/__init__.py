"""Souza et al. 2020 (ASA): how fast ASA learns queue waits, and workflows whose stages are submitted ahead of time."""
