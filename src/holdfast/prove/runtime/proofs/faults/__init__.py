"""Proofs of what a target must survive: stops, kills, pauses, upgrades, and what they cut."""
