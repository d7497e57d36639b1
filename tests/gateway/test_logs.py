"""The gateway's log: lines of JSON without secrets, which nothing waits for, read by cursor across rotations."""

import io
import json
import logging
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.gateway.process import PATIENCE, command, running
from tests.gateway.test_problems import check
from tests.support.disks import small_disk
from tests.support.eventually import wait_until
from tests.support.processes import environment
from tests.support.web import LOCAL, web_client

from holdfast.core.errors import InvalidInput
from holdfast.gateway.operations.logs import (
    LONGEST,
    Descriptor,
    Logs,
    LogWriter,
    PlainFormatter,
    line_of,
    shortened,
    writing,
)

SECRET = "s3cr3t-Zq9xW7vT5rP1"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger("holdfast.test")
    yield made
    made.handlers.clear()


def record(message: str, *args: Any, error: Exception | None = None, **fields: Any) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    made = logging.LogRecord("holdfast.test", logging.WARNING, __file__, 1, message, args, info)
    made.fields = fields
    return made


def raised(text: str) -> Exception:
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


def lines_in(folder: Path) -> list[dict[str, Any]]:
    files = sorted(path for path in folder.glob("gateway-*.log"))
    return [json.loads(line) for path in files for line in path.read_bytes().splitlines()]


def test_a_line_says_when_who_what_and_why() -> None:
    line = json.loads(line_of(record("%s failed", "it", error=raised("no luck"), status=500)))
    assert set(line) == {"time", "level", "logger", "message", "fields", "error"}
    assert line["time"].endswith("Z")
    assert (line["level"], line["logger"], line["message"]) == ("warning", "holdfast.test", "it failed")
    assert (line["fields"], line["error"]["type"], line["error"]["message"]) == (
        {"status": 500},
        "ValueError",
        "no luck",
    )
    assert "in raised" in line["error"]["trace"]
    assert set(json.loads(line_of(record("plain")))) == {"time", "level", "logger", "message"}


@pytest.mark.parametrize(
    "shown", [lambda given: line_of(given).decode(), PlainFormatter().format], ids=["file", "people"]
)
def test_no_secret_is_in_it(shown: Any) -> None:
    text = shown(
        record(
            "cannot reach postgresql://ada:%s@db, Authorization: Bearer %s",
            SECRET,
            SECRET,
            error=raised(f"password={SECRET}"),
            url=f"https://u:{SECRET}@h",
            token=SECRET,
        )
    )
    assert SECRET not in text
    assert "postgresql://ada:***@db" in text


def test_a_line_is_one_line_and_bounded_whatever_it_says() -> None:
    given = record("a\nb\r\x1b[31m" + "x" * 200_000 + "\ud800", error=raised("y" * 200_000), odd={1, 2}, bad="\ud800")
    line = line_of(given)
    assert line.count(b"\n") == 1
    assert len(line) < 4 * LONGEST
    assert json.loads(line)["message"].startswith("a\nb\r\x1b[31m")
    people = PlainFormatter().format(given)
    assert people.splitlines()[0].endswith("…")
    assert "\x1b" not in people.split("\n")[0]


def test_what_people_are_warned_of_never_drives_their_terminal() -> None:
    hostile = "\x1b[2J\x9b31m\u202eback\x07"
    people = PlainFormatter().format(record(hostile, error=raised(f"{hostile}\nlast line")))
    assert [char for char in people if not char.isprintable() and char != "\n"] == []
    assert people.endswith("\\x07\nlast line")


def test_a_secret_at_the_cut_is_not_half_shown() -> None:
    for before in range(LONGEST - 300, LONGEST + 3_000, 50):
        assert SECRET[:6] not in shortened("x" * before + f" postgresql://ada:{SECRET * 20}@db" + "y" * 10_000)


def test_the_file_has_what_is_ours_from_info_on_and_people_get_warnings(tmp_path: Path, logger: logging.Logger) -> None:
    said = io.StringIO()
    people = logging.StreamHandler(said)
    people.setLevel(logging.WARNING)
    logging.getLogger().addHandler(people)
    try:
        with writing(tmp_path / "logs", Logs()):
            logger.info("quiet")
            logger.warning("loud")
            logging.getLogger("somebody.else").info("not ours")
            logging.getLogger("somebody.else").warning("not ours, but loud")
    finally:
        logging.getLogger().removeHandler(people)
    assert [line["message"] for line in lines_in(tmp_path / "logs")] == ["quiet", "loud", "not ours, but loud"]
    assert said.getvalue().splitlines() == ["loud", "not ours, but loud"]


def test_what_was_said_before_a_look_is_in_the_file(tmp_path: Path, logger: logging.Logger) -> None:
    with writing(tmp_path, Logs()) as writer:
        for number in range(100):
            logger.info("%d", number)
            assert writer.settle(PATIENCE)
            assert lines_in(tmp_path)[-1]["message"] == str(number)


def test_lines_of_many_threads_all_arrive_in_each_ones_order(tmp_path: Path, logger: logging.Logger) -> None:
    def tell(name: int) -> None:
        for number in range(200):
            logger.info("%d", name, extra={"fields": {"number": number}})

    with writing(tmp_path, Logs(max_bytes=64 * 1024, keep=100)):
        threads = [threading.Thread(target=tell, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = lines_in(tmp_path)
    for name in range(8):
        assert [line["fields"]["number"] for line in found if line["message"] == str(name)] == list(range(200))
    assert len(list(tmp_path.glob("gateway-*.log"))) > 1


def test_a_log_that_cannot_be_written_stops_nobody_and_goes_on_when_it_can(
    tmp_path: Path, logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "logs"
    folder.write_text("a file where the folder should be")
    with writing(folder, Logs()) as writer:
        logger.info("lost")
        wait_until(lambda: writer.dropped == 2)  # the line itself, and the one that says so
        folder.unlink()
        logger.info("kept")
    assert [line["message"] for line in lines_in(folder)] == ["kept", "2 lines of the log could not be written"]
    assert len([each for each in caplog.messages if "goes on without" in each]) == 1


def test_too_many_lines_are_dropped_and_not_kept_in_memory(tmp_path: Path) -> None:
    """The thread that writes is held up by a pipe that nobody reads from."""
    import os

    fifo = tmp_path / "gateway-1700000000000.log"
    os.mkfifo(fifo)
    from holdfast.gateway.operations.log_files import LogFiles

    keeper = os.open(fifo, os.O_RDWR)
    writer = LogWriter(LogFiles(tmp_path, max_bytes=10**9, keep=2), most_waiting=100, end_seconds=0.01)
    try:
        for _ in range(1_000):
            writer.handle(record("x" * 10_000))
        assert 0 < writer.dropped < 1_000
        assert writer._queue.qsize() <= 100
        assert not writer.settle(0.01)
    finally:
        os.read(keeper, 1 << 20)
        writer.close()
        os.close(keeper)


@pytest.mark.parametrize("wrong", [{"max_bytes": 1000}, {"keep": 1}, {"keep": 10**6}])
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Logs(**wrong)


async def test_a_gateway_without_a_log_file_says_so(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/logs")
    assert (answer.status_code, check(answer)["code"]) == (404, "no_log")
    assert (await client.get("/api/logs?limit=0")).status_code == 400


def test_a_real_gateways_log_is_read_by_cursor_without_a_gap_or_a_double(tmp_path: Path) -> None:
    """Every request is a line; hundreds of them go through several files while somebody reads along."""
    options = ("--log-requests", "--log-size", "64KB", "--log-keep", "2")
    with running(tmp_path, *options) as gateway, client_of(gateway.url) as client:
        first = client.get("/api/logs").json()
        assert first["lines"][0]["message"] == "the gateway serves"
        assert first["lines"][0]["fields"]["address"] == gateway.url
        assert first["file"] == str(tmp_path / "logs" / "gateway.log")
        status = client.get("/api/status").json()
        assert (status["logFile"], status["address"], status["agents"]) == (first["file"], gateway.url, ["main"])
        assert 0 < first["size"] <= 64_000
        seen: list[int] = []
        cursor = first["cursor"]
        for number in range(600):
            client.get(f"/nothing/{number}", headers={"Authorization": f"Bearer {SECRET}"})
            if number % 50 == 49:
                cursor = read_on(client, cursor, seen)
        while len(seen) < 600:
            cursor = read_on(client, cursor, seen)
        assert seen == list(range(600))
        assert len(list((tmp_path / "logs").glob("gateway-*.log"))) == 2
        late = client.get("/api/logs", params={"cursor": first["cursor"], "limit": 1}).json()
        assert (late["truncated"], len(late["lines"])) == (True, 1)
        line = next(line for line in client.get("/api/logs").json()["lines"] if line["fields"]["status"] == 404)
        expected = {"method": "GET", "route": "none", "status": 404, "caller": "local", "client": "127.0.0.1"}
        assert expected.items() <= line["fields"].items()
        assert line["fields"]["ms"] >= 0
        assert line["fields"]["bytes"] > 0
        assert client.get("/api/logs", params={"cursor": "none"}).status_code == 400
        code, said = gateway.stop()
    assert (code, said) == (0, "")
    assert lines_in(tmp_path / "logs")[-1]["message"] == "the gateway stops"
    assert not any(SECRET in path.read_text() for path in (tmp_path / "logs").iterdir())


def read_on(client: httpx2.Client, cursor: str, seen: list[int]) -> str:
    page = client.get("/api/logs", params={"cursor": cursor, "limit": 40}).json()
    assert not page["truncated"]
    paths = [line["fields"]["path"] for line in page["lines"]]
    seen += [int(path.rsplit("/", 1)[1]) for path in paths if path.startswith("/nothing/")]
    return str(page["cursor"])


def client_of(url: str) -> httpx2.Client:
    return web_client(base_url=url)


def test_by_default_what_failed_has_a_line_and_what_went_well_has_none(tmp_path: Path) -> None:
    path = f"/nothing/https://u:{SECRET}@h/x"
    with running(tmp_path) as gateway, client_of(gateway.url) as client:
        assert client.post("/api/actions/s", json={"type": "note"}).status_code == 201
        assert client.get(path, params={"token": SECRET}).status_code == 404
        assert client.get("/api/sessions/none").status_code == 404
        lines = client.get("/api/logs").json()["lines"]
        for _ in range(200):
            client.get("/nothing/flood")
        gateway.stop()
    told = [line["fields"]["route"] for line in lines if line["logger"] == "holdfast.gateway.requests"]
    assert told == ["none", "/api/sessions/{session_id}"]
    assert [line["fields"].get("code") for line in lines[-2:]] == ["no_route", "not_found"]
    assert lines[-1]["message"] == "GET /api/sessions/{session_id} 404 not_found"
    assert SECRET not in (tmp_path / "logs" / "gateway.log").read_text()


def test_a_gateway_whose_log_has_no_room_serves_on(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with (
        small_disk(folder, 1) as disk,
        running(tmp_path, "--log-requests") as gateway,
        client_of(gateway.url) as client,
    ):
        before = client.get("/api/logs").json()
        assert before["lines"]
        (disk / "ballast").write_bytes(bytes(900 * 1024))
        ballast = (disk / "ballast").open("ab", buffering=0)
        with pytest.raises(OSError, match="No space"):
            while True:
                ballast.write(bytes(4096))
        ballast.close()
        number = 0
        while not dropped(client):
            number += 1
            assert client.post("/api/actions/s", json={"type": "note"}).json()["seq"] == number
        (disk / "ballast").unlink()
        client.get("/health")
        wait_until(lambda: "could not be written" in (folder / "gateway.log").read_text())
        page = client.get("/api/logs", params={"cursor": before["cursor"], "limit": 1_000}).json()
        assert page["lines"]
        assert all("unreadable" not in line for line in page["lines"])
        code, said = gateway.stop()
    assert code == 0
    assert said.count("goes on without") == 1


def dropped(client: httpx2.Client) -> float:
    text = client.get("/metrics").text
    return float(
        next(line for line in text.splitlines() if line.startswith("holdfast_log_lines_dropped_total")).split()[1]
    )


def test_the_log_goes_to_stdout_too_line_by_line(tmp_path: Path) -> None:
    process = started(tmp_path, "--log-stdout")
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert (first["message"], first["level"]) == ("the gateway serves", "info")
    assert httpx2.get(f"{first['fields']['address']}/nothing", **LOCAL).status_code == 404
    assert json.loads(process.stdout.readline())["message"] == "GET none 404 no_route"
    process.terminate()
    rest, _ = process.communicate(timeout=PATIENCE)
    assert json.loads(rest.splitlines()[-1])["message"] == "the gateway stops"
    assert [line["message"] for line in lines_in(tmp_path / "logs")][:1] == ["the gateway serves"]


def test_a_stdout_that_nobody_reads_holds_up_nothing(tmp_path: Path) -> None:
    """Far more than a pipe takes is logged; it is all in the files, and what stdout did not get is counted."""
    process = started(tmp_path, "--log-stdout", "--log-requests")
    assert process.stdout is not None
    address = json.loads(process.stdout.readline())["fields"]["address"]
    with web_client(base_url=address) as http:
        for _ in range(600):
            assert http.get("/health").status_code == 200
    process.terminate()
    assert process.wait(PATIENCE) == 0
    process.stdout.close()
    assert len([line for line in lines_in(tmp_path / "logs") if line["message"] == "GET /health 200"]) == 600


def test_stdout_that_is_closed_is_said_once_and_counted(tmp_path: Path) -> None:
    process = started(tmp_path, "--log-stdout", stderr=subprocess.PIPE)
    assert process.stdout is not None
    address = json.loads(process.stdout.readline())["fields"]["address"]
    process.stdout.close()
    with web_client(base_url=address) as http:
        http.get("/nothing")
        wait_until(lambda: "holdfast_log_lines_dropped_total 0.0" not in http.get("/metrics").text)
        http.get("/nothing")
    process.terminate()
    process.stdout = None
    _, said = process.communicate(timeout=PATIENCE)
    assert said.count("goes on without") == 1
    assert process.returncode == 0


def test_a_stdout_that_does_not_block_gets_every_line() -> None:
    """Whoever shares it may have made it so: what it does not take at once is not lost."""
    lines = b"a line of the log\n" * 10_000
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)

    def write() -> None:
        try:
            Descriptor(theirs).append(lines)
        finally:
            os.close(theirs)

    thread = threading.Thread(target=write)
    thread.start()
    with os.fdopen(ours, "rb") as reader:
        assert reader.read() == lines
    thread.join(PATIENCE)


def test_stdout_cannot_have_the_log_and_the_announcement(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from holdfast.cli import main

    done = CliRunner().invoke(
        main, ["serve", "--data", str(tmp_path / "data"), "--port", "0", "--json", "--log-stdout"]
    )
    assert (done.exit_code, "--log-stdout" in done.output) == (2, True)
    assert not (tmp_path / "data").exists()


def started(data: Path, *options: str, stderr: int | None = None) -> "subprocess.Popen[str]":
    """A gateway process that says on stdout what it is told to, and nothing else."""
    words = command("--port", "0", "--data", str(data), *options)
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=stderr or subprocess.DEVNULL, text=True, env=environment()
    )
