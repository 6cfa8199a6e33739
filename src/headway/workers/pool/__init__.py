"""Lines between a manager and the nodes of its jobs, carried by dask.distributed over TLS with keys made for the run.

`scheduler` knows who is there, `relay` is the Dask worker of a node, `lines` is the manager's end.
"""
