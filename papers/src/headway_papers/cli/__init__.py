"""The verb `headway reproduce`."""
