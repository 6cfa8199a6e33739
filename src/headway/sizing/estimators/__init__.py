"""Estimators: numbers in, a number or a ladder of numbers out. One file per algorithm."""
