"""What each template in templates/ keeps to, whichever runtime it wraps."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted(path.parent for path in ROOT.glob("templates/*/agent.py"))
ADDRESS = re.compile(r"\b\w+://|^\s*--(?:index|extra-index|find-links|trusted)", re.M)
MOST_LINES = 250

each_template = pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)


def named_packages(text: str) -> dict[str, str]:
    """Each package of a requirements.in with what is asked of it."""
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    found = [re.match(r"([A-Za-z0-9._-]+)(.*)", line) for line in lines if line and not line.startswith("-")]
    return {match[1]: match[2] for match in found if match}


def test_what_a2a_needs_is_what_the_package_says() -> None:
    asked = named_packages("\n".join(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]))
    given = named_packages((ROOT / "templates" / "a2a.in").read_text())
    assert given
    assert given == {name: asked[name] for name in given}


@each_template
def test_it_has_all_that_a_template_has(template: Path) -> None:
    files = ("README.md", "Dockerfile", "requirements.in", "requirements.txt", "workflow.yml")
    assert [name for name in files if not (template / name).is_file()] == []
    assert "-r ../a2a.in" in (template / "requirements.in").read_text().splitlines()
    assert f"holdfast prove --template {template.name}" in (template / "README.md").read_text()


@each_template
def test_its_packages_are_pinned_and_hashed_and_come_from_nowhere_in_particular(template: Path) -> None:
    text = (template / "requirements.txt").read_text()
    assert not ADDRESS.search(text)
    pins = re.split(r"(?m)^(?=\S)", text)
    packages = [pin for pin in pins if pin.strip() and not pin.startswith("#")]
    assert len(packages) > 10
    for pin in packages:
        assert re.match(r"[a-z0-9._-]+(\[[a-z0-9,._-]+\])?==\S+", pin), pin[:80]
        assert "--hash=sha256:" in pin, pin[:80]
    wanted = {name.lower().replace("_", "-") for name in named_packages((template / "requirements.in").read_text())}
    assert wanted <= {re.split(r"\[|==", pin)[0] for pin in packages}


@each_template
def test_its_conversations_are_the_runtimes_own(template: Path) -> None:
    code = (template / "agent.py").read_text()
    assert len(code.splitlines()) <= MOST_LINES
    assert "serve_from_environment(" in code
    assert "turn.context_id" in code
    for forbidden in ("turn.history", "turn.task_id", "turn.store"):
        assert forbidden not in code, f"{forbidden} would be Holdfast's memory and not the runtime's"


@each_template
def test_its_image_keeps_to_the_contract(template: Path) -> None:
    text = (template / "Dockerfile").read_text()
    assert text.count("\nARG BASE_IMAGE=python:3.13-slim-bookworm\n") == 1
    for line in ("USER 10001:10001", 'VOLUME ["/data", "/workspace"]', "EXPOSE 8000", "STOPSIGNAL SIGTERM"):
        assert line in text.splitlines(), line
    assert re.search(r"^HEALTHCHECK ", text, re.M)
    for setting in ("HOST=0.0.0.0", "DATA=/data", "WORKSPACE=/workspace"):
        assert setting in text, setting


def test_workflows_are_as_onboarding_writes_them() -> None:
    command = [sys.executable, "scripts/template-workflows", "--check"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "")
