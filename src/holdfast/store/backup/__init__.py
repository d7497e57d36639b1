"""Backups of the whole store, and restoring them."""
