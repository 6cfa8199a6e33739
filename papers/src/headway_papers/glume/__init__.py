"""Chapters 5 and 7 of paper 002 (GLUME, a thesis of 2020) run again, and whether ours is ahead of all of it."""
