"""Witt et al. 2019: feedback between the order of tasks and the prediction of their memory, and ours."""
