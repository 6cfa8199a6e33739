"""How other programs use Headway: the Python API."""
