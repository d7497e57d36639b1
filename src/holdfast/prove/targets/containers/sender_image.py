"""The sender's image: this very Holdfast on a public base, built once for each version of its code."""

import hashlib
import os
import re
import shutil
import tempfile
from importlib import metadata
from pathlib import Path

import holdfast
from holdfast.prove.targets.containers.engine import ContainerEngine

BASE = "python:3.13-slim-bookworm"
NAME = "holdfast-sender"
BUILD_SECONDS = 600.0
DOCKERFILE = """\
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
COPY requirements.txt /opt/requirements.txt
RUN python3 -m venv /opt/holdfast && /opt/holdfast/bin/pip install --no-cache-dir -r /opt/requirements.txt
ENV PATH=/opt/holdfast/bin:$PATH PYTHONPATH=/opt/source PYTHONUNBUFFERED=1
COPY holdfast /opt/source/holdfast
"""


def sender_image(engine: ContainerEngine) -> str:
    """The name of the sender's image, which is built unless it is there; HOLDFAST_SENDER_IMAGE names another.

    BASE_IMAGE and BUILD_NETWORK are those of our Dockerfiles: another base, and another network to build in.
    """
    named = os.environ.get("HOLDFAST_SENDER_IMAGE")
    if named:
        return named
    base = os.environ.get("BASE_IMAGE") or BASE
    source = Path(holdfast.__file__).parent
    requirements = "\n".join(_requirements())
    image = f"{NAME}:{_digest(source, base, requirements)}"
    if engine.call("images", "--quiet", image):
        return image
    with tempfile.TemporaryDirectory() as name:
        context = Path(name)
        (context / "Dockerfile").write_text(DOCKERFILE)
        (context / "requirements.txt").write_text(requirements)
        shutil.copytree(source, context / "holdfast", ignore=shutil.ignore_patterns("__pycache__"))
        network = os.environ.get("BUILD_NETWORK")
        more = ("--network", network) if network else ()
        words = ("build", "--tag", image, "--build-arg", f"BASE_IMAGE={base}", *more, str(context))
        engine.call(*words, within=BUILD_SECONDS)
    return image


def _requirements() -> list[str]:
    """What a plain install brings along, at the versions that are here."""
    found: dict[str, str] = {}

    def follow(name: str) -> None:
        for line in metadata.requires(name) or ():
            needed = re.match(r"[A-Za-z0-9._-]+", line)
            if needed is None or "extra ==" in line or needed.group().lower() in found:
                continue
            try:
                found[needed.group().lower()] = metadata.version(needed.group())
            except metadata.PackageNotFoundError:
                continue  # for another platform or another Python
            follow(needed.group())

    follow("holdfast")
    return sorted(f"{name}=={version}" for name, version in found.items())


def _digest(source: Path, *more: str) -> str:
    """Twelve digits that change with the code and with what it is built on."""
    summed = hashlib.sha256("\0".join(more).encode())
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            summed.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes())
    return summed.hexdigest()[:12]
