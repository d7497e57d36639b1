"""JSON-RPC errors that the server answers with."""

NO_METHOD = -32601
BAD_PARAMS = -32602
NOT_FOUND = -32001
NOT_CANCELABLE = -32002
UNSUPPORTED = -32004
OTHER_VERSION = -32009


class RpcRefusal(Exception):
    """A request that cannot be done, with the code that says why."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
