"""One layer of a target: what was expected of it, what came, and the smallest command that shows it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from holdfast.prove.runtime.layers.trouble import Restart
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.targets.target import Target
from holdfast.prove.wire.client import CARD_PATHS, Wire
from holdfast.prove.wire.envelopes import FileSent, OutgoingMessage, send


@dataclass(frozen=True, slots=True)
class Layer:
    """What was found of one layer; `unknown` is what could not be looked at."""

    name: str
    state: Literal["ok", "broken", "unknown"]
    expected: str
    got: str
    curl: str = ""


@dataclass(frozen=True, slots=True)
class LayerState:
    """What a look at a layer saw."""

    fine: bool | None
    got: str
    curl: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """What the looks share: the target, and the hands to try it with; `usual` is how long its answers take.

    `power` is how it is restarted, where a look wants that.
    """

    stage: Stage
    target: Target
    wire: Wire
    context_id: str
    usual: float = 0.0
    power: Restart = "stop"

    @property
    def within(self) -> float:
        """How long an answer may take here: less than in a proof, but not less than it usually does."""
        return min(self.stage.bounds.answer, self.stage.bounds.look + 2 * self.usual)

    def card(self) -> str:
        """The command that asks for the agent card."""
        return self.wire.curl_to(CARD_PATHS[0], "-sSi")

    def probe(self) -> str:
        """The command that shows the store."""
        return self.target.probe_line.replace("{context}", self.context_id)

    def saying(self, text: str, *files: FileSent) -> str:
        """The command that says something to the target in a context of its own."""
        message = OutgoingMessage(self.stage.new_message_id(), self.stage.new_context(), text, files)
        return self.wire.curl(send(self.wire.version, message, wait=True))


@dataclass(frozen=True, slots=True)
class LayerLook:
    """How a layer is looked at: not at all unless those that it `needs` are in order.

    `show` is the command that shows the layer where no answer came. It is never called in order where one of the proofs
    is disproven that it `denies`.
    """

    name: str
    expected: str
    see: Callable[[Bench], Awaitable[LayerState]]
    show: Callable[[Bench], str]
    needs: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
