"""The command `headway reproduce`."""
