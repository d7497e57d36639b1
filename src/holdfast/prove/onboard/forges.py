"""The forges: where each has its workflows, how a repository shows that it uses one, how its check becomes required."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.prove.onboard.workflow import CHECK, actions, gitlab


@dataclass(frozen=True, slots=True)
class Forge:
    """One kind of forge."""

    name: str
    shows: tuple[str, ...]
    """What a repository has that uses it."""
    host: str
    """A word in the address of the repository's origin."""
    file: str
    """Where the workflow is, in a file of its own or, if `shared`, among others' jobs."""
    shared: bool
    write: Callable[[str, str, str], str]
    """The workflow, for a Dockerfile, what to install, and what else is in the file."""
    check: str
    """What the check is called where it can be required."""
    required: str
    """How to require it."""


GITEA = Forge(
    "gitea",
    (".gitea", ".forgejo"),
    "gitea",
    f".gitea/workflows/{CHECK}.yml",
    False,
    lambda dockerfile, requirement, _: actions(dockerfile, requirement, upload="v3"),
    f"{CHECK} / {CHECK} (pull_request)",
    """PATCH /api/v1/repos/OWNER/REPO/branch_protections/BRANCH
{{"enable_status_check": true, "status_check_contexts": ["{check}"]}}""",
)
GITHUB = Forge(
    "github",
    (".github",),
    "github",
    f".github/workflows/{CHECK}.yml",
    False,
    lambda dockerfile, requirement, _: actions(dockerfile, requirement, upload="v4"),
    CHECK,
    """POST /repos/OWNER/REPO/branches/BRANCH/protection/required_status_checks/contexts
{{"contexts": ["{check}"]}}""",
)
GITLAB = Forge(
    "gitlab",
    (".gitlab-ci.yml", ".gitlab"),
    "gitlab",
    ".gitlab-ci.yml",
    True,
    gitlab,
    CHECK,
    """PUT /api/v4/projects/ID
{{"only_allow_merge_if_pipeline_succeeds": true}}""",
)
FORGES = {forge.name: forge for forge in (GITEA, GITHUB, GITLAB)}


def forge_of(repository: Path, named: str | None) -> Forge:
    """The forge that a repository uses, or the one that was named; InvalidInput if it cannot be told."""
    if named is not None:
        return FORGES[named]
    used = [forge for forge in FORGES.values() if any((repository / name).exists() for name in forge.shows)]
    if not used:
        origin = _origin(repository)
        used = [forge for forge in FORGES.values() if forge.host in origin]
    if len(used) != 1:
        found = " and ".join(forge.name for forge in used) or "none"
        raise InvalidInput(
            f"{repository} shows the workflows of {found}", hint=f"say which: --forge {'|'.join(FORGES)}"
        )
    return used[0]


def required_setting(forge: Forge) -> str:
    """The call that makes the check required, as the forge's API wants it."""
    return forge.required.format(check=forge.check)


def _origin(repository: Path) -> str:
    """Where the repository came from, as its configuration says; empty if it does not."""
    try:
        lines = (repository / ".git" / "config").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return " ".join(line.partition("=")[2].strip() for line in lines if line.strip().startswith("url"))
