"""A simulated batch queue, predicted waits and plans: figures, tables and pages."""
