"""Connections through dask.distributed, over TLS with keys made for the run.

`scheduler` knows the addresses of the nodes, `relay` is the Dask worker on a node, `connections` is the manager's end.
"""
