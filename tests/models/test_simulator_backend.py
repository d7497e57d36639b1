"""The simulator in process, and how light it is to import."""

import asyncio
import subprocess
import sys

import pytest

from holdfast.models import Backend, Message, Role, SimulatorBackend
from holdfast.models.simulator import answer


async def test_it_answers_as_the_pure_function_does() -> None:
    backend: Backend = SimulatorBackend()
    prompt = [Message(Role.USER, "My name is Ada. What is my name?")]
    assert await backend.complete(prompt) == answer(prompt).response


async def test_it_thinks_as_long_as_it_is_told() -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()
    await SimulatorBackend().complete([Message(Role.USER, "Think for 0.2 seconds.")])
    assert 0.19 < loop.time() - start < 30


async def test_thinking_can_be_cancelled() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await SimulatorBackend().complete([Message(Role.USER, "Think for 60 seconds.")])


def test_the_package_imports_no_web_library() -> None:
    look = "import sys, holdfast.models; print({'starlette', 'httpx2', 'uvicorn'} & set(sys.modules))"
    seen = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "set()"
