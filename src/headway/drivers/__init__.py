"""Drivers: carry records between engine, journal, clusters and supervisors."""
