"""A model that needs no model: its answer is a pure function of the prompt.

It knows the user's name only if the prompt that it is given says so, and therefore shows from outside what a
runtime remembered and what it lost.
"""

from holdfast.models.simulator.answer import Provenance, SimulatorAnswer, SimulatorBackend, answer
from holdfast.models.simulator.recollection import Source

__all__ = ["Provenance", "SimulatorAnswer", "SimulatorBackend", "Source", "answer"]
