"""What a tool may do in a project: what it needs, what the mode grants, and what the project's rules say."""

from holdfast.runtime.permissions.mode_trust import ModeTrust
from holdfast.runtime.permissions.modes import (
    ALLOW,
    DANGER_FULL_ACCESS,
    MODES,
    PROMPT,
    READ_ONLY,
    WORKSPACE_WRITE,
    check_mode,
)
from holdfast.runtime.permissions.policy import Decision, PermissionQuestion, decide
from holdfast.runtime.permissions.rule_file import RULES_FILE, add_rule, load_rules
from holdfast.runtime.permissions.rules import PermissionRule, PermissionRules
from holdfast.runtime.permissions.trust import RuleTrust

__all__ = [
    "ALLOW",
    "DANGER_FULL_ACCESS",
    "MODES",
    "PROMPT",
    "READ_ONLY",
    "RULES_FILE",
    "WORKSPACE_WRITE",
    "Decision",
    "ModeTrust",
    "PermissionQuestion",
    "PermissionRule",
    "PermissionRules",
    "RuleTrust",
    "add_rule",
    "check_mode",
    "decide",
    "load_rules",
]
