"""Gateways and programs that are broken on purpose, each in one way that one step must see."""
