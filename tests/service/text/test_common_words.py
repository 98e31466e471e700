"""The table of common words: its weights, and words that are common in a language."""

from service.text.common_words import CommonWords, common_words

WORDS = CommonWords(("de", "en"), {"die": bytes((0, 42, 1, 20)), "the": bytes((1, 45))})


def test_weights_are_summed_and_known_words_counted() -> None:
    assert WORDS.weights(["die", "the", "die", "xyz"]) == ([84, 85], 3)
    assert WORDS.weights([]) == ([0, 0], 0)


def test_each_word_has_its_weight_in_both_languages() -> None:
    assert WORDS.weights_in(["die", "xyz"], "en", "de") == [(20, 42), (0, 0)]


def test_common_words_have_the_highest_weight_in_their_language() -> None:
    table = common_words()
    assert len(table.languages) >= 40
    for language, words in {
        "de": ["und", "nicht", "auch"],
        "en": ["the", "and", "this"],
        "fr": ["vous", "dans", "avec"],
        "ru": ["что", "было", "только"],
    }.items():
        for word in words:
            weights, _ = table.weights([word])
            assert max(weights) == weights[table.languages.index(language)] >= 25
