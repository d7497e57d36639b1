"""Runs of proofs: posted by CI or lying in a folder, shown as one list."""
