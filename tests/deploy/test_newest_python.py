"""The wheel with the newest Python that Holdfast promises to run on, in a container of it.

Needs a Docker engine. Where images cannot be pulled, `scripts/containers-here` makes one from Debian's packages.
"""

import json
import re
import subprocess

import pytest
from tests.deploy.test_compose import STAND_INS, command
from tests.deploy.test_wheel import ROOT, built

pytestmark = pytest.mark.e2e

NEWEST = "3.14"
PUBLIC = f"python:{NEWEST}-slim-bookworm"
IMAGE = "holdfast-test/newest-python"
DOCKERFILE = """
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
COPY holdfast-*.whl constraints.txt /
RUN python%s -m venv /venv && /venv/bin/pip install --quiet --constraint /constraints.txt /holdfast-*.whl
ENV PATH=/venv/bin:$PATH
"""
LOOK = """
import importlib, json, pkgutil, platform, warnings
warnings.simplefilter("error")
import holdfast
optional = []
for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
    if module.name.endswith("__main__") or ".integrations" in module.name:
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        optional.append(error.name.partition(".")[0])
print(json.dumps({"python": platform.python_version(), "optional": sorted(set(optional))}))
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image of the newest Python with the wheel in a clean venv, at the versions that the tests use."""
    if command("docker", "info").returncode:
        pytest.skip(f"NOT RUN: Python {NEWEST} was not tried: no container engine answers (scripts/containers-here)")
    base = STAND_INS["NEWEST_PYTHON_IMAGE"]
    if command("docker", "image", "inspect", base).returncode:
        base = PUBLIC
        if command("docker", "pull", base).returncode:
            pytest.skip(f"NOT RUN: Python {NEWEST} was not tried: no image can be pulled (scripts/containers-here)")
    place = tmp_path_factory.mktemp("newest")
    built(place, "wheel")
    pins = re.findall(r"^[a-z0-9._-]+==\S+", (ROOT / "requirements" / "run.txt").read_text(), re.M)
    (place / "constraints.txt").write_text("\n".join(pins))
    (place / "Dockerfile").write_text(DOCKERFILE % NEWEST)
    words = ["docker", "build", "--network", "host", "--build-arg", f"BASE_IMAGE={base}", "--tag", IMAGE, str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return IMAGE


def in_container(image: str, *words: str, timeout: int = 120) -> subprocess.CompletedProcess[str]:
    """A command in a container of its own, which nothing is left of."""
    run = ["docker", "run", "--rm", "--network", "none", image, *words]
    return subprocess.run(run, capture_output=True, text=True, timeout=timeout, check=False)


def test_every_module_can_be_imported_and_none_warns(image: str) -> None:
    done = in_container(image, "python", "-c", LOOK)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout)
    assert seen["python"].startswith(f"{NEWEST}.")
    assert set(seen["optional"]) <= {"psycopg", "mcp", "mcp_types", "pytest"}


def test_the_bundled_runtime_is_proven_there(image: str) -> None:
    done = in_container(image, "holdfast", "prove", "--only", "name,file-only,file-caption,memory,restart,crash")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PROVEN" in done.stdout


def test_a_store_is_kept_there(image: str) -> None:
    program = (
        "import asyncio\n"
        "from holdfast.store import NewEvent, open_store\n"
        "async def main():\n"
        "    async with await open_store('sqlite:///kept.db') as store:\n"
        "        await store.append('s1', [NewEvent('greeting', {'text': 'hello'})])\n"
        "    async with await open_store('sqlite:///kept.db') as store:\n"
        "        print([event.value() for event in await store.read('s1')])\n"
        "asyncio.run(main())\n"
    )
    done = in_container(image, "python", "-W", "error", "-c", program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == "[{'text': 'hello'}]"
