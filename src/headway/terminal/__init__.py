"""Screens in the terminal that people work with: `headway top`."""
