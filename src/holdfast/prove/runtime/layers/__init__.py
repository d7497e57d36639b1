"""Where a target is broken: its layers, looked at in order after a run that found something wrong.

Every proof says what does not hold. The layers say how deep the trouble goes: whether the target can be reached,
whether its card is complete, whether a turn answers, whether a context is one session, what its store
shows, whether a conversation survives a restart, whether its memory and its files work at all. What the failure does
not touch is not looked at.
"""

from holdfast.prove.runtime.layers.diagnosis import diagnose
from holdfast.prove.runtime.layers.layer import Layer
from holdfast.prove.runtime.layers.trouble import Trouble, trouble_in

__all__ = ["Layer", "Trouble", "diagnose", "trouble_in"]
