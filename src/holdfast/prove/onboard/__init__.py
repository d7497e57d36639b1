"""Putting the proof into a template's own CI: a workflow that builds its image and proves it, for three kinds of forge.

`forges` knows where each kind has its workflow and what its check is called, `workflow` what it does, and `changes`
writes it so that a second time changes nothing, and what somebody else wrote is never overwritten.
"""

from holdfast.prove.onboard.changes import Change, plan
from holdfast.prove.onboard.forges import FORGES, Forge, forge_of

__all__ = ["FORGES", "Change", "Forge", "forge_of", "plan"]
