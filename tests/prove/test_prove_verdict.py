"""The exit code of a run: disproven wins over a fault, a fault over inconclusive, and nothing checked is never 0."""

import pytest

from holdfast.prove.verdict import (
    Exit,
    Finding,
    disproven,
    exit_code,
    faulted,
    inconclusive,
    not_reached,
    proven,
)

YES = proven("it holds")
NO = disproven("it does not", expected="this", got="that")
PERHAPS = inconclusive("who knows", hint="look closer")
FAULT = faulted("the cable is cut")
SKIPPED = not_reached("needs more")


@pytest.mark.parametrize(
    ("prerequisites", "proofs", "expected"),
    [
        ([YES], [YES, YES], Exit.PROVEN),
        ([YES], [YES, NO, FAULT, PERHAPS], Exit.DISPROVEN),
        ([YES], [YES, FAULT, PERHAPS], Exit.FAULT),
        ([YES], [YES, PERHAPS], Exit.INCONCLUSIVE),
        ([NO], [SKIPPED], Exit.DISPROVEN),
        ([FAULT], [SKIPPED], Exit.FAULT),
        ([YES], [YES, SKIPPED], Exit.FAULT),
        ([YES], [], Exit.FAULT),
        ([], [], Exit.FAULT),
    ],
)
def test_exit_code(prerequisites: list[Finding], proofs: list[Finding], expected: Exit) -> None:
    assert exit_code(prerequisites, proofs) is expected


def test_the_codes_are_the_documented_numbers() -> None:
    assert (Exit.PROVEN, Exit.DISPROVEN, Exit.FAULT, Exit.INCONCLUSIVE) == (0, 1, 2, 3)
