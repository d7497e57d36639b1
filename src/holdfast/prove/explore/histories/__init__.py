"""Histories: what may be done to a target, drawn from a seed, said in words, and kept in a file."""
