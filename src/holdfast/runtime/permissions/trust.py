"""Whether the rules in a project's folder are its user's own.

A rule file can come with a project that was cloned, and then its author is a stranger. So what it allows counts only
after the user has said so, for this folder and for these very bytes. What it denies or asks about counts at once. The
user's word is kept in a file outside the project.
"""

from dataclasses import replace
from pathlib import Path

from holdfast.core.errors import Conflict
from holdfast.runtime.permissions.rule_file import append_rule, changing_rules, load_rules
from holdfast.runtime.permissions.rules import PermissionRule, PermissionRules
from holdfast.runtime.permissions.trust_file import TrustFile


class RuleTrust:
    """The user's word about the rules of one folder. All of it blocks."""

    def __init__(self, kept_in: Path, project_root: Path) -> None:
        self._file = TrustFile(kept_in, project_root)
        self._root = project_root

    def rules(self) -> PermissionRules:
        """The rules that count now."""
        found = load_rules(self._root)
        return found if self._counts(found) else replace(found, allow=())

    def strange_rules(self) -> PermissionRules | None:
        """The rules as they are written, if they allow something that the user has not agreed to."""
        found = load_rules(self._root)
        return None if self._counts(found) else found

    def trust(self, rules: PermissionRules) -> None:
        """Let these rules count from now on, as long as nobody changes them."""
        self._file.say(lambda before: rules.digest)

    def allow(self, rule: PermissionRule) -> None:
        """Write a rule of the user's own; Conflict if there are rules that they have not agreed to."""
        with changing_rules(self._root):
            before = load_rules(self._root)
            if not self._counts(before):
                raise Conflict("the rules of this folder are not trusted")
            after = append_rule(self._root, "allow", rule)
            if after.allow == (*before.allow, rule):  # not if somebody who does not know of us writes at the same time
                self.trust(after)

    def _counts(self, rules: PermissionRules) -> bool:
        return not rules.allow or self._file.said() == rules.digest
