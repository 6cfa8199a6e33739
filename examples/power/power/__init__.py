"""A Statistics-shaped workflow over a made year of a household's electricity: minutes in, what made them out."""
