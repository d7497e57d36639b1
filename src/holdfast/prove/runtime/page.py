"""The page that describes every proof and every broken runtime (docs/proofs.md), made from the code that runs them."""

from collections.abc import Iterable

from holdfast.prove.broken.expected import KINDS
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.proofs import catalogue

HEAD = """\
# The proofs

<!-- written by scripts/proofs-page from the proofs themselves; do not edit -->

What `holdfast prove` does to a runtime, proof by proof, and the broken runtimes that show that each proof can fail.
How to run them is told in [the proof](prove.md), how to write one in [proving your own](prove-your-own.md).
"""
POWER = {
    "stop": "SIGTERM and a start, shared with all proofs that want it",
    "kill": "SIGKILL and a start, shared with all proofs that want it",
}
REQUIRES = {
    "workspace": "a workspace that can be seen",
    "peer": "a way to ask the second agent",
    "streaming": "an agent card that says that it streams",
}


def page() -> str:
    """The whole page as Markdown."""
    proofs = catalogue().values()
    return "".join(
        (
            HEAD,
            "\n| proof | claim | gate |\n|---|---|---|\n",
            *(f"| [{proof.name}](#{proof.name}) | {proof.claim} | {_tick(proof.gate)} |\n" for proof in proofs),
            "\nA release waits for those that are a gate.\n",
            *(_section(proof) for proof in proofs),
            "\n## Broken on purpose\n\n",
            "Each is honest but for one defect, and disproven by these proofs and no others.\n\n",
            "| `--target` | its defect | disproven by | not reached |\n|---|---|---|---|\n",
            *(
                f"| `broken:{kind}` | {expected.defect} | {_named(proofs, expected.disproven)} "
                f"| {_named(proofs, expected.not_reached)} |\n"
                for kind, expected in KINDS.items()
            ),
        )
    )


def _section(proof: Proof) -> str:
    rows = {
        "steps": _sentence(proof.steps.__doc__),
        "then": POWER[proof.power] if proof.power else "",
        "afterwards": _sentence(proof.after.__doc__) if proof.after else "",
        "holds when": _sentence(proof.check.__doc__),
        "needs": ", ".join(proof.needs),
        "wants of the target": ", ".join(REQUIRES[name] for name in sorted(proof.requires)),
        "disproves": ", ".join(f"`broken:{kind}`" for kind, found in KINDS.items() if proof.name in found.disproven),
    }
    lines = (f"- **{title}**: {text}\n" for title, text in rows.items() if text)
    return "".join((f"\n## {proof.name}\n\n{proof.claim[0].upper()}{proof.claim[1:]}.\n\n", *lines))


def _sentence(docstring: str | None) -> str:
    """A docstring as one line."""
    return " ".join((docstring or "").split())


def _tick(yes: bool) -> str:
    return "yes" if yes else ""


def _named(proofs: Iterable[Proof], names: frozenset[str]) -> str:
    return ", ".join(proof.name for proof in proofs if proof.name in names)
