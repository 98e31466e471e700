"""Marian's search in a model of its format, computed in float64."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray


def tables_of(config: dict[str, Any]) -> tuple[str, str]:
    """Return the names of the source's and the target's embedding tables."""
    shared = config.get("tied-embeddings-all") or config.get("tied-embeddings-src")
    return ("Wemb", "Wemb") if shared else ("encoder_Wemb", "decoder_Wemb")


@dataclass
class Hypothesis:
    """The result of the search."""

    ids: tuple[int, ...]
    """Ids without </s>."""
    score: float
    """Log-probability over the length penalty."""
    ended: bool


class Reference:
    """A model in float64, which decodes the whole prefix at each step; its ids are the format's."""

    def __init__(self, config: dict[str, Any], weights: dict[str, Array]) -> None:
        self.config, self.weights = config, weights
        self.width = config["dim-emb"]
        self.before = config.get("transformer-preprocess", "")
        self.after = config.get("transformer-postprocess", "dan")

    def log_probs(self, source: Sequence[int], target: Sequence[int]) -> Array:
        """Return log-probabilities of the token after each prefix of `target`: [T + 1, V]."""
        ids = np.array(target, np.int64).reshape(1, -1)
        return np.asarray(self._decode(self._encode(source), ids)[0])

    def search(
        self,
        source: Sequence[int],
        beam_size: int,
        limit: int,
        *,
        narrowing: bool = True,
        normalize: float = 0.0,
        eos: int = 0,
        unk: int = 1,
    ) -> Hypothesis:
        """Search as Marian does: finished hypotheses narrow the beam, <unk> is excluded after the softmax.

        Without `narrowing`, the beam keeps its size until as many hypotheses have finished. Scores are
        log-probabilities over length^normalize, where the length includes </s>.
        """
        memory = self._encode(source)
        live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        found: list[Hypothesis] = []
        for length in range(1, limit + 1):
            ids = np.array([ids for _, ids in live], np.int64).reshape(len(live), -1)
            rows = self._decode(memory, ids)[:, -1].copy()
            rows[:, unk] = -np.inf
            penalty = length**normalize
            sums = rows + np.array([total for total, _ in live])[:, None]
            best = np.argsort(-sums, axis=None, kind="stable")[: 2 * beam_size]
            chosen = [(float(sums.flat[at]), *divmod(int(at), sums.shape[1])) for at in best]
            room = beam_size - len(found) if narrowing else beam_size
            for total, beam, token in chosen[:room]:
                if token == eos:
                    found.append(Hypothesis(live[beam][1], total / penalty, ended=True))
            if narrowing:
                room = beam_size - len(found)
            going_on = [
                (total, (*live[beam][1], token)) for total, beam, token in chosen if token != eos
            ]
            live = going_on[:room]
            if len(found) >= beam_size:
                break
        if not found:
            found = [Hypothesis(ids, total / penalty, ended=False) for total, ids in live]
        return max(found, key=lambda one: one.score)

    def _encode(self, ids: Sequence[int]) -> Array:
        x = self._embed(tables_of(self.config)[0], np.array([ids]))
        seen = np.ones((len(ids), len(ids)), bool)
        for number in range(1, self.config["enc-depth"] + 1):
            layer = f"encoder_l{number}"
            x = self._attend(x, x, seen, f"{layer}_self")
            x = self._feed_forward(x, f"{layer}_ffn")
        return self._top(x, "encoder")

    def _decode(self, memory: Array, targets: Array) -> Array:
        """Compute log-probabilities [K, T] -> [K, T + 1, V]."""
        x = self._embed(tables_of(self.config)[1], targets, shifted=True)
        count, length, _ = x.shape
        memory = np.repeat(memory, count, axis=0)
        past, everything = np.tri(length, dtype=bool), np.ones((length, memory.shape[1]), bool)
        tied = self.config.get("transformer-tied-layers") or []
        for number in tied or range(1, self.config["dec-depth"] + 1):
            layer = f"decoder_l{number}"
            if self.config["transformer-decoder-autoreg"] == "rnn":
                x = self._recur(x, f"{layer}_rnn")
            else:
                x = self._attend(x, x, past, f"{layer}_self")
            x = self._attend(x, memory, everything, f"{layer}_context")
            x = self._feed_forward(x, f"{layer}_ffn")
        x = self._top(x, "decoder")
        logits = x @ self._projection() + self.weights.get("decoder_ff_logit_out_b", 0.0)
        logits -= logits.max(-1, keepdims=True)
        return np.asarray(logits - np.log(np.exp(logits).sum(-1, keepdims=True)))

    def _projection(self) -> Array:
        for name in ("decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W"):
            if name in self.weights:
                return self.weights[name].T if name.endswith("t") else self.weights[name]
        return self.weights[tables_of(self.config)[1]].T

    def _embed(self, table: str, ids: Array, *, shifted: bool = False) -> Array:
        x = self.weights[table][ids] * np.sqrt(self.width)
        if shifted:  # position 0 has a vector of zeros
            x = np.concatenate((np.zeros((len(x), 1, self.width)), x), axis=1)
        half = self.width // 2
        angle = np.arange(x.shape[1])[:, None] * 10000.0 ** (-np.arange(half) / (half - 1))
        return np.asarray(x + np.concatenate((np.sin(angle), np.cos(angle)), axis=1))

    def _attend(self, x: Array, memory: Array, seen: Array, name: str) -> Array:
        """Apply attention; the norm before the sub-layer applies to queries, but not to keys and values."""
        heads = self.config["transformer-heads"]

        def project(y: Array, part: str) -> Array:
            made: Array = y @ self.weights[f"{name}_W{part}"] + self.weights[f"{name}_b{part}"]
            return made.reshape(*y.shape[:2], heads, -1).transpose(0, 2, 1, 3)

        q = project(self._process(x, x, f"{name}_Wo", self.before, "_pre"), "q")
        k, v = project(memory, "k"), project(memory, "v")
        scores = np.where(seen, q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1]), -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        made = mixed @ self.weights[f"{name}_Wo"] + self.weights[f"{name}_bo"]
        return self._process(made, x, f"{name}_Wo", self.after)

    def _recur(self, x: Array, name: str) -> Array:
        y = self._process(x, x, name, self.before, "_pre")
        gate = 1 / (1 + np.exp(-(y @ self.weights[f"{name}_Wf"] + self.weights[f"{name}_bf"])))
        new, state, states = y @ self.weights[f"{name}_W"], np.zeros_like(x[:, 0]), []
        for step in range(x.shape[1]):
            state = gate[:, step] * state + (1 - gate[:, step]) * new[:, step]
            states.append(state)
        return self._process(np.maximum(np.stack(states, axis=1), 0), x, f"{name}_ffn", self.after)

    def _feed_forward(self, x: Array, name: str) -> Array:
        y = self._process(x, x, f"{name}_ffn", self.before, "_pre")
        y = y @ self.weights[f"{name}_W1"] + self.weights[f"{name}_b1"]
        kind = self.config.get("transformer-ffn-activation", "swish")
        y = (
            np.maximum(y, 0)
            if kind == "relu"
            else y / (1 + np.exp(-(1.702 if kind == "gelu" else 1.0) * y))
        )
        y = y @ self.weights[f"{name}_W2"] + self.weights[f"{name}_b2"]
        return self._process(y, x, f"{name}_ffn", self.after)

    def _top(self, x: Array, stack: str) -> Array:
        return self._process(
            x, x, f"{stack}_top", self.config.get("transformer-postprocess-top", "")
        )

    def _process(self, y: Array, x: Array, name: str, operations: str, kind: str = "") -> Array:
        """Apply the operations in order: a adds x, n is a norm, d is dropout, which does nothing here."""
        for operation in operations:
            if operation == "a":
                y = y + x
            if operation == "n":
                y = y - y.mean(-1, keepdims=True)
                y = y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-6)
                y = (
                    y * self.weights[f"{name}_ln_scale{kind}"]
                    + self.weights[f"{name}_ln_bias{kind}"]
                )
        return y
