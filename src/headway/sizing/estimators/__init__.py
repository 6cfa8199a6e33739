"""Estimators of what a task needs of one resource, one file an algorithm; `base.py` says what an estimator is."""
