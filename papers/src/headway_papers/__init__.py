"""Papers' experiments run again, their figures beside ours."""
