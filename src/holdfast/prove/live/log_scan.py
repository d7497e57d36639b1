"""The gateway's log since the last look, read through `/api/logs`: does it say what a healthy one never says?

The scan is part of the verdict. What is to be expected is allowed by a pattern, and the evidence says so.
"""

import re
from dataclasses import asdict, dataclass, field
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.core.redact import redact
from holdfast.prove.live.api import GatewayApi
from holdfast.prove.live.claims import ClaimBroken, same

PAGE = 1_000
LONGEST = 300
LOUD = frozenset({"error", "critical", "fatal"})
WARNING = frozenset({"warning", "warn", *LOUD})
TEXTS = {
    "SQLITE_": re.compile(r"\bSQLITE_[A-Z]"),
    "no such column": re.compile(r"no such (column|table)|(column|relation) \S+ does not exist", re.IGNORECASE),
    "store unavailable": re.compile(
        r"store[ _-]?unavailable|store[ _-]?failed|database cannot be reached", re.IGNORECASE
    ),
    "recovery failure": re.compile(r"recovery[^\"]{0,40}fail|cannot be settled", re.IGNORECASE),
}
RECONCILE = re.compile("reconcil", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LogFinding:
    """A line that should not be there, and why; `allowed` is the pattern that lets it pass."""

    step: str
    rule: str
    time: str
    level: str
    logger: str
    message: str
    allowed: str = ""


@dataclass(slots=True)
class LogScan:
    """The log of one gateway, from a cursor on."""

    allowed: tuple[re.Pattern[str], ...]
    cursor: str = ""
    began: str = ""
    lines: int = 0
    findings: list[LogFinding] = field(default_factory=list)

    async def begin(self, api: GatewayApi) -> None:
        """Take the end of the log as it is now for the place to go on from."""
        self.cursor = self.began = str((await api.must("the end of the log", "GET", "/api/logs", limit=1))["cursor"])

    async def read_on(self, api: GatewayApi, step: str) -> None:
        """Read what has come since; ClaimBroken if there is something in it that is not allowed."""
        bad: list[LogFinding] = []
        while True:
            page = await api.must("the log since then", "GET", "/api/logs", cursor=self.cursor, limit=PAGE)
            before, self.cursor = self.cursor, str(page["cursor"])
            found = [judged(line, step, self.allowed) for line in page["lines"]]
            self.lines += len(found)
            self.findings += filter(None, found)
            bad += [each for each in found if each is not None and not each.allowed]
            if page["truncated"]:
                raise ClaimBroken(
                    "log scan",
                    "lines of the log were removed before they could be read",
                    expected="every line since the last look",
                    got="a gap",
                    hint="let the gateway keep more: `holdfast serve --log-size`",
                )
            if len(found) < PAGE:
                break
            same(self.cursor != before, True, "log scan", "the log does not go on, and does not end")
        if bad:
            raise ClaimBroken(
                "log scan",
                f"the log says what a healthy gateway never says ({bad[0].rule})",
                expected="no such line",
                got=f"{bad[0].level} {bad[0].logger}: {bad[0].message}",
                hint="what is to be expected is allowed with --allow-log PATTERN",
            )

    def document(self) -> dict[str, Any]:
        """The scan as evidence."""
        return {
            "from": self.began,
            "to": self.cursor,
            "lines": self.lines,
            "allowed": [pattern.pattern for pattern in self.allowed],
            "findings": [asdict(finding) for finding in self.findings],
        }


def patterns(given: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """The patterns of --allow-log; InvalidInput if one is none."""
    try:
        return tuple(re.compile(each) for each in given)
    except re.error as error:
        raise InvalidInput(f"--allow-log is not a pattern: {error}", hint="a regular expression of Python's") from None


def judged(line: dict[str, Any], step: str, allowed: tuple[re.Pattern[str], ...]) -> LogFinding | None:
    """What is wrong with a line; None if nothing is."""
    text = strict_json.encode(line).decode()
    level = str(line.get("level", "")).lower()
    rule = rule_for(level, text)
    if not rule:
        return None
    passes = next((pattern.pattern for pattern in allowed if pattern.search(text)), "")
    message = redact(str(line.get("message", "")))[:LONGEST]
    return LogFinding(step, rule, str(line.get("time", "")), level, str(line.get("logger", "")), message, passes)


def rule_for(level: str, text: str) -> str:
    """The rule that a line breaks; empty if it breaks none."""
    if level in LOUD:
        return level
    for rule, pattern in TEXTS.items():
        if pattern.search(text):
            return rule
    return "reconcile warning" if level in WARNING and RECONCILE.search(text) else ""
