"""What the workflow does: the same shell lines on every forge, and around them what each forge wants to read."""

import json
import re
import textwrap

from holdfast import __version__

CHECK = "session-continuity-e2e"
GATES = "name,file-only,file-caption,memory"
KEPT = ".holdfast-canary"
"""The folder between jobs: what is in it was made once and need not be made again."""

BUILD = """\
docker build --tag "$TEMPLATE_IMAGE" --file {dockerfile} .
"""
PROVE = """\
python3 -m venv "$HOME/holdfast-canary"
"$HOME/holdfast-canary/bin/pip" install --quiet "${{HOLDFAST_REQUIREMENT:-{requirement}}}"
[ ! -f {kept}/sender.tar ] || docker load --quiet --input {kept}/sender.tar
"$HOME/holdfast-canary/bin/holdfast" prove --only {gates} --junit canary.xml
"""
KEEP = """\
mkdir -p {kept}
sender=$(docker images --format '{{{{.Repository}}}}:{{{{.Tag}}}}' holdfast-sender | head -n 1)
[ -z "$sender" ] || docker save --output {kept}/sender.tar "$sender"
"""

ACTIONS = """\
name: {check}

on:
  pull_request:
  push:
    branches: [main, master]

permissions:
  contents: read

jobs:
  {check}:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    env:
      TEMPLATE_IMAGE: template-under-proof
    steps:
      - uses: actions/checkout@v4
      - uses: actions/cache@v4
        with:
          path: {kept}
          key: {check}-{version}
      - name: Build the image
        run: |
{build}
      - name: Does it remember?
        run: |
{prove}
      - name: Keep the sender for the next job
        run: |
{keep}
      - name: What was seen
        if: failure()
        uses: actions/upload-artifact@{upload}
        with:
          name: {check}
          path: .artifacts/prove
          include-hidden-files: true
"""
GITLAB = """\
{check}:
{stage}  image: docker:cli
  services: ["docker:dind"]
  timeout: 20 minutes
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  variables:
    TEMPLATE_IMAGE: template-under-proof
  cache:
    key: {check}-{version}
    paths: ["{kept}/"]
  before_script:
    - apk add --no-cache bash python3 py3-pip docker-cli-compose
  script:
    - |
{build}
    - |
{prove}
    - |
{keep}
  artifacts:
    when: always
    paths: [".artifacts/prove/"]
    reports:
      junit: canary.xml
"""
STAGES = re.compile(r"^stages:[ \t]*(?:\[(?P<line>[^\]]*)\]|(?P<lines>(?:#.*)?(?:\n[ \t]*(?:[-#].*)?)*))", re.MULTILINE)
PYTEST = '''\
"""Does the runtime of this repository remember? The canaries of session continuity, by Holdfast's pytest plugin."""

import pytest

COMMAND = "python agent.py --port {port}"
"""What starts the runtime; {port} and {data}, a fresh folder, are filled in."""


@pytest.mark.parametrize("proof", ["name", "file-only", "file-caption", "memory", "restart", "crash"])
def test_session_continuity(holdfast_prove, proof: str) -> None:
    holdfast_prove(proof, command=COMMAND)
'''


def actions(dockerfile: str, requirement: str, *, upload: str) -> str:
    """The workflow for GitHub and for those who read the same, which differ in the version of what uploads."""
    steps = _steps(dockerfile, requirement, 10)
    return ACTIONS.format(check=CHECK, kept=KEPT, version=__version__, upload=upload, **steps)


def gitlab(dockerfile: str, requirement: str, others: str) -> str:
    """The job for GitLab, in a stage that there is, by what else is in its file: a job that names none is in `test`."""
    stages = _stages(others)
    stage = f"  stage: {json.dumps(stages[0])}\n" if stages and "test" not in stages else ""
    return GITLAB.format(check=CHECK, stage=stage, kept=KEPT, version=__version__, **_steps(dockerfile, requirement, 6))


def _stages(pipeline: str) -> list[str]:
    """The stages that a GitLab file names, if it does."""
    found = STAGES.search(pipeline)
    if found is None:
        return []
    if found["line"] is not None:
        items = re.sub(r"#.*", "", found["line"]).split(",")
    else:
        items = re.findall(r"^[ \t]*-[ \t]+(.*?)(?:[ \t]#.*)?$", found["lines"], re.MULTILINE)
    return [name for item in items if (name := item.strip().strip("\"'"))]


def _steps(dockerfile: str, requirement: str, indent: int) -> dict[str, str]:
    filled = {
        "build": BUILD.format(dockerfile=dockerfile),
        "prove": PROVE.format(requirement=requirement, kept=KEPT, gates=GATES),
        "keep": KEEP.format(kept=KEPT),
    }
    return {name: textwrap.indent(text.rstrip("\n"), " " * indent) for name, text in filled.items()}
