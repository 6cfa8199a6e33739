"""A workflow's graph: its shape, and drawings of it."""
