"""Archives changed at random are refused by the one error type, or read.

One whose bytes were changed is read only with the very content of the original. One whose text was changed and that
was packed anew, hashes and all, is read only if it is exactly what we would write for what was read.
"""

import random
from pathlib import Path

import pytest
from tests.store.portable.sample_archives import Content, content, mutated, parts, respelled, written

from holdfast.core.errors import BadArchive

ARCHIVE = written()


def rewritten(found: Content) -> bytes:
    """The archive that we write for this content."""
    return written(found.sessions, found.attachments, found.memories)


def fuzz(path: Path, seed: int, count: int) -> tuple[int, int]:
    """Read `count` changed archives; how many were refused and how many read."""
    source = random.Random(seed)
    path.write_bytes(ARCHIVE)
    original = content(path)
    refused = read = 0
    for number in range(count):
        raw = mutated(source, ARCHIVE) if number % 2 else respelled(source, parts())
        path.write_bytes(raw)
        try:
            found = content(path)
        except BadArchive as error:
            assert error.details["reason"]
            refused += 1
        else:
            same = found == original if number % 2 else rewritten(found) == raw
            assert same, f"seed {seed}, archive {number}"
            read += 1
    return refused, read


def test_a_few_hundred_changed_archives(tmp_path: Path) -> None:
    refused, _ = fuzz(tmp_path / "a", 1, 400)
    assert refused > 300


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_many_changed_archives(tmp_path: Path, seed: int) -> None:
    refused, _ = fuzz(tmp_path / "a", 100 + seed, 3_000)
    assert refused > 2_000
