"""Advice on what to ask for: as configuration for other tools, as a table, and as a page."""
