"""A target that is a template: its agent in its own venv, with the model simulator beside it and no other network.

The simulator outlives every kill and restart of the agent, as a model does.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.prove.targets.containers.environment import model_environment
from holdfast.prove.targets.process import HOST, Launch, ProcessTarget, free_port
from holdfast.prove.targets.templates import enclosure
from holdfast.prove.targets.templates.folder import Template, package_path
from holdfast.prove.wire.client import CARD_PATHS, TransportFault, Wire
from holdfast.prove.wire.credentials import NO_CREDENTIALS, Credentials

SCRIPT = (sys.executable, "-I", "-S", enclosure.__file__)
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
ENCLOSED, OPEN = "loopback only", "the machine's"
SIMULATOR_SECONDS = 30.0
CARD_SECONDS = 5.0


class TemplateTarget(ProcessTarget):
    """Starts, stops and kills the agent of a template; its data and its workspace are in the folder.

    `about` says which template and which version of the runtime it was, and whether there was a way out.
    """

    def __init__(
        self,
        template: Template,
        folder: Path,
        start_seconds: float,
        *,
        port: int | None = None,
        environment: Mapping[str, str],
        credentials: Credentials = NO_CREDENTIALS,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        port, model_port = port or free_port(), free_port()
        command = (str(template.venv.python), str(template.agent))
        self._enclosed = (*SCRIPT, str(port), str(model_port), *command)
        self._tell = tell
        self.about = {"template": template.name, "digest": template.digest}
        launch = Launch(
            name=f"template {template.name}",
            command=command,
            port=port,
            ready_paths=CARD_PATHS,
            workspace=folder / "data" / "workspace",
            environment=_environment(template, folder, port, f"http://{HOST}:{model_port}", environment),
            folder=folder / "data",
        )
        super().__init__(launch, folder, start_seconds, credentials=credentials)
        simulator = (sys.executable, "-P", "-m", "holdfast", "sim", "--host", HOST, "--port", str(model_port))
        self._simulator = ProcessTarget(
            Launch("simulator", simulator, model_port, ("/health",), None), folder / "simulator", SIMULATOR_SECONDS
        )

    async def start(self) -> None:
        """Start the agent, before its first start the simulator too, and wait until it is ready."""
        if not self._simulator.running:
            await self._surround()
        await super().start()
        if "runtime" not in self.about:
            await self._read_card()

    def abandon(self) -> None:
        """End the agent and the simulator."""
        super().abandon()
        self._simulator.abandon()

    async def _surround(self) -> None:
        """The simulator, running, and whether the network can be taken away."""
        (self._log_folder / "simulator").mkdir(exist_ok=True)
        for folder in ("data/workspace", "tmp"):
            (self._log_folder / folder).mkdir(parents=True, exist_ok=True)
        await self._simulator.start()
        checked = await asyncio.to_thread(
            subprocess.run, [*SCRIPT, "--check"], capture_output=True, text=True, check=False
        )
        self.about["network"] = OPEN if checked.returncode else ENCLOSED
        if checked.returncode:
            self._tell(f"{checked.stderr.strip()}: the runtime could reach what this machine can reach")
        else:
            self._launch = replace(self._launch, command=self._enclosed)

    async def _read_card(self) -> None:
        """What the runtime calls itself, and its version."""
        async with Wire(self.url, credentials=self._credentials) as wire:
            for path in CARD_PATHS:
                with suppress(TransportFault, InvalidJson):
                    answer = await wire.get(path, within=CARD_SECONDS)
                    card = strict_json.parse(answer.body) if answer.status == 200 else None
                    if isinstance(card, dict):
                        self.about["runtime"] = f"{card.get('name', '')} {card.get('version', '')}".strip()
                        return


def _environment(
    template: Template, folder: Path, port: int, model_url: str, more: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of the agent; nothing of the user's own reaches it."""
    data, programs = folder / "data", template.venv.place / "bin"
    return {
        "PATH": os.pathsep.join((str(programs), *SYSTEM_PATH)),
        "PYTHONPATH": str(package_path()),
        "LANG": "C.UTF-8",
        "HOME": str(data),
        "TMPDIR": str(folder / "tmp"),
        "HOST": HOST,
        "PORT": str(port),
        "DATA": str(data),
        "WORKSPACE": str(data / "workspace"),
        **model_environment(model_url),
        **more,
    }
