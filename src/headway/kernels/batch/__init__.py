"""A batch queue in virtual time: the plan of free nodes, the ways of filling it, and the events that move it on."""
