"""Which model answers in this process: the simulator, or one behind an API whose key is in the environment."""

import os
from dataclasses import dataclass

from holdfast.core.errors import InvalidInput
from holdfast.models.messages import Backend

SIMULATOR = "sim"
HINT = "sim, openai:NAME or anthropic:NAME"


@dataclass(frozen=True, slots=True)
class ModelApi:
    """An API, where it is unless the environment says otherwise, and the variables that say so."""

    url: str
    url_variable: str
    key_variable: str


APIS = {
    "openai": ModelApi("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "anthropic": ModelApi("https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
}


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model, and which it is in words for people."""

    backend: Backend
    described: str


def choose_model(wanted: str) -> ModelChoice:
    """The model of an option; InvalidInput if there is none of the name, or no key for it."""
    from holdfast.models import AnthropicBackend, OpenAIBackend, SimulatorBackend

    if wanted == SIMULATOR:
        return ModelChoice(SimulatorBackend(), "the simulator in this process, no real model; --model names one")
    kind, _, name = wanted.partition(":")
    api = APIS.get(kind)
    if api is None or not name:
        raise InvalidInput(f"{wanted!r:.80} is no model", hint=HINT)
    url, key = os.environ.get(api.url_variable) or api.url, os.environ.get(api.key_variable)
    if key is None and url == api.url:
        raise InvalidInput(f"there is no key for {wanted}", hint=f"set {api.key_variable} in the environment")
    backend = OpenAIBackend if kind == "openai" else AnthropicBackend
    paid = f"with the key in {api.key_variable}" if key else "without a key"
    return ModelChoice(backend(url, name, api_key=key), f"{name} at {url}, {paid}")
