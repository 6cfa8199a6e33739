"""Where jobs go."""
