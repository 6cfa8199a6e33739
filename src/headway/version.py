"""Which Headway this is."""

__version__ = "0.2.0"
