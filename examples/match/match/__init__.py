"""Searches made DNA sequences in a made database, in the shape of BLAST, and checks what was found (see README.md)."""
