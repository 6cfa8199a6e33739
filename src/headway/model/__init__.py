"""The nouns: what a task is, what it needs, how it ended, and the records that tell a run's story. No I/O."""
