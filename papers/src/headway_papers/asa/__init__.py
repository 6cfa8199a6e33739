"""000's experiments again: how fast ASA learns, and workflows asked for stage by stage, ahead of time."""
