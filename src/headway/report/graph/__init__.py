"""Drawings of a workflow's graph for the terminal, as SVG and for Graphviz."""
