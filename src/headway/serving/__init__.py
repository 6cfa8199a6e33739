"""A run that grows by commands: programs submit them over a unix socket, `headway exec` among them."""
