"""Models: what is said to one, backends for OpenAI- and Anthropic-style endpoints, a script, and a simulator."""

from holdfast.models.anthropic import AnthropicBackend
from holdfast.models.errors import (
    ModelAnswerUnreadable,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelUnreachable,
)
from holdfast.models.messages import Backend, CompletionResponse, Tool, ToolCall
from holdfast.models.messages import PromptMessage as Message
from holdfast.models.messages import PromptRole as Role
from holdfast.models.openai import OpenAIBackend
from holdfast.models.parts import Content, Part, file_part, image_part, text_part
from holdfast.models.retries import Retries
from holdfast.models.scripted import Invocation, ScriptedBackend
from holdfast.models.simulator import SimulatorBackend

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
