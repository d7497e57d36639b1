"""A target that is a container of an image, with the sender beside it."""

import asyncio
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.redact import redact, redact_file
from holdfast.prove.targets.containers.cleanup import Cleanup
from holdfast.prove.targets.containers.engine import ContainerEngine, EngineFailed, find_engine
from holdfast.prove.targets.containers.environment import PORT
from holdfast.prove.targets.containers.link import HOST, Link
from holdfast.prove.targets.containers.sender_image import sender_image
from holdfast.prove.targets.readiness import says_ready
from holdfast.prove.targets.target import TargetNotReady
from holdfast.prove.wire.client import CARD_PATHS, Wire
from holdfast.prove.wire.credentials import NO_CREDENTIALS, Credentials

GRACE_SECONDS = 10
NEVER = "0001-"
"""How the time begins at which a container ended that never ran."""
LOOK_EVERY_SECONDS = 0.05
DOWN = ("down", "--volumes", "--timeout", "0")
ENVIRONMENT = "environment.json"
COMPOSE_FILE = Path(__file__).with_name("compose.yml")
Tell = Callable[[str], None]


class ContainerTarget:
    """Starts, stops, kills and pauses a container; the first start makes the network, the volumes and the sender.

    When it is abandoned, what the image kept in /data is copied to `data` in the folder, and all that was made is
    removed. Should this process be killed before, all is removed nevertheless.
    """

    command_line = ""
    restartable = True
    restarted_by = ""
    pid = None
    peer_url = None
    probe_line = ""

    def __init__(
        self,
        image: str,
        folder: Path,
        start_seconds: float,
        *,
        environment: Mapping[str, str],
        credentials: Credentials = NO_CREDENTIALS,
        tell: Tell = lambda _: None,
    ) -> None:
        self.name = image
        self._folder = folder
        self._start_seconds = start_seconds
        self._environment = environment
        self._credentials = credentials
        self._tell = tell
        self._link = Link()
        self.url = f"http://{HOST}:{self._link.port}"
        self.workspace: Path | None = folder / "workspace"
        self._making = threading.Lock()
        self._abandoned = False
        self._project = ""
        self._engine: ContainerEngine | None = None
        self._settings: dict[str, str] = {}
        self._secret: Path | None = None
        self._cleanup: Cleanup | None = None
        self._runtime = ""
        self._sender = ""
        self._ended_before = NEVER
        self._logs: list[Path] = []

    @property
    def running(self) -> bool:
        """Whether the container runs."""
        return bool(self._runtime) and self._state("{{.State.Running}}") == "true"

    def logs(self) -> list[Path]:
        """One file for each start that has ended, oldest first."""
        return list(self._logs)

    async def start(self) -> None:
        """Start the container and wait until its agent card answers; NotReady says why it does not."""
        try:
            if not self._runtime:
                await asyncio.to_thread(self._prepare)
            ended = await asyncio.to_thread(self._state, "{{json .State.FinishedAt}}")
            self._ended_before = ended.strip('"')  # as JSON it is a time that every engine takes back
            await asyncio.to_thread(self._call, "start", self._runtime)
            if not self._link.opened:
                inside = (self._call_command(), "exec", "--interactive", self._sender)
                await self._link.open(inside, ("runtime", PORT))
        except EngineFailed as error:
            raise TargetNotReady(error.message, hint=error.hint) from error
        await self._become_ready()

    async def ended(self, within: float) -> bool:
        """Whether it has ended, or does so within so many seconds."""
        deadline = time.monotonic() + within
        while await asyncio.to_thread(lambda: self.running):
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        return True

    async def stop(self) -> str:
        """SIGTERM, and SIGKILL after a grace, which is then said in the answer."""
        await self._end("stop", "-t", str(GRACE_SECONDS), self._runtime)
        killed = self._state("{{.State.ExitCode}}") == "137"
        return f"still running {GRACE_SECONDS} s after SIGTERM, so it was killed" if killed else ""

    async def kill(self) -> None:
        """SIGKILL to all of it, at once."""
        await self._end("kill", "--signal", "KILL", self._runtime)

    def pause(self) -> None:
        """Hold all of it still."""
        self._call("pause", self._runtime)

    def resume(self) -> None:
        """Let it go on."""
        self._call("unpause", self._runtime)

    async def probe(self, context_id: str) -> dict[str, Any] | None:
        """There is no way to look into the store of an image."""
        return None

    def abandon(self) -> None:
        """Keep its log and its data, and remove the containers, the network and the volumes."""
        self._abandoned = True
        self._link.close()
        with self._making:
            self._remove()

    def _remove(self) -> None:
        if self._engine is None or self._cleanup is None or self._secret is None:
            return
        if self._runtime:
            with suppress(EngineFailed):
                self._call("kill", "--signal", "KILL", self._runtime)
            with suppress(EngineFailed):
                self._keep_log()
            shutil.rmtree(self._folder / "data", ignore_errors=True)
            with suppress(EngineFailed):
                self._call("cp", f"{self._runtime}:/data", str(self._folder / "data"))
        try:
            self._compose(*DOWN)
        except EngineFailed as error:
            self._tell(f"what was started could not be removed, which is tried again at the end: {error.message}")
        else:
            shutil.rmtree(self._secret, ignore_errors=True)
            self._cleanup.call_off()
            self._cleanup = None
        self._engine, self._runtime = None, ""

    def _prepare(self) -> None:
        """The sender, running, and the runtime, which has yet to be started; nothing once it was abandoned."""
        with self._making:
            self._remove()  # what a start left that came to nothing
        engine = find_engine()
        self._tell("preparing the sender of the envelopes; the first time takes a minute")
        sender = sender_image(engine)
        with self._making:  # whoever is told to stop meanwhile goes on, and this thread does, too
            if not self._abandoned:
                self._make(engine, sender)

    def _make(self, engine: ContainerEngine, sender: str) -> None:
        self._engine = engine
        self._project = f"holdfast-proof-{secrets.token_hex(4)}"
        workspace = self._folder / "workspace"
        workspace.mkdir(exist_ok=True)
        workspace.chmod(0o777)  # the runtime is another user
        # Compose asks for it each time, and it is no evidence.
        self._secret = secret = Path(tempfile.mkdtemp(prefix="holdfast-proof-"))
        self._settings = {
            "HOLDFAST_PROOF_IMAGE": self.name,
            "HOLDFAST_PROOF_SENDER": sender,
            "HOLDFAST_PROOF_WORKSPACE": str(workspace),
        }
        self._cleanup = Cleanup((*engine.compose, *self._place, *DOWN), self._settings, secret)
        told = {name: value.replace("$", "$$") for name, value in self._environment.items()}  # compose would expand it
        (secret / ENVIRONMENT).write_bytes(strict_json.dump({"services": {"runtime": {"environment": told}}}))
        self._tell(f"starting a container of {redact(self.name)}")
        self._compose("up", "--no-start", within=600.0)
        self._sender, self._runtime = (engine.container(self._project, name) for name in ("sender", "runtime"))
        self._call("start", self._sender)
        self._look_for_workspace(workspace)

    def _look_for_workspace(self, workspace: Path) -> None:
        """An engine on another machine shows the runtime another folder than ours: then none can be seen from here."""
        mark = workspace / f".{self._project}"
        mark.touch()
        try:
            self._call("exec", self._sender, "test", "-e", f"/workspace/{mark.name}")
        except EngineFailed:
            self.workspace = None
        finally:
            mark.unlink()

    async def _become_ready(self) -> None:
        deadline = time.monotonic() + self._start_seconds
        async with Wire(self.url, credentials=self._credentials) as wire:
            while time.monotonic() < deadline:
                if await says_ready(wire, CARD_PATHS):
                    return
                if not await asyncio.to_thread(lambda: self.running):
                    code = self._state("{{.State.ExitCode}}")
                    raise TargetNotReady(f"it ended with exit code {code} before it was ready{self._last_words()}")
                await asyncio.sleep(LOOK_EVERY_SECONDS)
        raise TargetNotReady(
            f"no 200 from {' or '.join(CARD_PATHS)} on port {PORT}, {self._start_seconds:g} s after the start"
            f"{self._last_words()}",
            hint="give it more time with --timeout; an image listens on port 8000 on all addresses",
        )

    async def _end(self, *words: str) -> None:
        try:
            if await asyncio.to_thread(lambda: self.running):
                await asyncio.to_thread(self._call, *words)
                await asyncio.to_thread(self._call, "wait", self._runtime)
            await asyncio.to_thread(self._keep_log)
        except EngineFailed as error:
            raise TargetNotReady(error.message, hint=error.hint) from error

    def _keep_log(self) -> None:
        """What it has printed since the newest start, in a file of its own."""
        # By when it ended before: what it prints first can be older than when it is said to have started.
        since = () if self._ended_before.startswith(NEVER) else ("--since", self._ended_before)
        path = self._folder / f"target-{len(self._logs) + 1}.log"
        path.write_text(self._call("logs", *since, self._runtime, with_stderr=True) + "\n")
        redact_file(path)
        self._logs.append(path)

    def _last_words(self) -> str:
        with suppress(EngineFailed):
            said = self._call("logs", "--tail", "2", self._runtime, with_stderr=True).split("\n")
            return f"; its last words: {redact('; '.join(filter(None, said)))}" if any(said) else "; its log is empty"
        return ""

    def _state(self, form: str) -> str:
        return self._call("inspect", "--format", form, self._runtime)

    def _call_command(self) -> str:
        assert self._engine is not None
        return self._engine.command

    def _call(self, *words: str, with_stderr: bool = False) -> str:
        assert self._engine is not None
        return self._engine.call(*words, with_stderr=with_stderr)

    @property
    def _place(self) -> tuple[str, ...]:
        assert self._secret is not None
        return ("--project-name", self._project, "--file", str(COMPOSE_FILE), "--file", str(self._secret / ENVIRONMENT))

    def _compose(self, *words: str, within: float = 120.0) -> str:
        assert self._engine is not None
        holding = () if self._cleanup is None else self._cleanup.held
        return self._engine.compose_call(*self._place, *words, settings=self._settings, within=within, holding=holding)
