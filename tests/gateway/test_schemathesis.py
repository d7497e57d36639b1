"""schemathesis over the OpenAPI document of a real gateway, all its checks: nothing that the document does not say.

No 5xx, no status, content type, header or shape that is not documented; what the document allows is taken, what it
does not is refused. On each engine half of the 10,000 cases: every boundary it can think of, drawn ones, and
sequences of requests that use each other's answers.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gateway.process import running
from tests.support.schemathesis_hooks import FOLDER

HERE = Path(__file__).parent
CASES = 5_000
DRAWN = 75
"""Cases that are drawn for each operation, where there are so many different ones."""


@pytest.mark.long(seconds=100)
def test_the_gateway_is_what_its_document_says(store_url: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with running(tmp_path / "data", "--store", store_url, "--auth", "none") as gateway:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis.toml")),
                *("run", f"{gateway.url}/openapi.json", "--url", gateway.url, "--no-color"),
                *("--phases", "coverage,fuzzing,stateful", "--max-examples", str(DRAWN)),
                *("--generation-database", "none"),
                *("--seed", "4", "--continue-on-failure", "--report", "json", "--report-json-path", str(report)),
            ],
            cwd=tmp_path,
            env={
                **os.environ,
                FOLDER: str(tmp_path / "backups"),
                "SCHEMATHESIS_HOOKS": str(HERE.parent / "support" / "schemathesis_hooks.py"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
        found = json.loads(report.read_text())
        assert (found["failures"], found["errors"], found["complete"]) == ([], [], True)
        assert found["operations"]["tested"] >= found["operations"]["total"] - 1
        assert found["test_cases"]["generated"] >= CASES
        code, err = gateway.stop()
        assert code == 0
        assert "Traceback" not in err
