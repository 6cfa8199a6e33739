"""Headway: gets a scientific workflow through a batch-scheduled cluster fast and without waste."""

__version__ = "0.1.0"
