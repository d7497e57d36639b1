"""Permission rules: which calls of tools are denied, asked about or allowed.

A rule that restricts matches every way to spell a thing: a path as it was written and where it really leads, in upper
or lower case, in any Unicode form. A rule that allows matches only what a call really touches, letter by letter. So a
call that is spelt in a clever way is restricted rather than allowed.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """Matches the calls of a tool, those with a text in what they are asked, or those of a path; of all that are
    given."""

    tool: str | None = None
    contains: str | None = None
    path_contains: str | None = None


@dataclass(frozen=True, slots=True)
class CallText:
    """A call as rules see it: the tool, every text in what it is asked, its paths as written, and where they lead."""

    tool: str
    texts: tuple[str, ...] = ()
    written_paths: tuple[str, ...] = ()
    real_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PermissionRules:
    """The rules of a project; with a `problem`, they could not be read, and no call is allowed."""

    allow: tuple[PermissionRule, ...] = ()
    deny: tuple[PermissionRule, ...] = ()
    ask: tuple[PermissionRule, ...] = ()
    source: str | None = None
    problem: str | None = None
    digest: str | None = field(default=None, compare=False)
    """The SHA-256 of the file that has them."""
    counts: dict[str, int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        counts = {"allow": len(self.allow), "deny": len(self.deny), "ask": len(self.ask)}
        object.__setattr__(self, "counts", counts)


def restricts(rule: PermissionRule, call: CallText) -> bool:
    """Whether a deny or ask rule is about this call; a call without paths is searched for them in its texts."""
    paths = (*call.written_paths, *call.real_paths) or call.texts
    return (
        (rule.tool is None or _folded(rule.tool) == _folded(call.tool))
        and (rule.contains is None or _has_folded(call.texts, rule.contains))
        and (rule.path_contains is None or _has_folded(paths, rule.path_contains))
    )


def permits(rule: PermissionRule, call: CallText) -> bool:
    """Whether an allow rule is about this call; its path is the one that all of the call's paths really lead to."""
    return (
        (rule.tool is None or rule.tool == call.tool)
        and (rule.contains is None or any(rule.contains in text for text in call.texts))
        and (
            rule.path_contains is None
            or (bool(call.real_paths) and all(rule.path_contains in path for path in call.real_paths))
        )
    )


def _has_folded(texts: Iterable[str], wanted: str) -> bool:
    needle = _folded(wanted)
    return any(needle in _folded(text) for text in texts)


def _folded(text: str) -> str:
    """A text without differences of case, Unicode form, white space and invisible characters."""
    plain = "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())
