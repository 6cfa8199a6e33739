"""A Montage-shaped workflow over a made sky: tiles in, one seamless picture out."""
