"""`holdfast prove` and what else can be proven: one file for each, with its options."""

from holdfast.cli.prove.runtime import prove

__all__ = ["prove"]
