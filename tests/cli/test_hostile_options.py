"""Whatever a command is given, it ends as documented: 0, 1 or 2, with a message and a hint, never with a traceback."""

import itertools
import os
import random
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from tests.cli.command import answer, argv, fill
from tests.cli.hostile import Verb, files, values, verbs
from tests.support.processes import PATIENCE, environment, holdfast

from holdfast.cli import main

SERVERS = {
    ("serve",),
    ("sim",),
    ("prove",),
    ("prove", "store"),
    ("prove", "explore"),
    ("prove", "live"),
    ("prove", "service"),
}
"""Run as processes: what they are given may be good enough to begin with."""
REST: dict[tuple[str, ...], list[str]] = {
    ("sessions", "show"): ["one"],
    ("sessions", "tail"): ["--no-follow"],
    ("sessions", "search"): ["table"],
    ("sessions", "fork"): ["one"],
    ("sessions", "tag"): ["one", "kept"],
    ("sessions", "hold"): ["one"],
    ("sessions", "reset"): ["one"],
    ("sessions", "rm"): ["--yes", "--dry-run"],
    ("sessions", "purge"): ["--yes", "--dry-run"],
    ("sessions", "export"): ["-o", "{new}"],
    ("sessions", "import"): ["{archive}"],
    ("guard",): ["--once", "--folder", "{new}"],
    ("db", "backup"): ["{new}"],
    ("db", "restore"): ["{backup}", "--data", "{new}"],
    ("token", "create"): ["name", "--scope", "read"],
    ("token", "revoke"): ["name"],
    ("completion",): ["bash"],
}
"""What else a command needs."""
BOUNDS: dict[tuple[str, ...], dict[str, str]] = {
    ("serve",): {"--port": "0"},
    ("sim",): {"--port": "0"},
    ("prove", "explore"): {"--histories": "1", "--faults": "none"},
    ("prove", "service"): {"--checkout": "nowhere"},
}
"""What keeps a server out of the others' way, or has it end soon, where the value is good enough to begin with."""
BEGUN = "Ctrl-C stops it"
FEW = 3
"""Values of each option of which the rest are in the long test."""
PART = 3


def assert_documented(ended: Result | subprocess.CompletedProcess[str], words: list[str]) -> None:
    code = ended.exit_code if isinstance(ended, Result) else ended.returncode
    assert code in {0, 1, 2}, (words, code, ended.stderr)
    assert "Traceback" not in ended.stdout + ended.stderr, (words, ended.stderr)
    if code == 2:
        assert "rror: " in ended.stderr, (words, ended.stderr)
        assert "hint: " in ended.stderr or "Try '" in ended.stderr or "--help" in ended.stderr, (words, ended.stderr)


def call(words: list[str]) -> None:
    clean = {name: None for name in os.environ if name.startswith(("HOLDFAST_", "OPENAI_"))}
    ended = CliRunner().invoke(main, words, env=clean)
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise AssertionError(words) from ended.exception
    assert_documented(ended, words)


class Ground:
    """A store with an archive and a backup of it, and hostile files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.archive, self.backup = folder / "good.holdfast", folder / "good.backup"
        fill(self.data)
        answer("sessions", "export", "-o", str(self.archive), data=self.data)
        answer("db", "backup", str(self.backup), data=self.data)
        self.archives = files(folder / "archives", self.archive)
        self.backups = files(folder / "backups", self.backup)
        self._numbers = itertools.count()

    def new(self) -> str:
        return str(self.folder / f"new-{next(self._numbers)}")

    def words(self, verb: Verb, parameter: click.Parameter, value: str) -> list[str]:
        """The command with this value in one place, and what it needs in the others."""
        rest = [
            each.format(new=self.new(), archive=self.archive, backup=self.backup) for each in REST.get(verb.words, [])
        ]
        if isinstance(parameter, click.Argument):
            given = [each for each in rest if each.startswith("--") or rest[rest.index(each) - 1 :][:1] == ["--data"]]
            words = [*verb.words, *given, "--", value]
            if verb.words == ("sessions", "tag") and parameter.name == "session_id":
                words.append("kept")
        else:
            name = max(parameter.opts, key=len)
            bounds = {option: bound for option, bound in BOUNDS.get(verb.words, {}).items() if option != name}
            words = [*verb.words, *itertools.chain(*bounds.items()), name, value, *rest]
        names = {name for each in verb.command.params for name in each.opts}
        if "--data" in names and "--data" not in words:
            words[len(verb.words) : len(verb.words)] = ["--data", str(self.data)]
        return words

    def calls(self, verb: Verb) -> Iterator[list[str]]:
        paths = self.backups if verb.words == ("db", "restore") else self.archives
        for parameter in verb.command.params:
            for value in values(parameter, paths):
                yield self.words(verb, parameter, value)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(tmp_path_factory.mktemp("ground"))


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes into the folder that he is in does so here."""
    monkeypatch.chdir(tmp_path)


COMMANDS = [verb for verb in verbs() if verb.words not in SERVERS]


def own(parameter: click.Parameter) -> bool:
    """Whether a parameter is the command's own; those that say where are the same everywhere."""
    return parameter.name not in {"data", "store", "url", "tenant"}


@pytest.mark.parametrize("verb", COMMANDS, ids=lambda verb: " ".join(verb.words))
def test_no_value_of_a_command_ends_in_a_traceback(ground: Ground, verb: Verb) -> None:
    for parameter in filter(own, verb.command.params):
        paths = ground.backups if verb.words == ("db", "restore") else ground.archives
        tried = values(parameter, paths)
        for value in tried if isinstance(parameter.type, click.Path) else tried[:FEW]:
            call(ground.words(verb, parameter, value))


@pytest.mark.parametrize("words", [("sessions", "ls"), ("db", "migrate")], ids=" ".join)
def test_no_value_of_where_ends_in_a_traceback(ground: Ground, words: tuple[str, ...]) -> None:
    """One that reads and one that writes stand for all."""
    (verb,) = (each for each in COMMANDS if each.words == words)
    for parameter in itertools.filterfalse(own, verb.command.params):
        for value in values(parameter, ground.archives):
            call(ground.words(verb, parameter, value))


def test_a_damaged_backup_is_refused_and_nothing_is_left(ground: Ground) -> None:
    for number, path in enumerate(ground.backups):
        target = ground.folder / f"restored-{number}"
        ended = CliRunner().invoke(main, ["db", "restore", str(path), "--data", str(target)])
        assert ended.exit_code == 2, (path, ended.output)
        assert not target.exists(), (path, list(target.iterdir()))


def process(words: list[str]) -> AssertionError | None:
    """What is wrong with how the command ends, as a process; one that begins to serve is ended."""
    try:
        assert_ends(words)
    except AssertionError as wrong:
        return wrong
    return None


def assert_ends(words: list[str]) -> None:
    with holdfast(*words) as process:
        stopping = threading.Timer(20, process.kill)
        stopping.start()
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if BEGUN in line:
                process.terminate()
        out, _ = process.communicate(PATIENCE)
        stopping.cancel()
        code, err = process.wait(), "".join(said)
    assert "Traceback" not in err, (words, err)
    if code != -signal.SIGKILL and words[0] != "prove":  # whose verdicts are exit codes of their own
        assert_documented(subprocess.CompletedProcess(words, code, out, err), words)


def test_a_few_as_processes(ground: Ground, tmp_path: Path) -> None:
    new = str(tmp_path / "new")
    for words in (
        ["serve", "--data", str(ground.archive)],
        ["serve", "--data", new, "--token-file", str(ground.archive)],
        ["sim", "--script", str(ground.archives[2])],
        ["sim", "--host", "nowhere.invalid"],
        ["sim", "--fault", "nonsense"],
        ["prove", "store", "--adapter", str(ground.archives[2])],
    ):
        assert_ends(words)


@pytest.mark.parametrize("words", [["sessions", "ls"], ["db", "status"], ["sessions", "ls", "--json"], ["--help"]])
def test_a_closed_stdout_is_no_traceback(ground: Ground, words: list[str]) -> None:
    where = [] if words == ["--help"] else ["--data", str(ground.data)]
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *argv(*words, *where)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(),
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    full = subprocess.run(
        ["sh", "-c", 'exec "$@" >/dev/full', "sh", *argv(*words, *where)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(),
    )
    assert (full.returncode, "Traceback" in full.stderr, "rror: " in full.stderr) == (2, False, True), full.stderr


@pytest.mark.long
@pytest.mark.parametrize("verb", COMMANDS, ids=lambda verb: " ".join(verb.words))
def test_no_value_of_where_ends_in_a_traceback_in_any_command(ground: Ground, verb: Verb) -> None:
    for words in ground.calls(verb):
        call(words)


@pytest.mark.long(seconds=40)
def test_no_value_of_a_server_ends_in_a_traceback(ground: Ground, tmp_path: Path) -> None:
    """A random part of all there is, as processes."""
    chosen = [
        [*words, *(("--data", str(tmp_path / f"data-{number}")) if verb.words == ("serve",) else ())]
        for verb in verbs()
        if verb.words in SERVERS
        for number, words in enumerate(ground.calls(verb))
    ]
    with ThreadPoolExecutor(4) as pool:
        wrong = [*filter(None, pool.map(process, random.sample(chosen, len(chosen) // PART)))]
    assert wrong == []


@pytest.mark.long
def test_a_backup_damaged_anywhere_is_refused_or_whole(ground: Ground) -> None:
    whole = ground.backup.read_bytes()
    spoiled = ground.folder / "spoiled-anywhere"
    for number in range(200):
        place, length = random.randrange(len(whole)), random.choice([1, 8, 100, 4096])
        spoiled.write_bytes(whole[:place] + os.urandom(length) + whole[place + length :])
        target = ground.folder / f"anywhere-{number}"
        words = ["db", "restore", str(spoiled), "--data", str(target)]
        call(words)
