"""What an image is told: where to listen, where a model is, and which token will be asked with."""

import secrets
from collections.abc import Mapping

PORT = 8000
HOST = "0.0.0.0"
SIMULATOR = "http://sender:18080"


def new_token() -> str:
    """A token that nobody else knows: an image that asks for one accepts this."""
    return secrets.token_urlsafe(24)


def image_environment(token: str, more: Mapping[str, str]) -> dict[str, str]:
    """All of it; `more` is what whoever asks for the proof has to add, and it wins."""
    return {
        "HOST": HOST,
        "PORT": str(PORT),
        "A2A_TOKEN": token,
        **model_environment(SIMULATOR),
        **more,
    }


def model_environment(url: str) -> dict[str, str]:
    """Where the model is, and that any key will do."""
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "none-is-needed",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none-is-needed",
    }
