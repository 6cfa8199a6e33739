"""The GLUME thesis (2020): which levels of a workflow share a job; chapters 5 and 7 run again, and ours."""
