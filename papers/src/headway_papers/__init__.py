"""The papers' experiments run again: adds `headway reproduce`."""
