"""Number work that policies and simulation share, compiled where it is worth it."""
