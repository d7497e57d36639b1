"""What can go wrong with a model: whether to wait, to mend the request, or to look at the endpoint."""

from holdfast.core.errors import HoldfastError


class ModelError(HoldfastError):
    """The model gave no answer that we can use."""

    code = "model_error"
    status = 502


class ModelUnreachable(ModelError):
    """Nobody answered, the answer was cut, or it took too long."""

    code = "model_unreachable"
    status = 503
    hint = "see whether the model's endpoint runs and its base URL is right"


class ModelBusy(ModelError):
    """The model asks us to come back later: after `retry_after` seconds, where it says so."""

    code = "model_busy"
    status = 503
    hint = "try again later, or lower the rate of requests"


class ModelRefused(ModelError):
    """The endpoint said no; `model_status` is the HTTP status that it said it with."""

    code = "model_refused"
    hint = "see whether the key, the model's name and the prompt are what the endpoint expects"


class ModelAnswerUnreadable(ModelError):
    """The answer is not what such an endpoint answers."""

    code = "model_answer_unreadable"
    hint = "see whether the base URL is that of such an endpoint (for OpenAI-style ones it often ends in /v1)"
