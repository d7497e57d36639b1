"""How a step says that something does not hold."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import ClassVar

from holdfast.core import HoldfastError


class ClaimBroken(Exception):
    """An assertion that does not hold: its name, what is wrong, what was expected and what came."""

    def __init__(self, assertion: str, reason: str, *, expected: str, got: str, hint: str = "") -> None:
        super().__init__(f"{assertion}: {reason}")
        self.assertion = assertion
        self.reason = reason
        self.expected = expected
        self.got = got
        self.hint = hint


class StepUnjudged(HoldfastError):
    """What the step is about did not come to pass, so nothing can be said."""

    code: ClassVar[str] = "step_unjudged"
    status: ClassVar[int] = 503


def require(holds: bool, assertion: str, reason: str, *, expected: object, got: object, hint: str = "") -> None:
    """ClaimBroken unless it holds."""
    if not holds:
        raise ClaimBroken(assertion, reason, expected=str(expected), got=str(got), hint=hint)


def same(got: object, expected: object, assertion: str, reason: str) -> None:
    """ClaimBroken unless the two are equal."""
    require(got == expected, assertion, reason, expected=expected, got=got)


@contextmanager
def well_formed() -> Iterator[None]:
    """ClaimBroken if what the gateway told cannot be read as what its API promises."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError, ArithmeticError) as error:
        raise ClaimBroken(
            "the API answers",
            "an answer is not of the form that the API promises",
            expected="its members",
            got=f"{type(error).__name__}: {error!s:.200}",
        ) from error


def digest(text: str | bytes) -> str:
    """What stands for words in the evidence: the first half of their SHA-256."""
    return sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:32]
