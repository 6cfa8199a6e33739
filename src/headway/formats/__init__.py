"""What comes from outside, turned into the model: one file per format."""
