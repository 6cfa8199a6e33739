"""Reports on the history of earlier runs: tables, JSON documents, and charts of agents."""
