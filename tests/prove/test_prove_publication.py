"""`--badge` and `--post`: what a run found, for a README and for a gateway; what cannot be given away is not green."""

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.holders import Wanted, bearer, make_tokens
from tests.gateway.process import running as running_gateway
from tests.prove.explore.explorer import explore
from tests.prove.live.live_prover import prove_live
from tests.prove.prover import prove
from tests.prove.store.putting import little, put
from tests.support.web import web_client

from holdfast.prove.publication import Publication
from holdfast.prove.report.badge import badge
from holdfast.prove.targets.process import free_port

SVG = "{http://www.w3.org/2000/svg}"


class Kept:
    """A gateway that asks for tokens, and one that may post."""

    def __init__(self, url: str, tokens: dict[str, str]) -> None:
        self.url = url
        self.tokens = tokens

    def runs(self) -> list[dict[str, Any]]:
        """The runs that it keeps, the last begun first."""
        with web_client(base_url=self.url, headers=bearer(self.tokens["see"])) as client:
            found: list[dict[str, Any]] = client.get("/api/proofs").json()["proofs"]
            return found


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    data = tmp_path_factory.mktemp("data")
    tokens = make_tokens(
        f"sqlite:///{data}/holdfast.db",
        {"ci": Wanted(["proofs"]), "see": Wanted(["read"]), "all": Wanted(["operator"])},
    )
    with running_gateway(data) as gateway:
        yield Kept(gateway.url, tokens)


def words(svg: bytes) -> str:
    """What a badge says; nothing in it may lead elsewhere."""
    root = ET.fromstring(svg)
    assert not [
        each
        for each in root.iter()
        if each.tag not in {f"{SVG}{name}" for name in ("svg", "title", "rect", "g", "text")}
    ]
    assert b"http" not in svg.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"url(" not in svg
    return " ".join(each.text or "" for each in root.iter(f"{SVG}text"))


def test_a_run_has_a_badge_and_is_posted(running: tuple[str, Path], kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "proven.svg"
    path.write_text("an older one")
    asked = ("--url", running[0], "--only", "name", "--badge", str(path), "--post", kept.url, "--json")
    proved = prove(*asked, artifacts=tmp_path, environment={"HOLDFAST_TOKEN": kept.tokens["ci"]})
    assert (proved.exit_code, proved.stderr.count("error")) == (0, 0), proved.stderr
    assert words(path.read_bytes()) == "holdfast proven 1/1"
    assert path.stat().st_mode & 0o777 == 0o644
    newest = kept.runs()[0]
    assert (newest["kind"], newest["verdict"], newest["seconds"]) == ("runtime", "proven", proved.summary["seconds"])
    assert kept.tokens["ci"] not in (tmp_path / "prove" / "latest" / "summary.json").read_text()


@pytest.mark.parametrize("token", ["see", "none"])
def test_a_run_that_is_not_taken_is_not_green(
    running: tuple[str, Path], kept: Kept, tmp_path: Path, token: str
) -> None:
    asked = ("--url", running[0], "--only", "name", "--post", kept.url, "--quiet")
    secret = kept.tokens.get(token, "")
    proved = prove(*asked, artifacts=tmp_path, environment={"HOLDFAST_TOKEN": secret})
    assert proved.exit_code == 2
    assert "PROVEN" in proved.stdout, "what was found is told all the same"
    assert "the run was not taken" in proved.stderr
    assert "HOLDFAST_TOKEN" in proved.stderr


def test_nobody_to_post_to_and_no_place_for_a_badge(running: tuple[str, Path], tmp_path: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    asked = ("--url", running[0], "--only", "name", "--badge", str(tmp_path / "no" / "b.svg"), "--post", nowhere)
    proved = prove(*asked, artifacts=tmp_path)
    assert proved.exit_code == 2
    assert "could not be posted" in proved.stderr
    assert "b.svg" in proved.stderr


def test_what_is_no_plain_file_is_never_replaced_by_a_badge(running: tuple[str, Path], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for name in ("pipe", "link"):
        proved = prove("--url", running[0], "--only", "name", "--badge", str(tmp_path / name), artifacts=tmp_path)
        assert (proved.exit_code, "is no plain file" in proved.stderr) == (2, True), proved.stderr
    assert not (tmp_path / "prove").exists(), "it is said before anything starts"
    late = Publication(pipe)
    assert not late.publish({}, tmp_path), "nor if it came there during the run"
    assert pipe.is_fifo()


@pytest.mark.parametrize("url", ["ftp://host", "host", "http://", "http://host:99999"])
def test_a_wrong_address_is_said_before_anything_starts(running: tuple[str, Path], tmp_path: Path, url: str) -> None:
    proved = prove("--url", running[0], "--only", "name", "--post", url, artifacts=tmp_path)
    assert proved.exit_code == 2
    assert not (tmp_path / "prove").exists()


def test_every_prover_has_them(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "b.svg"
    asked = ("--badge", str(path), "--post", kept.url)
    environment = {"HOLDFAST_TOKEN": kept.tokens["all"]}
    live = prove_live("--url", kept.url, *asked, artifacts=tmp_path, environment=environment)
    assert live.exit_code == 0, live.stderr
    proven = sum(each["verdict"] == "proven" for each in live.summary["proofs"])
    assert words(path.read_bytes()) == f"holdfast proven {proven}/{len(live.summary['proofs'])}"
    assert kept.runs()[0]["kind"] == "live"


def test_a_store_under_the_contract_has_a_badge_too(tmp_path: Path) -> None:
    path = tmp_path / "b.svg"
    done = put(
        "--adapter", little("OnlyAppends"), "--only", "retry,isolation", "--badge", str(path), artifacts=tmp_path
    )
    assert done.exit_code == 3
    assert words(path.read_bytes()) == "holdfast inconclusive 1/2"
    nowhere = f"http://127.0.0.1:{free_port()}"
    done = put("--adapter", little("OnlyAppends"), "--only", "isolation", "--post", nowhere, artifacts=tmp_path)
    assert done.exit_code == 2


def test_an_exploration_has_a_badge_too(tmp_path: Path) -> None:
    path = tmp_path / "b.svg"
    done = explore("--histories", "1", "--faults", "none", "--seed", "1", "--badge", str(path), artifacts=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert words(path.read_bytes()).startswith("holdfast proven ")


def test_a_badge_says_what_a_summary_says_and_no_more() -> None:
    hostile = {"verdict": "<script>alert(1)</script>", "proofs": [{"verdict": "proven"}, {"verdict": "disproven"}, 3]}
    assert words(badge(hostile)) == "holdfast <script>alert(1)</script> 1/2"
    assert words(badge({})) == "holdfast  0/0"
    assert (
        words(badge(json.loads('{"verdict":"disproven","clauses":[{"verdict":"not offered"}]}')))
        == "holdfast disproven 0/1"
    )


def test_nothing_is_asked_for_by_default(tmp_path: Path) -> None:
    assert Publication.of({}) == Publication()
    assert Publication().publish({}, tmp_path)
