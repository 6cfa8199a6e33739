"""Reports on one run: its summary, the closing table, use of resources, and the history of a single task."""
