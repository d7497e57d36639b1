"""Models: what is said to one, a backend for OpenAI-style endpoints, and a simulator that needs no model."""

from holdfast.models.errors import (
    ModelAnswerUnreadable,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelUnreachable,
)
from holdfast.models.messages import Backend, CompletionResponse, Message, Role, Tool, ToolCall
from holdfast.models.openai import OpenAIBackend
from holdfast.models.simulator import SimulatorBackend

__all__ = [
    "Backend",
    "CompletionResponse",
    "Message",
    "ModelAnswerUnreadable",
    "ModelBusy",
    "ModelError",
    "ModelRefused",
    "ModelUnreachable",
    "OpenAIBackend",
    "Role",
    "SimulatorBackend",
    "Tool",
    "ToolCall",
]
