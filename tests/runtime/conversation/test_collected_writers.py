"""An object that is collected while another takes its conversation over does not give the claim away."""

import pytest

from holdfast.runtime.conversation.claims import Claims, ConversationWriter


class ClaimFlag:
    """A claim that says whether it is still held."""

    def __init__(self) -> None:
        self.is_held = True

    def release(self) -> None:
        self.is_held = False

    abandon = forget = release


def test_the_one_before_is_collected_while_the_next_looks_at_the_newest_state() -> None:
    claims, first, second, held = Claims(), ConversationWriter("s"), ConversationWriter("s"), ClaimFlag()
    with claims.writing("s", first, take=lambda: held, check=lambda: None):
        pass
    with claims.writing("s", second, take=lambda: held, check=lambda: claims.abandon("s", first)):
        assert held.is_held


def test_an_object_that_was_refused_takes_nothing_over() -> None:
    def refuse() -> None:
        raise KeyError

    claims, first, second, held = Claims(), ConversationWriter("s"), ConversationWriter("s"), ClaimFlag()
    with claims.writing("s", first, take=lambda: held, check=lambda: None):
        pass
    with pytest.raises(KeyError), claims.writing("s", second, take=lambda: held, check=refuse):
        pass
    with claims.writing("s", first, take=lambda: held, check=lambda: None):
        assert held.is_held
    claims.abandon("s", first)
    assert not held.is_held
