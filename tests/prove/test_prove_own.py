"""Proofs of somebody else's: run like ours, needed like ours, and refused where they do not fit."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.prove.prover import prove, prove_as_process

from holdfast.core.errors import InvalidInput
from holdfast.prove import Exit, Proof, Verdict, prove_async
from holdfast.prove.runtime.own_proofs import with_own
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.runtime.proofs.name import PROOF as NAME
from holdfast.prove.view.listing import listing

GREETS = """
from holdfast.prove import Proof, disproven, proven

async def steps(stage):
    await stage.say("greet", stage.new_context(), "Hi, my name is " + stage.facts.name + ".")

def check(history, facts):
    said = history.turn("greet").reply.text
    if facts.name in said:
        return proven("it greets by name")
    return disproven("it does not greet by name", expected=facts.name, got=said)

PROOF = Proof("greets", "a greeting has the name in it", steps, check)
"""
KEEPS = """
from beside import ASK
from holdfast.prove import Proof, disproven, proven
from holdfast.prove.runtime.checks import recalls

async def tell(stage):
    context = stage.new_context()
    await stage.say("tell", context, "Hi, my name is " + stage.facts.name + ".")

async def ask(stage):
    context = stage.history.turn("tell").context_id
    await stage.say("ask", context, ASK)

def check(history, facts):
    return recalls(history.turn("ask"), facts.name) or proven("it does")

def broken(history, facts):
    return history.no_such_thing

async def nothing(stage):
    pass

PROOFS = [
    Proof("keeps", "it keeps a name over a kill", tell, check, needs=("name",), power="kill", after=ask),
    Proof("wrong", "a proof with a mistake in it", nothing, broken),
    Proof("after-wrong", "a proof that needs one with a mistake", nothing, check, needs=("wrong",)),
]
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two files with proofs, the second with something beside it that it imports."""
    (tmp_path / "beside.py").write_text('ASK = "What\'s my name?"\n')
    (tmp_path / "greets.py").write_text(GREETS)
    (tmp_path / "keeps.py").write_text(KEEPS)
    return tmp_path / "greets.py", tmp_path / "keeps.py"


def test_proofs_of_a_file_are_listed_and_run_like_ours(files: tuple[Path, Path], tmp_path: Path) -> None:
    arguments = [word for file in files for word in ("--proofs", str(file))]
    listed = [proof["name"] for proof in listing(files)["proofs"]]
    assert listed == [*catalogue(), "greets", "keeps", "wrong", "after-wrong"]
    only = ("--only", "keeps,greets,after-wrong")
    proved = prove("--target", "broken:none", "--json", *only, *arguments, artifacts=tmp_path)
    assert proved.exit_code == 1
    assert proved.verdicts() == {
        "name": "proven",
        "greets": "disproven",
        "keeps": "proven",
        "wrong": "inconclusive",
        "after-wrong": "not reached",
    }
    wrong = next(found for found in proved.summary["proofs"] if found["name"] == "wrong")
    assert wrong["fault"] is True
    assert "the proof itself is broken: AttributeError" in wrong["reason"]


async def test_a_proof_can_be_given_as_it_is(tmp_path: Path) -> None:
    own = Proof("again", "the same under another name", NAME.steps, NAME.check)
    result = await prove_async("again", target="broken:none", proofs=[own], artifacts=tmp_path)
    assert result.exit_code is Exit.PROVEN
    assert [outcome.proof.name for outcome in result.proofs] == ["again"]
    assert result.proofs[0].finding.verdict is Verdict.PROVEN


def test_an_installed_package_brings_its_proofs(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "their_agent-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-agent\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[holdfast.proofs]\ngreets = greets\nkeeps = keeps:PROOFS\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert list(with_own(catalogue())) == [*catalogue(), "greets", "keeps", "wrong", "after-wrong"]
    with pytest.raises(InvalidInput, match=r"has a proof named greets, and so has their-agent \(greets\)"):
        with_own(catalogue(), files)
    listed = prove_as_process("--list", artifacts=tmp_path, environment={"PYTHONPATH": str(tmp_path)})
    assert "after-wrong" in listed.stdout
    (about / "entry_points.txt").write_text("[holdfast.proofs]\nnone = no_such_module\n")
    with pytest.raises(InvalidInput, match="their-agent \\(no_such_module\\) cannot be loaded: ModuleNotFoundError"):
        with_own(catalogue())


def proof(name: str, *, needs: tuple[str, ...] = ("turn",), power: str | None = None) -> Proof:
    after = NAME.steps if power else None
    return Proof(name, "a claim", NAME.steps, NAME.check, needs=needs, power=power, after=after)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ([proof("crash")], "named crash, and so has holdfast"),
        ([proof("turn")], "named turn, and so has holdfast"),
        ([proof("mine"), proof("mine")], "named mine, and so has"),
        ([proof("My Proof")], "a proof named 'My Proof'"),
        ([proof("mine", needs=("turn", "yours"))], "needs yours, which is not there"),
        ([proof("mine", needs=("yours",)), proof("yours")], "needs yours, which is not there"),
        ([proof("mine", needs=("crash",))], "needs crash, which is known only after it has begun"),
        ([proof("mine", needs=("restart",), power="stop")], "known only after it has begun"),
        ([proof("mine", needs=("crash",), power="kill")], "known only after it has begun"),
        ([Proof("mine", "a claim", NAME.steps, NAME.check, power="kill")], "only one of `power` and `after`"),
        ([Proof("mine", "a claim", NAME.steps, NAME.check, after=NAME.steps)], "only one of `power` and `after`"),
        ([replace(proof("mine", power="kill"), after_kill=NAME.steps)], "`after_kill` without being stopped first"),
        ([replace(proof("mine"), alone=True)], "`alone`, `times` or `cut` without a `power`"),
        ([replace(proof("mine"), times=2)], "`alone`, `times` or `cut` without a `power`"),
        ([replace(proof("mine"), profile="telepathy")], "the profile 'telepathy', which is not there"),  # type: ignore[arg-type]
    ],
)
def test_proofs_that_do_not_fit_are_refused(own: list[Proof], said: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        with_own(catalogue(), own)
    assert said in refusal.value.message


def test_proofs_that_fit_come_after_ours_in_their_order() -> None:
    own = [
        proof("mine", needs=("name",)),
        proof("more", needs=("mine",), power="stop"),
        proof("most", needs=("restart", "more"), power="kill"),
    ]
    assert list(with_own(catalogue(), own)) == [*catalogue(), "mine", "more", "most"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no file"),
        ("x = 1", "there is no proof in"),
        ("PROOF = 'name'", "there is no proof in"),
        ("PROOFS = []", "there is no proof in"),
        ("PROOF = (", "cannot be loaded: SyntaxError"),
        ("import no_such_module", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_file_without_proofs_is_refused(text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidInput) as refusal:
        with_own(catalogue(), [path])
    assert said in refusal.value.message
