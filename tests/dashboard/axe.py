"""What axe-core finds wrong with a page for people who use it by keyboard, by ear, or with weak eyes."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

GRAVE = {"serious", "critical"}
COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that look at colours."""


@cache
def _program() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def grave_violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What is serious or critical, a line for each element: the rule, where, and how to mend it. All rules, or these.

    It comes in by the debugger, not as a script of the page, whose policy would not let it."""
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(f"() => {{ {_program()} }}")
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    found: dict[str, Any] = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{each['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']} {node['html'][:160]}"
        for each in found["violations"]
        if each["impact"] in GRAVE
        for node in each["nodes"]
    ]
