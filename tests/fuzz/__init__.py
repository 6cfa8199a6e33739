"""Hostile input to everything that reads text from outside: made from good texts by a seeded mutator."""
