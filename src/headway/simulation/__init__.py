"""What would have happened: recorded logs and generated workloads under other policies."""
