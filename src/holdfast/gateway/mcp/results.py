"""What the protocol is told: a tool's result or its refusal, and the errors of everything else."""

import mcp_types as wire
from mcp import MCPError

from holdfast.core import HoldfastError, strict_json
from holdfast.core.problem import problem

PROBLEM = "holdfast/problem"
"""The member of a refusal's `_meta` that holds the problem object, for programs."""


def result_of(raw: bytes) -> wire.CallToolResult:
    """A tool's good answer: the JSON as text for models, and as a value for programs."""
    text = raw.decode().rstrip("\n")
    return wire.CallToolResult(
        content=[wire.TextContent(type="text", text=text)], structured_content=strict_json.parse_own(raw)
    )


def refusal_of(error: HoldfastError) -> wire.CallToolResult:
    """A tool's refusal: code, message and hint for models, and the whole problem object, which may say what is there
    instead, for both."""
    found = problem(error)
    lines = [f"{found['code']}: {error.message}", *([f"hint: {error.hint}"] if error.hint else [])]
    whole = strict_json.encode(found).decode()
    return wire.CallToolResult(
        content=[
            wire.TextContent(type="text", text="\n".join(lines)),
            wire.TextContent(type="text", text=whole),
        ],
        is_error=True,
        _meta={PROBLEM: strict_json.parse_own(whole.encode())},
    )


def failure_of(error: HoldfastError, **named: str) -> MCPError:
    """The same for what is no tool: an error of JSON-RPC whose data is the problem object, and what was asked for."""
    found = {**problem(error), **named}
    status = found.get("status", error.status)
    foreseen = isinstance(status, int) and status < 500
    return MCPError(
        code=wire.INVALID_PARAMS if foreseen else wire.INTERNAL_ERROR,
        message=error.message,
        data=strict_json.parse_own(strict_json.encode(found)),
    )
