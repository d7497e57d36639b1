"""The parts of the proof of a whole service: options, plans of kills, what the session must tell, and the browser."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.chromium import find

from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput
from holdfast.prove.evidence import Evidence
from holdfast.prove.live.api import GatewayApi
from holdfast.prove.live.claims import ClaimBroken
from holdfast.prove.service import browser
from holdfast.prove.service.broken.expected import KINDS
from holdfast.prove.service.broken.gateways import GATEWAYS
from holdfast.prove.service.broken.programs import PROGRAMS as BROKEN_PROGRAMS
from holdfast.prove.service.options import ServiceOptions
from holdfast.prove.service.programs import PROGRAMS
from holdfast.prove.service.programs.customer_comm import CUSTOMER_COMM
from holdfast.prove.service.records import SessionRecord
from holdfast.prove.service.run import perform
from holdfast.prove.service.stage import ServiceStage
from holdfast.prove.service.steps import STEPS
from holdfast.prove.service.steps.actions import check_told
from holdfast.prove.service.surroundings import GATEWAY
from holdfast.prove.service.surroundings.processes import ServiceProcesses
from holdfast.prove.wire.credentials import NO_CREDENTIALS

CHECKOUT = Path(__file__).parents[3]


def options(**given: Any) -> ServiceOptions:
    return ServiceOptions.of((), {"checkout": CHECKOUT} | given, arguments={})


Stages = Callable[..., ServiceStage]


@pytest.fixture
def stage_of(tmp_path: Path) -> Iterator[Stages]:
    """Makes the stage of a run that has not begun."""
    opened: list[Evidence] = []

    def make(chosen: ServiceOptions, seed: int = 1) -> ServiceStage:
        folder = tmp_path / f"run-{len(opened)}"
        folder.mkdir()
        evidence = Evidence(folder, time.monotonic)
        opened.append(evidence)
        sessions = {program.name: f"{program.session}-1" for program in PROGRAMS}
        around = ServiceProcesses(folder, chosen.checkout, sessions, 1.0, None)
        api = GatewayApi(around.url, evidence, credentials=NO_CREDENTIALS, tenant=None, within=1.0)
        return ServiceStage(chosen, evidence, around, api, PROGRAMS, sessions, seed, lambda text: None)

    yield make
    for evidence in opened:
        evidence.close()


def test_there_are_twelve_steps_and_every_kind_of_defect_names_one() -> None:
    names = [step.name for step in STEPS]
    assert len(set(names)) == 12
    assert {kind.step for kind in KINDS.values()} <= set(names)
    assert {*GATEWAYS, *BROKEN_PROGRAMS} == set(KINDS)


def test_wrong_options_are_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no programs"):
        options(checkout=tmp_path)
    with pytest.raises(InvalidInput, match="no target"):
        options(target="broken:nothing")
    with pytest.raises(InvalidInput, match="no program 'nobody'"):
        ServiceOptions.of(("nobody",), {"checkout": CHECKOUT}, arguments={})
    with pytest.raises(InvalidInput, match="as a process"):
        options(target="broken:books-twice", compose=True)


def test_the_same_seed_kills_the_same_and_the_default_kills_everybody_once(stage_of: Stages) -> None:
    once = stage_of(options()).plan()
    assert [sorted(kill.victim for kill in wave) for wave in once] == [
        sorted(program.name for program in PROGRAMS),
        [GATEWAY],
    ]
    plans = [stage_of(options(kills="random"), seed).plan() for seed in (7, 7, 8)]
    assert plans[0] == plans[1] != plans[2]
    assert stage_of(options(kills="none")).plan() == []


async def test_a_part_that_cannot_be_had_ends_the_run_and_nothing_is_green(stage_of: Stages, tmp_path: Path) -> None:
    class NothingHere(ServiceProcesses):
        async def find_engine(self) -> str:
            raise HoldfastError("there is no engine")

    stage = stage_of(options())
    stage.around = NothingHere(tmp_path, CHECKOUT, stage.sessions, 1.0, None)
    result = await perform(stage)
    assert [outcome.finding.verdict for outcome in result.outcomes][1:] == ["not reached"] * 11
    assert (result.exit_code, result.outcomes[0].finding.reason) == (2, "there is no engine")


def told(**more: Any) -> SessionRecord:
    """What the session of a program has after one booking; without those of a kind that is given as None."""
    actions = {
        "team_spawn": [{"type": "team_spawn", "details": {}}],
        "tool_started": [{"type": "tool_started", "details": {"idempotencyKey": "k"}}],
        "tool_finished": [{"type": "tool_finished", "details": {"idempotencyKey": "k"}}],
        "response": [{"type": "holdfast.response", "details": {}}],
    } | more
    responses = actions.pop("response")
    return SessionRecord({}, {}, [action for each in actions.values() for action in each], responses)


@pytest.mark.parametrize(
    ("changed", "trouble"),
    [
        ({"team_spawn": []}, "did not tell team_spawn once"),
        ({"tool_finished": []}, "the effect k was not begun and ended once"),
        ({"tool_started": [], "tool_finished": []}, "did not tell of all its effects"),
        ({"tool_started": [{"type": "tool_started", "details": {"idempotencyKey": "k"}}] * 2}, "the effect k"),
        ({"response": []}, "not one response for each answer"),
    ],
)
def test_what_the_session_does_not_tell_is_named(stage_of: Stages, changed: dict[str, Any], trouble: str) -> None:
    stage = stage_of(options())
    stage.cases[CUSTOMER_COMM.name] = [CUSTOMER_COMM.draw(stage.chance, 0)]
    check_told(stage, CUSTOMER_COMM, told())
    with pytest.raises(ClaimBroken, match=trouble):
        check_told(stage, CUSTOMER_COMM, told(**changed))


@pytest.mark.e2e
async def test_the_browser_opens_a_page_asks_it_and_takes_its_picture(tmp_path: Path) -> None:
    program = find()
    if program is None:
        pytest.skip("NOT RUN: there is no Chromium here (scripts/chromium-here)")
    (tmp_path / "page.html").write_text("<title>A page</title><p data-session='s1'>seen</p>")
    async with browser.browser_page(program) as page:
        await page.before_each_page("window.early = 7")
        await page.open((tmp_path / "page.html").as_uri())
        async with asyncio.timeout(30):
            while await page.value("document.title") != "A page":
                await asyncio.sleep(0.05)
        assert await page.value("early") == 7
        assert await page.value("document.querySelector('[data-session]').dataset.session") == "s1"
        assert (await page.picture()).startswith(b"\x89PNG")
        with pytest.raises(browser.BrowserFault, match="cannot be opened"):
            await page.open("http://127.0.0.1:9/")
