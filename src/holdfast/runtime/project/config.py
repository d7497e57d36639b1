"""How an agent in a project works, as whoever makes it decides."""

from dataclasses import dataclass, field

from holdfast.runtime.permissions.modes import WORKSPACE_WRITE


@dataclass
class ReasoningConfig:
    """Whether an answer is checked for completion, and how often at most one is sent back for it."""

    completion_check: bool = True
    max_continuation_prompts: int = 5


@dataclass
class AgentConfig:
    """How an agent works: `auto_context` tells the model of the project's files, `stream` passes its words on as they
    come, `max_iterations` is how often it is asked in a turn.

    `storage` is `file`, for the project's folder, or `store`, for the store at `store_url`.
    """

    auto_context: bool = True
    stream: bool = True
    max_iterations: int = 15
    temperature: float = 0.3
    max_tokens: int = 2048
    permission_mode: str = WORKSPACE_WRITE
    reasoning: ReasoningConfig = field(default_factory=ReasoningConfig)
    storage: str = "file"
    store_url: str | None = None
