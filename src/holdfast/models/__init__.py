"""Models: what is said to one, backends for OpenAI- and Anthropic-style endpoints, a script, and a simulator.

What is said is imported at once, a backend only if somebody asks for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.models.messages import Backend, CompletionResponse, Tool, ToolCall
from holdfast.models.messages import PromptMessage as Message
from holdfast.models.messages import PromptRole as Role
from holdfast.models.parts import Content, Part, file_part, image_part, text_part

if TYPE_CHECKING:
    from holdfast.models.anthropic import AnthropicBackend
    from holdfast.models.errors import (
        ModelAnswerUnreadable,
        ModelBusy,
        ModelError,
        ModelRefused,
        ModelUnreachable,
    )
    from holdfast.models.openai import OpenAIBackend
    from holdfast.models.retries import Retries
    from holdfast.models.scripted_backend import Invocation, ScriptedBackend
    from holdfast.models.simulator import SimulatorBackend

HOMES = {
    "anthropic": ("AnthropicBackend",),
    "errors": ("ModelAnswerUnreadable", "ModelBusy", "ModelError", "ModelRefused", "ModelUnreachable"),
    "openai": ("OpenAIBackend",),
    "retries": ("Retries",),
    "scripted_backend": ("Invocation", "ScriptedBackend"),
    "simulator": ("SimulatorBackend",),
}

__all__ = [
    "AnthropicBackend",
    "Backend",
    "CompletionResponse",
    "Content",
    "Invocation",
    "Message",
    "ModelAnswerUnreadable",
    "ModelBusy",
    "ModelError",
    "ModelRefused",
    "ModelUnreachable",
    "OpenAIBackend",
    "Part",
    "Retries",
    "Role",
    "ScriptedBackend",
    "SimulatorBackend",
    "Tool",
    "ToolCall",
    "file_part",
    "image_part",
    "text_part",
]


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
