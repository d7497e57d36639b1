"""Which model answers: the simulator in this process, unless `APP_MODEL` names an API.

`openai`, `azure` and `anthropic` read the usual variables of their vendors. A key that happens to lie in the
environment costs nothing: it is used only if `APP_MODEL` says so.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import openai

from apps.health import served

VARIABLE = "APP_MODEL"
KINDS = ("simulator", "openai", "azure", "anthropic")
SECONDS_TO_ANSWER = 120.0
PASSING = (
    *(openai.APIConnectionError, openai.RateLimitError, openai.InternalServerError),
    *(anthropic.APIConnectionError, anthropic.RateLimitError, anthropic.InternalServerError),
)


@asynccontextmanager
async def chat_model() -> AsyncIterator[Any]:
    """LangChain's client of the model, for as long as the block runs."""
    kind = os.environ.get(VARIABLE) or "simulator"
    if kind not in KINDS:
        raise SystemExit(f"{VARIABLE} is {kind!r}; it is one of {', '.join(KINDS)}")
    if kind == "simulator":
        from holdfast.models.simulator.app import create_app

        async with served(create_app(asyncio.Event()), "127.0.0.1", 0) as url:
            yield _openai(base_url=f"{url}/v1", api_key="none", model="sim-1")
    else:
        yield {"openai": _from_openai, "azure": _from_azure, "anthropic": _from_anthropic}[kind]()


def passes(error: BaseException) -> bool:
    """Whether an error of a model's goes away by waiting: it is away or busy, and refuses nothing."""
    return isinstance(error, PASSING)


def described() -> str:
    """The model, for a log; without keys."""
    kind = os.environ.get(VARIABLE) or "simulator"
    name = {"openai": "OPENAI_MODEL", "azure": "AZURE_OPENAI_DEPLOYMENT", "anthropic": "ANTHROPIC_MODEL"}.get(kind)
    return f"{kind} {os.environ.get(name, '')}".strip() if name else kind


def _openai(**options: Any) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(temperature=0, timeout=SECONDS_TO_ANSWER, **options)


def _from_openai() -> Any:
    base = os.environ.get("OPENAI_BASE_URL") or None
    return _openai(model=_needed("OPENAI_MODEL"), base_url=base, api_key=os.environ.get("OPENAI_API_KEY") or "none")


def _from_azure() -> Any:
    from langchain_openai import AzureChatOpenAI

    return AzureChatOpenAI(
        azure_endpoint=_needed("AZURE_OPENAI_ENDPOINT"),
        azure_deployment=_needed("AZURE_OPENAI_DEPLOYMENT"),
        model=_needed("AZURE_OPENAI_DEPLOYMENT"),
        api_version=os.environ.get("OPENAI_API_VERSION", "2024-10-21"),
        api_key=_needed("AZURE_OPENAI_API_KEY"),
        temperature=0,
        timeout=SECONDS_TO_ANSWER,
    )


def _from_anthropic() -> Any:
    from langchain_anthropic import ChatAnthropic

    options = {"base_url": os.environ["ANTHROPIC_BASE_URL"]} if os.environ.get("ANTHROPIC_BASE_URL") else {}
    key = os.environ.get("ANTHROPIC_API_KEY") or "none"
    return ChatAnthropic(
        model=_needed("ANTHROPIC_MODEL"), api_key=key, max_tokens=2048, timeout=SECONDS_TO_ANSWER, **options
    )


def _needed(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise SystemExit(f"{VARIABLE} is {os.environ.get(VARIABLE)!r}, and {name} is not set")
    return value
