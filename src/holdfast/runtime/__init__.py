"""The bundled agent: a small turn loop over a model and its tools, as a handler for A2A."""

from holdfast.runtime.agent import bundled_agent
from holdfast.runtime.peers import Peers

__all__ = ["Peers", "bundled_agent"]
