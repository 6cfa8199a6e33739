"""What happens inside an allocation: the node supervisor, and how it runs, measures and limits tasks."""
