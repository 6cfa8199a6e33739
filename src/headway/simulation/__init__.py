"""What would have happened: past logs and made-up workloads under other policies."""
