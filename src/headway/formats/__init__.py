"""Readers and writers of file formats: one file per format, bytes to model and back."""
