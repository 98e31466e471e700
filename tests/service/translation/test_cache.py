"""The cache of sentences."""

from service.engine.types import DecodingOptions, FinishReason, Hypothesis, Work
from service.translation.cache import TOKENS_A_SENTENCE, SentenceCache


def work(first: int, length: int) -> Work:
    return (first, *range(length - 1)), DecodingOptions(max_decoding_length=100)


def found(*lengths: int) -> list[Hypothesis]:
    return [Hypothesis(tuple(range(length)), 0.0, FinishReason.END) for length in lengths]


def test_the_sentences_used_last_are_kept() -> None:
    cache = SentenceCache(2)
    for number in (1, 2):
        cache.put(work(number, 5), found(5))
    assert cache.get(work(1, 5)) == found(5)
    cache.put(work(3, 5), found(5))
    assert cache.get(work(2, 5)) is None
    assert cache.get(work(1, 5)) == found(5)
    assert cache.get(work(3, 5)) == found(5)


def test_long_sentences_and_many_hypotheses_take_several_places() -> None:
    cache = SentenceCache(10)
    for number in range(10):
        cache.put(work(number, TOKENS_A_SENTENCE // 2), found(TOKENS_A_SENTENCE // 2))
    cache.put(work(10, TOKENS_A_SENTENCE), found(*[TOKENS_A_SENTENCE] * 6))  # 7 places
    kept = [number for number in range(10) if cache.get(work(number, TOKENS_A_SENTENCE // 2))]
    assert kept == [7, 8, 9]
    assert cache.get(work(10, TOKENS_A_SENTENCE)) is not None


def test_a_sentence_larger_than_the_cache_is_not_kept() -> None:
    cache = SentenceCache(1)
    cache.put(work(1, 5), found(5))
    cache.put(work(2, TOKENS_A_SENTENCE), found(TOKENS_A_SENTENCE))
    assert cache.get(work(2, TOKENS_A_SENTENCE)) is None
    for _ in range(3):
        cache.put(work(1, 5), found(5))
    assert cache.get(work(1, 5)) == found(5)
