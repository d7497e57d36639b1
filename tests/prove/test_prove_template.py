"""`--template`: an agent in a venv of its own, beside a simulator, and with no other network where that can be had."""

import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.prove.prover import command, prove
from tests.support.eventually import wait_until
from tests.support.scripted_server import Answer, endpoint

from holdfast.core.errors import InvalidInput
from holdfast.prove import Exit
from holdfast.prove.explore.api import explore
from holdfast.prove.targets import Choice, check
from holdfast.prove.targets.templates import enclosure
from holdfast.prove.targets.templates.folder import Template, find_template, template_names
from holdfast.venvs import NODE_FILES, STAMP, Venv, VenvFailed

pytestmark = pytest.mark.usefixtures("new_interpreters")

STRANGER = Path(__file__).with_name("stranger.py")
AGENT = """\
import json, os, runpy, sys, urllib.error, urllib.request

def reach(url):
    try:
        return urllib.request.urlopen(url, timeout=3).status
    except OSError as error:
        return str(error)

data = os.environ["DATA"]
print(json.dumps({{
    "model": reach(os.environ["OPENAI_BASE_URL"] + "/models"),
    "beside": reach("{beside}"),
    "theirs": os.environ.get("OF_THE_USER"),
    "wish": os.environ.get("WISH"),
    "inside": [os.environ[name].startswith(os.path.dirname(data)) for name in ("HOME", "TMPDIR", "WORKSPACE")],
    "venv": sys.prefix,
}}), flush=True)
sys.argv = ["stranger", os.environ["PORT"], data + "/said"]
runpy.run_path({stranger!r}, run_name="__main__")
"""
NO_NAMESPACES = "echo 0 > /proc/sys/user/max_net_namespaces && echo 0 > /proc/sys/user/max_user_namespaces && exec "


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OF_THE_USER", "anything")
    return tmp_path / "cache" / "holdfast" / "templates"


@pytest.fixture
def beside() -> Iterator[str]:
    """The address of a service on this machine's loopback, which is none of the template's business."""
    with endpoint(Answer(b"{}")) as server:
        yield server.origin


@pytest.fixture
def template(tmp_path: Path, beside: str) -> Path:
    """A template that needs no package and tells in its log what it finds."""
    return make_template(tmp_path / "mine", AGENT.format(beside=beside, stranger=str(STRANGER)))


def make_template(folder: Path, agent: str, requirements: str = "") -> Path:
    folder.mkdir()
    (folder / "agent.py").write_text(agent)
    (folder / "requirements.txt").write_text(requirements)
    return folder


def found(artifacts: Path, kind: str = "prove") -> dict[str, object]:
    """What the agent found around it at its first start."""
    line: dict[str, object] = json.loads((artifacts / kind / "latest" / "target-1.log").read_text().splitlines()[0])
    return line


def can_enclose() -> bool:
    words = [sys.executable, "-I", "-S", enclosure.__file__, "--check"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(
    not can_enclose(), reason="NOT RUN: a template without a network was not proven: there are no namespaces here"
)


@needs_namespaces
def test_a_template_is_killed_and_remembers_with_a_model_and_no_other_way_out(
    template: Path, tmp_path: Path, cache: Path
) -> None:
    more = ("--only", "name,restart,crash", "--env", "WISH=granted", "--json")
    proved = prove("--template", str(template), *more, artifacts=tmp_path)
    assert proved.exit_code == 0, proved.stdout + proved.stderr
    target = proved.summary["target"]
    assert (target["name"], target["template"], target["runtime"]) == ("template mine", "mine", "stranger 1")
    assert target["network"] == "loopback only"
    seen = found(tmp_path)
    assert (seen["model"], seen["theirs"], seen["wish"], seen["inside"]) == (200, None, "granted", [True] * 3)
    assert "refused" in str(seen["beside"])
    assert Path(str(seen["venv"])).parent == cache
    assert (tmp_path / "prove" / "latest" / "data" / "said").stat().st_size > 0
    assert "making its venv, once" in proved.stderr


def test_where_no_namespace_can_be_had_the_run_says_so(template: Path, tmp_path: Path) -> None:
    words = (sys.executable, "-m", "holdfast", "prove", "--artifacts", str(tmp_path), "--template", str(template))
    line = NO_NAMESPACES + ' "$@"'
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", line, "sh", *words, "--only", "name", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "unshare failed" in done.stderr:
        pytest.skip("NOT RUN: a template with a network was not proven: there are no namespaces here")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["target"]["network"] == "the machine's"
    assert "no network namespace can be had" in done.stderr
    assert found(tmp_path)["beside"] == 200


@needs_namespaces
@pytest.mark.skipif(os.getuid() != 0, reason="whoever is not root has run the tests above as such")
def test_whoever_is_not_root_can_enclose_too() -> None:
    python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    if python is None:
        pytest.skip("NOT RUN: whether others than root can enclose: they can run no Python here")
    done = subprocess.run(
        [python, "-I", "-S", "-", "--check"],
        input=Path(enclosure.__file__).read_bytes(),
        user=65534,
        group=65534,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_agent_that_ends_by_itself_is_a_fault_with_its_exit_code(tmp_path: Path) -> None:
    folder = make_template(tmp_path / "brief", "raise SystemExit('no model was named')")
    proved = prove("--template", str(folder), "--only", "name", "--json", artifacts=tmp_path)
    assert proved.exit_code == 2
    assert "it ended with exit code 1 before it was ready; its last words: no model was named" in proved.stdout


def test_a_template_is_explored(template: Path, tmp_path: Path) -> None:
    result = explore(template=str(template), histories=2, seed=1, artifacts=tmp_path, profile="continuity")
    assert result.summary["target"]["template"] == "mine"
    assert result.summary["target"]["runtime"] == "stranger 1"
    assert result.exit_code in {Exit.PROVEN, Exit.DISPROVEN}
    assert result.summary["explored"]["faults"] == []


def test_the_commands_of_its_evidence_answer_again_if_somebody_asks_for_it(
    template: Path, tmp_path: Path, cache: Path
) -> None:
    proved = prove("--template", str(template), "--only", "memory", "--json", artifacts=tmp_path)
    folder = Path(proved.summary["evidence"])
    refused = prove("--again", str(folder), artifacts=tmp_path)
    assert refused.exit_code == 2
    assert "the template was not started" in refused.stderr

    shutil.rmtree(cache)
    words = command("--again", str(folder), "memory", "--template", str(template), artifacts=tmp_path)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert running.stdout is not None
        said = list(itertools.takewhile(lambda line: not line.startswith("the target runs at"), running.stderr))
        assert any("making its venv" in line for line in said), "what takes minutes the first time is said"
        curl = next(line.partition(":")[2] for line in running.stdout if "curl " in line)
        answer = subprocess.run(shlex.split(curl), capture_output=True, text=True, check=True)
        assert "result" in json.loads(answer.stdout)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 0


def test_a_name_that_there_is_not_lists_those_that_there_are(tmp_path: Path) -> None:
    proved = prove("--template", "telepathy", artifacts=tmp_path)
    assert proved.exit_code == 2
    assert "there is no template 'telepathy'" in proved.stderr
    assert "langgraph" in proved.stderr
    assert set(template_names()) == {path.parent.name for path in Path("templates").glob("*/agent.py")}
    with pytest.raises(InvalidInput, match=r"there is no template '\./nowhere'"):
        find_template("./nowhere")
    for name in ("x" * 5_000, f"./{'x' * 5_000}"):
        with pytest.raises(InvalidInput, match=r"there is no template '(\./)?xxx"):
            find_template(name)


def test_of_a_folder_that_is_no_template_it_is_told_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "agent.py").touch()
    with pytest.raises(InvalidInput) as refused:
        find_template(str(tmp_path))
    assert (refused.value.hint or "").endswith("and there is no requirements.txt")


@pytest.mark.parametrize("more", [{"store": "sqlite:///x"}, {"url": "http://localhost:1"}, {"probe_command": "x"}])
def test_what_a_template_is_told_anyway_cannot_be_asked_for(more: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be used with --template|exclude each other"):
        check(Choice(template="langgraph", **more))  # type: ignore[arg-type]


def test_an_interrupted_installation_is_made_again_and_two_at_once_make_one(tmp_path: Path) -> None:
    venv = Template("mine", make_template(tmp_path / "mine", "")).venv
    venv.python.parent.mkdir(parents=True)
    venv.python.symlink_to(sys.executable)
    half = venv.place / "half"
    half.touch()
    told: list[str] = []
    both = [threading.Thread(target=venv.prepare, args=(told.append,)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert venv.is_ready() and not half.exists()
    assert sum("making its venv, once" in line for line in told) == 1
    (venv.place / STAMP).unlink()
    assert not venv.is_ready()


def test_other_pins_are_another_venv_and_what_npm_locks_counts(tmp_path: Path) -> None:
    folder = make_template(tmp_path / "mine", "")
    first = Template("mine", folder).venv
    (folder / "requirements.txt").write_text("# others\n")
    second = Template("mine", folder).venv
    (folder / "package.json").write_text("{}")
    assert Template("mine", folder).venv == second
    (folder / "package-lock.json").write_text("{}")
    third = Template("mine", folder).venv
    assert len({first.place, second.place, third.place}) == 3
    assert third.node == folder


def test_its_digest_is_another_when_it_runs_by_other_files_and_not_when_it_is_described_otherwise(
    tmp_path: Path,
) -> None:
    template = Template("described", tmp_path)
    (tmp_path / "agent.py").write_text("first")
    first = template.digest
    for name in ("README.md", "workflow.yml", "agent.pyc"):
        (tmp_path / name).write_text("anything")
        assert template.digest == first, name
    for name in ("settings.json", "agent.py", "docs/README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("second")
        assert template.digest != first, name
        first = template.digest


def test_what_cannot_be_installed_is_told_with_what_pip_said_and_leaves_no_venv(tmp_path: Path, cache: Path) -> None:
    folder = make_template(tmp_path / "mine", "", "holdfast-no-such-package==1 --hash=sha256:" + "0" * 64)
    environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    proved = prove("--template", str(folder), artifacts=tmp_path, environment=environment)
    assert proved.exit_code == 2
    assert "No matching distribution found for holdfast-no-such-package==1" in proved.stderr
    assert not Template("mine", folder).venv.is_ready()


SLOW_NPM = """\
#!/bin/sh
[ -e {done} ] && exit 0
echo $$ > {pid}.new && mv {pid}.new {pid}
exec sleep 600
"""


def test_whoever_comes_next_waits_for_what_a_killed_installation_has_left_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, done, npm = (tmp_path / name for name in ("pid", "done", "npm"))
    npm.write_text(SLOW_NPM.format(pid=pid, done=done))
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    folder = make_template(tmp_path / "mine", "")
    for name in NODE_FILES:
        (folder / name).write_text("{}")
    install = f"from holdfast.prove.targets.templates.folder import find_template; find_template({str(folder)!r})"
    with subprocess.Popen([sys.executable, "-c", f"{install}.install(print)"]) as killed:
        wait_until(pid.exists)
        killed.kill()
    told: list[str] = []
    venv = find_template(str(folder)).venv
    second = threading.Thread(target=venv.prepare, args=(told.append,))
    try:
        done.touch()
        second.start()
        wait_until(lambda: told)
        assert told == ["mine: another process is making its venv; waiting for it"]
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
        second.join()
    assert venv.is_ready()


@pytest.mark.skipif(shutil.which("npm") is None, reason="NOT RUN: packages of Node were not installed: no npm here")
def test_what_npm_locks_is_installed_beside_it_or_there_is_no_venv(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "requirements.txt").touch()
    named = {"name": "agent", "version": "1.0.0"}
    lock = named | {"lockfileVersion": 3, "packages": {"": named}}
    (packages / "package.json").write_text(json.dumps(named | {"dependencies": {"not-in-the-lock": "1.0.0"}}))
    (packages / "package-lock.json").write_text(json.dumps(lock))
    venv = Venv("mine", tmp_path / "venv", packages / "requirements.txt", packages)
    with pytest.raises(VenvFailed, match="npm ci"):
        venv.prepare(lambda _: None)
    assert not venv.is_ready()
    (packages / "package.json").write_text(json.dumps(named))
    venv.prepare(lambda _: None)
    assert venv.is_ready()
    assert (venv.place / "node" / "package-lock.json").exists()
