"""Agents in a project's folder whose models follow a script."""

from pathlib import Path
from typing import Any

from holdfast.models import CompletionResponse, ScriptedBackend, ToolCall
from holdfast.runtime import Agent, AgentConfig, ReasoningConfig

USED = {"prompt_tokens": 10, "completion_tokens": 2}


def calls(name: str, /, words: str = "", **arguments: Any) -> CompletionResponse:
    """An answer that calls one tool."""
    return CompletionResponse(words, [ToolCall(f"{name}-1", name, arguments)], dict(USED))


def says(words: str) -> CompletionResponse:
    """An answer in words."""
    return CompletionResponse(words, usage=dict(USED))


def agent(root: Path, *answers: CompletionResponse, kind: type[Agent] = Agent, **settings: Any) -> Agent:
    """An agent whose model gives these answers; `native=False` for one without tool calls."""
    native = settings.pop("native", True)
    ask = settings.pop("ask_permission", None)
    reasoning = ReasoningConfig(**settings.pop("reasoning", {}))
    config = AgentConfig(**{"auto_context": False, "stream": False, "reasoning": reasoning, **settings})
    backend = ScriptedBackend(list(answers), supports_native_tools=native)
    return kind(backend=backend, config=config, project_root=root, ask_permission=ask)


def script(made: Agent) -> ScriptedBackend:
    """The model of an agent."""
    assert isinstance(made.backend, ScriptedBackend)
    return made.backend
