"""What a run came to: its summary, the table at its end, one task's story."""
