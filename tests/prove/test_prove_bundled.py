"""The bundled runtime is proven, and never sees the user's own settings: the proof writes and kills."""

from pathlib import Path

import pytest
from tests.prove.prover import prove

from holdfast.prove.proofs import catalogue
from holdfast.prove.targets.bundled import bundled


def test_the_settings_of_the_user_do_not_reach_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", "postgresql://production/")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://costs.money/")
    launch = bundled(tmp_path, 4321, store=None)
    assert not {"HOLDFAST_STORE", "OPENAI_BASE_URL"} & set(launch.environment)
    assert "PATH" in launch.environment
    assert launch.folder == tmp_path
    assert launch.workspace == tmp_path / "workspace"
    assert launch.command[1:] == (
        *("-m", "holdfast", "serve", "--host", "127.0.0.1"),
        *("--port", "4321", "--data", str(tmp_path)),
    )


@pytest.mark.parametrize("wire", ["0.3", "1.0"])
def test_the_bundled_runtime_is_proven(wire: str, tmp_path: Path) -> None:
    proved = prove("--wire", wire, "--json", artifacts=tmp_path)
    assert proved.verdicts() == dict.fromkeys(catalogue(), "proven")
    assert proved.exit_code == 0


def test_the_bundled_runtime_is_proven_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    proved = prove("--store", postgres_url, "--json", artifacts=tmp_path)
    assert proved.verdicts() == dict.fromkeys(catalogue(), "proven")
    assert proved.exit_code == 0


def test_a_store_that_was_asked_for_is_passed_on(tmp_path: Path) -> None:
    assert bundled(tmp_path, 4321, "sqlite:///x.db").command[-2:] == ("--store", "sqlite:///x.db")
