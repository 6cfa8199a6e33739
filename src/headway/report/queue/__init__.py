"""Reports on batch queues: a simulated queue, predicted waits, and plans for a workflow."""
