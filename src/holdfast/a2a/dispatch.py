"""From an operation and its params to the turns, and back to a result in the version of the call."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from typing import Any

from holdfast.a2a.protocol import rpc, v03, v10
from holdfast.a2a.protocol.card import Form
from holdfast.a2a.protocol.rpc import Call, RpcError, invalid_params
from holdfast.a2a.protocol.versions import A2AVersion, version_of, wire_for
from holdfast.a2a.protocol.wire import News, Operation, PushRequest, SendRequest
from holdfast.a2a.turns.turns import Turns

STREAMS = frozenset({Operation.STREAM, Operation.SUBSCRIBE})

Cards = Callable[[Form], dict[str, Any]]
"""The extended card in a form."""


@dataclass(frozen=True, slots=True)
class VersionedCall:
    """A call in the version that it speaks."""

    wire: A2AVersion
    operation: Operation
    params: dict[str, Any]
    caller: str | None = None

    @property
    def streams(self) -> bool:
        """Whether it is answered with a stream."""
        return self.operation in STREAMS


def read_call(call: Call, version: str, caller: str | None = None) -> VersionedCall:
    """What a call of a caller means; RpcError if it means nothing in its version, or cannot be answered."""
    wire = wire_for(version, call.method)
    found = VersionedCall(wire, wire.OPERATIONS[call.method], call.params, caller)
    if not call.has_id:
        _check_params(found)
        raise RpcError(rpc.INVALID_REQUEST, 'Invalid request: it has no "id"')
    return found


def is_always_a_stream(method: str | None, version: str) -> bool:
    """Whether a method is answered with a stream even if it cannot begin; so it is in 0.3."""
    return version_of(version) == v03.VERSION and v03.OPERATIONS.get(method or "") in STREAMS


def follow(turns: Turns, call: VersionedCall) -> AsyncGenerator[News]:
    """The news that were asked for."""
    if call.operation is Operation.STREAM:
        return turns.stream(_message(call))
    return turns.subscribe(call.wire.task_request(call.params))


async def perform(turns: Turns, call: VersionedCall, cards: Cards | None) -> Any:
    """The result of what is answered at once; without `cards` there is no extended one."""
    wire, params = call.wire, call.params
    match call.operation:
        case Operation.SEND:
            return wire.send_result(await turns.send(_message(call)))
        case Operation.GET:
            return wire.task(await turns.get(wire.task_request(params)))
        case Operation.LIST:  # of version 1.0 only
            return v10.page(await turns.list(v10.list_request(params)))
        case Operation.CANCEL:
            return wire.task(await turns.cancel(wire.task_request(params)))
        case Operation.EXTENDED_CARD:
            if cards is None:
                raise _no_extended_card(wire)
            return cards("1.0" if wire is v10 else "0.3")
        case Operation.STREAM | Operation.SUBSCRIBE:
            raise AssertionError("streams are followed")
        case operation:
            return await _push(turns, wire, operation, params)


def _message(call: VersionedCall) -> SendRequest:
    return replace(call.wire.send_request(call.params), caller=call.caller)


def _check_params(call: VersionedCall) -> None:
    """RpcError if the params are not what the method takes."""
    wire, params = call.wire, call.params
    match call.operation:
        case Operation.SEND | Operation.STREAM:
            wire.send_request(params)
        case Operation.GET | Operation.CANCEL | Operation.SUBSCRIBE:
            wire.task_request(params)
        case Operation.LIST:
            v10.list_request(params)
        case Operation.PUSH_SET:
            wire.push_set(params)
        case Operation.PUSH_GET | Operation.PUSH_LIST | Operation.PUSH_DELETE:
            wire.push_request(params)


def _no_extended_card(wire: A2AVersion) -> RpcError:
    if wire is v10:
        return RpcError(rpc.UNSUPPORTED_OPERATION, "Unsupported operation: there is no extended card without tokens")
    return RpcError(rpc.EXTENDED_CARD_NOT_CONFIGURED, "Authenticated Extended Card not configured: it needs tokens")


async def _push(turns: Turns, wire: A2AVersion, operation: Operation, params: dict[str, Any]) -> Any:
    """The result of what is asked about the posting of a task's news; RpcError if the agent has no such task."""
    if operation is Operation.PUSH_SET:
        task_id, config = wire.push_set(params)
        await turns.known(task_id)
        return wire.push_config(task_id, await turns.configs.set(task_id, config))
    request = wire.push_request(params)
    await turns.known(request.task_id)
    if operation is Operation.PUSH_LIST:
        return wire.push_configs(request.task_id, await turns.configs.list(PushRequest(request.task_id)))
    if operation is Operation.PUSH_GET:
        return wire.push_config(request.task_id, await turns.configs.get(request))
    if request.config_id is None:
        raise invalid_params("say which of the task's push notification configs is to go")
    await turns.configs.delete(request)
    return wire.NOTHING
