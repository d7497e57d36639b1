"""The commands of docs/postgresql.md, all of them, in their order and as printed, with real servers and a gateway."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cluster import USER, cluster
from tests.support.snippets import ROOT, free_port

PAGE = ROOT / "docs" / "postgresql.md"
PROGRAMS = ("initdb", "pg_ctl", "pg_basebackup", "pg_rewind", "psql")
PORTS = ("5433", "5434", "5435", "9000")


def programs(folder: Path, binaries: Path) -> None:
    """PostgreSQL's programs, and what makes folders for it, run as a user that it accepts."""
    folder.mkdir()
    become = f"exec runuser -u {USER} --" if os.getuid() == 0 else "exec"
    for name in (*PROGRAMS, "mkdir"):
        program = binaries / name if name in PROGRAMS else shutil.which(name)
        (folder / name).write_text(f'#!/bin/sh\n{become} {program} "$@"\n')
        (folder / name).chmod(0o755)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("curl") is None, reason="NOT RUN: the commands of docs/postgresql.md need curl")
def test_every_command_works_as_printed(tmp_path: Path) -> None:
    script = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.S))
    for port in PORTS:
        script = script.replace(port, free_port())
    with cluster() as servers:
        programs(tmp_path / "bin", servers.binaries)
        path = f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "no_proxy": "*", "HOLDFAST_PORT": port_of_the_gateway(script)}
        log = tmp_path / "log"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", script],
                cwd=servers.place,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(timeout=150)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                for node in ("primary", "standby", "base"):
                    stop = [
                        str(tmp_path / "bin" / "pg_ctl"),
                        "-D",
                        str(servers.place / node),
                        "-m",
                        "immediate",
                        "stop",
                    ]
                    subprocess.run(stop, capture_output=True, check=False)
        said = log.read_text()
        assert code == 0, said
        at = 0
        for expected in re.findall(r"^# → (.*)$", script, re.M):
            at = said.find(expected, at)
            assert at >= 0, f"{expected!r} is not in what follows:\n{said}"


def port_of_the_gateway(script: str) -> str:
    found = re.search(r"localhost:(\d+)", script)
    assert found is not None
    return found[1]
