"""Files that run later, or permit something later, without anybody being asked: hooks, start files, settings.

To change one is as much as to run a command. So it needs what a command needs, whichever tool does it, and only a rule
that names the file allows it.
"""

import unicodedata
from fnmatch import fnmatchcase

from holdfast.runtime.permissions.rules import PermissionRule

NAMES = (
    *(".git", ".gitmodules", ".githooks", ".husky", ".pre-commit-config.yaml", "lefthook.y*ml", ".lefthook.y*ml"),
    *(".github", ".gitlab-ci.yml", ".circleci", "jenkinsfile", "azure-pipelines.yml", ".travis.yml", ".drone.yml"),
    *(".vscode", ".idea", ".devcontainer", ".devcontainer.json", "*.code-workspace"),
    *(".envrc", ".profile", ".bashrc", ".bash_profile", ".bash_login", ".zshrc", ".zshenv", ".zprofile", ".vimrc"),
    *(".ssh", ".gnupg", ".aws", ".netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config"),
    *("sitecustomize.py", "usercustomize.py", "*.pth", ".mcp.json", ".claude", ".cursor", ".codex", ".ci"),
)
"""Names of files, and of folders with all that is in them; in lower case."""


def powerful_name(path: str) -> str | None:
    """The part of a path that makes it such a file, in lower case; None if it is an ordinary one."""
    parts = (plain(part) for part in path.split("/"))
    return next((part for part in parts if any(fnmatchcase(part, name) for name in NAMES)), None)


def is_named_by(rule: PermissionRule, name: str) -> bool:
    """Whether a rule is about such a file by its name, and not only among others."""
    return rule.path_contains is not None and name in plain(rule.path_contains)


def plain(name: str) -> str:
    """A name as file systems may take it that do not tell upper from lower case."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if unicodedata.category(char) != "Cf")
