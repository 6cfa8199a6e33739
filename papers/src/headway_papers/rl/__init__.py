"""003: reinforcement learning sizes tasks, run again on made-up runs of measured pipelines, and for real."""
