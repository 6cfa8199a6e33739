"""The story of a run: read models, which hear its records in order and answer questions about it."""
