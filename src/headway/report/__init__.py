"""What a run came to: figures folded from its records, and the tables that show them."""
