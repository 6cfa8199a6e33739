"""Clusters: where jobs go."""
