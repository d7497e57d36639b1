"""Large JSON is checked by another process: by the same rules, whatever becomes of it, and nobody waits meanwhile."""

import asyncio
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.core.test_strict_json import REFUSED

from holdfast.core import large_json
from holdfast.core.errors import Busy, InvalidJson, TooLarge
from holdfast.core.large_json import LargeJson

ELSEWHERE = """
import sys
from holdfast.core import large_json
from pathlib import Path
Path(sys.argv[1]).open("a").write("begun\\n")
with open(0, "rb", buffering=0) as asked, open(1, "wb", buffering=0) as answers:
    large_json.serve(asked, answers, float(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def checks() -> Iterator[LargeJson]:
    made = LargeJson()
    yield made
    made.close()


@pytest.mark.parametrize(("raw", "reason"), REFUSED, ids=[raw[:24].decode("latin-1") for raw, _ in REFUSED])
async def test_the_rules_are_the_same_elsewhere(checks: LargeJson, raw: bytes, reason: str) -> None:
    with pytest.raises(InvalidJson) as refusal:
        await checks.check(raw, "a")
    assert refusal.value.details["reason"] == reason


async def test_what_is_kept_is_counted(checks: LargeJson) -> None:
    assert await checks.check(b'{"a": [1, 2, {"b": "x"}], "c": null}', "a") == 7
    assert await checks.check(b'{"a": 1}\n\n{"b": [3]}\n', "a", batch=True) == 5
    for raw, number in ((b"7", 1), (b'"[,]"', 1), (b"[]", 1), (b"{}", 1), (b"[[], {}, [[1]], 2]", 7)):
        assert await checks.check(raw, "a") == number


@pytest.mark.parametrize(
    ("batch", "place"),
    [(b'[{"a":1}, {"b":1,"b":2}]', "item 2"), (b'{"a":1}\n\n{"b":1,"b":2}\n', "line 3")],
    ids=["array", "lines"],
)
async def test_a_refusal_says_where_in_a_batch(checks: LargeJson, batch: bytes, place: str) -> None:
    with pytest.raises(InvalidJson, match=f"^{place}: the key 'b' is there twice"):
        await checks.check(batch, "a", batch=True)


async def test_too_many_arrays_are_too_large(checks: LargeJson) -> None:
    with pytest.raises(TooLarge, match="500001 arrays and objects"):
        await checks.check(b"[" + b"[]," * 499_999 + b"[]]", "a")


def logged(path: Path, idle_seconds: float = 60.0) -> LargeJson:
    """Checks by a process that says each time that it begins."""
    return LargeJson((sys.executable, "-c", ELSEWHERE, str(path), str(idle_seconds)))


async def test_a_process_that_is_killed_is_replaced(tmp_path: Path) -> None:
    log = tmp_path / "log"
    checks = logged(log)
    try:
        assert await checks.check(b"[1]", "a") == 2
        assert checks._process is not None
        os.kill(checks._process.pid, signal.SIGKILL)
        assert await checks.check(b"[1]", "a") == 2
        assert log.read_text() == "begun\n" * 2
    finally:
        checks.close()


async def test_it_ends_when_it_has_nothing_to_do_and_comes_back(tmp_path: Path) -> None:
    log = tmp_path / "log"
    checks = logged(log, idle_seconds=0.01)
    try:
        assert await checks.check(b"[1]", "a") == 2
        assert checks._process is not None
        await asyncio.to_thread(checks._process.wait, 60)
        assert await checks.check(b"[1]", "a") == 2
    finally:
        checks.close()


LONG = b'["' + b"x" * large_json.LARGE + b'"]'
"""More than fits into a pipe."""
PATIENCE = 60


async def test_a_process_that_stands_still_is_replaced(tmp_path: Path) -> None:
    """Whoever comes then is served, and nobody waits for ever."""
    log = tmp_path / "log"
    checks = logged(log)
    checks.take_seconds = 0.3
    try:
        assert await checks.check(b"[1]", "a") == 2
        still = checks._process
        assert still is not None
        os.kill(still.pid, signal.SIGSTOP)
        async with asyncio.timeout(PATIENCE):
            found = await asyncio.gather(*(checks.check(LONG, owner) for owner in "ab"), checks.check(b"[1]", "c"))
        assert found == [2, 2, 2]
        assert (still.returncode, log.read_text()) == (-signal.SIGKILL, "begun\n" * 2)
    finally:
        checks.close()


async def test_a_text_that_a_process_took_and_never_answers_is_refused(tmp_path: Path) -> None:
    """It may be the text's fault, so it is checked neither again nor here; the next one has a process of its own."""
    log = tmp_path / "log"
    checks = logged(log)
    try:
        assert await checks.check(b"[1]", "a") == 2
        still = checks._process
        assert still is not None
        os.kill(still.pid, signal.SIGSTOP)
        checks.answer_seconds = 1.5  # another process would have begun and answered by then
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(Busy, match="could not be checked in time") as refusal:
                await checks.check(b"[1]", "a")
            checks.answer_seconds = 30.0
            assert await checks.check(b"[1, 2]", "b") == 3
        assert refusal.value.details["retry_after"] > 0
        assert (still.returncode, log.read_text()) == (-signal.SIGKILL, "begun\n" * 2)
    finally:
        checks.close()


async def test_where_every_process_stands_still_a_text_is_refused() -> None:
    stops = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    checks = LargeJson((sys.executable, "-c", stops), answer_seconds=0.3)
    try:
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(Busy, match="could not be checked in time"):
                await checks.check(LONG, "a")
        assert checks._process is None
    finally:
        checks.close()


async def test_beside_very_many_open_files_it_works_as_well(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4_096, hard), hard))
    log = tmp_path / "log"
    checks = logged(log)
    try:
        with ExitStack() as files:
            for _ in range(1_100):
                files.enter_context(Path(os.devnull).open())
            assert await checks.check(LONG, "a") == 2
        assert log.exists(), "it was checked here"
    finally:
        checks.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("command", [("/nowhere/python",), ("false",)], ids=["no program", "ends at once"])
async def test_without_a_process_it_is_checked_here(command: tuple[str, ...]) -> None:
    checks = LargeJson(command)
    assert await checks.check(b"[1]", "a") == 2
    with pytest.raises(InvalidJson):
        await checks.check(b"[1,]", "a")
    checks.close()


async def test_owners_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many texts one owner has, another's waits for one of them at most."""
    checks = LargeJson()
    order: list[bytes] = []
    begun, goes_on = threading.Event(), threading.Event()

    def slow(raw: bytes, batch: bool) -> int:
        begun.set()
        assert goes_on.wait(60)
        order.append(raw)
        return 1

    monkeypatch.setattr(checks, "_verdict", slow)
    many = [asyncio.create_task(checks.check(b"a%d" % n, "a")) for n in range(10)]
    await asyncio.to_thread(begun.wait, 60)
    other = asyncio.create_task(checks.check(b"b", "b"))
    await asyncio.sleep(0)
    goes_on.set()
    await asyncio.gather(*many, other)
    assert order.index(b"b") == 1


def test_values_have_a_limit() -> None:
    large_json.check_values(large_json.MAX_VALUES)
    with pytest.raises(TooLarge, match="250001 values"):
        large_json.check_values(large_json.MAX_VALUES + 1)
