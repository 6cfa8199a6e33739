"""A batch queue in virtual time: the profile of free nodes, scheduling policies, and events."""
