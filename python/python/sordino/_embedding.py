"""Models that turn texts into vectors, for an agent's memory: a model on this machine, a function, or a service."""

from __future__ import annotations

import http.client
import importlib
import importlib.metadata
import json
import logging
import os
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

from ._errors import Error, InputError, NetworkError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

# The default model: a table of 32,000 tokens by 256 coordinates, which its wheel contains.
DEFAULT = "wordllama"

# The environment variable with a service's key, so that no settings file contains it.
SERVICE_KEY = "SORDINO_EMBEDDING_KEY"

# The largest number of bytes of a service's answer, and the most texts in one request.
_MOST_BYTES = 64 << 20
_MOST_TEXTS = 64


class Embedding:
    """A model by its name in the settings.

    setting: `wordllama`; `module:function`, a function that takes a list of texts and returns an array of shape (n, dim); or
        the address of a service in OpenAI's form with the model's name, `https://host/v1/embeddings#model`.
    """

    def __init__(self, setting: str) -> None:
        self.setting = setting
        #: A sentence that tells who sees the texts with this model.
        self.shows: str
        #: The name that a memory stores, since vectors of two models cannot be compared.
        self.name: str
        self._embed: Callable[[list[str]], Any]
        if setting == DEFAULT:
            self._embed, self.name = _wordllama()
            self.shows = "Texts and questions are embedded in this process: nobody sees them."
        elif setting.startswith(("http://", "https://")):
            self._embed, host = _service(setting)
            self.name = setting
            self.shows = f"Each text and each question is sent in the clear to {host}, which can keep it."
        elif ":" in setting:
            self._embed = _function(setting)
            self.name = setting
            self.shows = f"Texts and questions are given to {setting} in this process: what that sends, and to whom, is its own."
        else:
            raise InputError(
                f"embedding = {setting!r}: expected {DEFAULT}, module:function, or the address of a service with its model, "
                "https://host/v1/embeddings#model"
            )

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Returns one row for each text, finite and not zero. Raises `InputError`, `NetworkError`."""
        import numpy as np

        try:
            rows = np.asarray(self._embed(list(texts)), dtype=np.float32)
        except Error:
            raise
        except Exception as error:  # noqa: BLE001 - a function of the user's may raise anything
            # An agent's model reads the message of this error, and others may have chosen the words of the original error.
            logging.getLogger("sordino").warning("the embedding %s failed: %s: %s", self.name, type(error).__name__, ascii(str(error)))
            raise InputError(f"the embedding {self.name} failed with a {type(error).__name__}, which this program's log has") from error
        if rows.ndim != 2 or len(rows) != len(texts):
            raise InputError(f"the embedding {self.name} gave an array of shape {rows.shape}, expected a row for each of {len(texts)} texts")
        if not np.isfinite(rows).all():
            raise InputError(f"the embedding {self.name} gave numbers that are not finite")
        for text, row in zip(texts, rows):
            if not row.any():
                raise InputError(f"the embedding {self.name} knows nothing of {text[:40]!r}: say it in more words")
        return rows


def _wordllama() -> tuple[Callable[[list[str]], Any], str]:
    """The model in WordLlama's wheel. Its own loader looks for the tokens' file elsewhere, and would then ask the network."""
    try:
        from pathlib import Path

        import wordllama
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
        from wordllama.inference import WordLlamaInference
    except ImportError as error:
        raise InputError(
            f"{error}: the embedding {DEFAULT} comes with pip install 'sordino[mcp]'; --embedding names another"
        ) from None
    folder = Path(wordllama.__file__).parent
    table = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokens = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    model = WordLlamaInference(table, tokens)
    name = f"{DEFAULT} {importlib.metadata.version('wordllama')} l2_supercat_256"
    return lambda texts: model.embed(texts, norm=True), name


def _function(setting: str) -> Callable[[list[str]], Any]:
    module, _, name = setting.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"embedding = {setting!r}: {error}") from None
    if not callable(found):
        raise InputError(f"embedding = {setting!r}: a {type(found).__name__}, expected a function of a list of texts")
    return found  # type: ignore[no-any-return]


def _service(setting: str) -> tuple[Callable[[list[str]], Any], str]:
    """A service with OpenAI's interface, and its host."""
    address, _, model = setting.partition("#")
    parts = urllib.parse.urlsplit(address)
    host = parts.hostname or ""
    if not host or not model:
        raise InputError(f"embedding = {setting!r}: expected the model behind the address, https://host/v1/embeddings#model")
    if parts.scheme == "http" and host not in ("localhost", "127.0.0.1", "::1"):
        raise InputError(f"embedding = {setting!r}: texts would cross the network in the clear; expected https, or a service on this machine")
    opener = urllib.request.build_opener(_NoRedirect)

    def some(texts: list[str]) -> list[Any]:
        headers = {"Content-Type": "application/json"}
        if SERVICE_KEY in os.environ:
            headers["Authorization"] = f"Bearer {os.environ[SERVICE_KEY]}"
        body = json.dumps({"model": model, "input": texts}).encode()
        try:
            with opener.open(urllib.request.Request(address, body, headers), timeout=60) as reply:
                answer = json.loads(reply.read(_MOST_BYTES))
            found = sorted(answer["data"], key=lambda one: int(one["index"]))
            return [list(map(float, one["embedding"])) for one in found]
        except urllib.error.HTTPError as error:
            if error.code == 429 or error.code >= 500:
                what = "it is busy or out of order, so try again later"
            elif error.code < 400:
                what = "it sends clients to another address, which is the one to name"
            else:
                what = f"see {SERVICE_KEY} and the model's name"
            raise NetworkError(f"the embedding service at {host} answered {error.code}: {what}") from None
        except (OSError, http.client.HTTPException) as error:
            logging.getLogger("sordino").warning("the embedding service at %s: %s", host, ascii(str(error)))
            raise NetworkError(f"the embedding service at {host} cannot be reached, or breaks off: this program's log says why") from None
        except (ValueError, KeyError, TypeError):
            raise NetworkError(f"the embedding service at {host} gave an answer that is not in OpenAI's form") from None

    def embed(texts: list[str]) -> list[Any]:
        return [row for first in range(0, len(texts), _MOST_TEXTS) for row in some(texts[first : first + _MOST_TEXTS])]

    return embed, host


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, so that texts and the key go only to the given address."""

    def redirect_request(self, *_: Any) -> None:
        return None
