"""Commands that only read leave everything in the data folder as it is, with no gateway too.

A search is none of them: it brings the index of words up to date first.
"""

from pathlib import Path

import pytest
from tests.cli.command import fill, run
from tests.store.test_read_only import listing

from holdfast.core.store_file import StoreLock, lock_path

LOOKS = (("sessions", "ls"), ("sessions", "show", "one"), ("sessions", "verify"), ("db", "status"))


@pytest.mark.parametrize("with_lock", [False, True])
def test_nothing_is_made_or_touched(tmp_path: Path, with_lock: bool) -> None:
    fill(tmp_path)
    if with_lock:
        with StoreLock(lock_path(tmp_path / "holdfast.db")):
            pass
    before = listing(tmp_path)
    for command in LOOKS:
        done = run(*command, data=tmp_path)
        assert (done.exit_code, listing(tmp_path)) == (0, before), done.output
