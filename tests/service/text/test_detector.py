"""Language detection, compared with hand-written texts in known languages."""

import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.detector import Detector

SENTENCES = {
    "ar": "ذهبت أمس إلى السوق لشراء الخبز.",
    "bg": "Вчера отидох на пазара, за да купя хляб.",
    "cs": "Včera jsem šel na trh koupit chleba.",
    "da": "I går gik jeg ned på torvet for at købe noget brød.",
    "de": "Gestern bin ich auf den Markt gegangen, um Brot zu kaufen.",
    "el": "Χθες πήγα στην αγορά για να αγοράσω ψωμί.",
    "en": "Yesterday I went to the market to buy some bread.",
    "es": "Ayer fui al mercado a comprar un poco de pan.",
    "fi": "Eilen kävin torilla ostamassa leipää.",
    "fr": "Hier, je suis allé au marché pour acheter du pain.",
    "he": "אתמול הלכתי לשוק כדי לקנות לחם.",
    "hi": "कल मैं रोटी खरीदने बाज़ार गया था।",
    "hu": "Tegnap elmentem a piacra, hogy kenyeret vegyek.",
    "it": "Ieri sono andato al mercato per comprare del pane.",
    "ja": "昨日、パンを買いに市場へ行きました。",
    "ko": "어제 빵을 사러 시장에 갔어요.",
    "nl": "Gisteren ben ik naar de markt gegaan om brood te kopen.",
    "pl": "Wczoraj poszedłem na targ, żeby kupić chleb.",
    "pt": "Ontem fui ao mercado para comprar um pouco de pão.",
    "ro": "Ieri am fost la piață ca să cumpăr niște pâine.",
    "ru": "Вчера я ходил на рынок за хлебом.",
    "sv": "I går gick jag till torget för att köpa lite bröd.",
    "tr": "Dün ekmek almak için pazara gittim.",
    "uk": "Учора я ходив на ринок, щоб купити хліба.",
    "vi": "Hôm qua tôi đã đi chợ để mua bánh mì.",
    "zh": "昨天我去市场买面包了。",
}
WORDS = {
    "de": "Hallo Danke Straße Haus Hund Katze Wasser Zeit heute Fenster Freundschaft Bitte nein",
    "en": "Hello Thanks Window Water Time Car Cat Dog Street House today Friendship Please yes",
    "fr": "Bonjour merci aujourd'hui fenêtre chien maison voiture",
    "es": "gracias ventana perro ahora mañana calle",
    "ru": "Привет спасибо окно собака",
}
GREETINGS = {"de": "Guten Morgen", "en": "Good morning", "fr": "Bonne nuit", "es": "Buenos días"}
TWELVE = ["de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "tr", "zh"]


def best(detector: Detector, text: str) -> str:
    return detector.detect(text)[0].language


@pytest.mark.parametrize(("language", "text"), SENTENCES.items())
def test_sentences_are_detected_among_all_languages(language: str, text: str) -> None:
    [guess, *others] = Detector(SENTENCES).detect(text)
    assert guess.language == language
    assert guess.confidence >= 80
    assert len(others) == len(SENTENCES) - 1


@pytest.mark.parametrize(
    ("language", "text"),
    [(one, text) for one, text in SENTENCES.items() if one not in {"de", "en"}],
)
def test_a_language_that_is_not_loaded_has_low_confidence(language: str, text: str) -> None:
    assert all(guess.confidence < 50 for guess in Detector(["de", "en"]).detect(text))
    assert Detector(["de"]).detect(text)[0].confidence < 50  # even as the only candidate


def test_italian_is_neither_german_nor_english() -> None:
    guesses = Detector(["de", "en"]).detect("Buongiorno, come sta oggi? Io sto molto bene.")
    assert all(guess.confidence < 50 for guess in guesses)


@pytest.mark.parametrize("language", ["de", "en"])
def test_a_single_word_is_detected(language: str) -> None:
    detector = Detector(["de", "en"])
    words = [*WORDS[language].split(), GREETINGS[language]]
    assert {word: best(detector, word) for word in words} == dict.fromkeys(words, language)


@pytest.mark.parametrize("language", WORDS)
def test_a_single_word_is_detected_among_twelve_languages(language: str) -> None:
    words = WORDS[language].split()
    found = [best(Detector(TWELVE), word) for word in words]
    assert found.count(language) >= 0.8 * len(words)


@pytest.mark.parametrize(("language", "text"), GREETINGS.items())
def test_two_words_are_detected_among_twelve_languages(language: str, text: str) -> None:
    assert best(Detector(TWELVE), text) == language


@pytest.mark.parametrize("text", ["HALLO", "hallo", "Hallo!", "„Hallo“", " Hallo\n"])
def test_case_punctuation_and_layout_do_not_matter(text: str) -> None:
    detector = Detector(["de", "en"])
    assert detector.detect(text) == detector.detect("Hallo")


@pytest.mark.parametrize(
    "text", ["", "42", "😀", "1.5 – 3 %", "https://example.com/about?page=the", "a.b@example.org"]
)
def test_text_without_language_has_confidence_0_and_english_first(text: str) -> None:
    guesses = Detector(["de", "en", "fr"]).detect(text)
    assert [(one.language, one.confidence) for one in guesses] == [("en", 0), ("de", 0), ("fr", 0)]


ENGLISH = "this is the name of the house that we have seen"
MENTION = (
    '<span class="h-card" translate="no"><a href="https://social.example/@user" class="u-url '
    'mention">@<span>the_real_user</span></a></span>'
)
AROUND_HTML = [
    f"<p>{MENTION} %s</p>",
    f'<p class="{ENGLISH}">%s</p>',
    f"<!-- {ENGLISH} --><div>%s</div>",
    f"<script>{ENGLISH}</script>%s",
    f"<style>{ENGLISH}</style><b>%s</b>",
    f'<img alt="{ENGLISH}">%s',
    f"<code>{ENGLISH} <code>{ENGLISH}</code> {ENGLISH}</code> %s",
    f"<pre>{ENGLISH * 100}</pre><p>%s</p>",
    f'<span class="notranslate">{ENGLISH}</span> %s',
    "<a>%s</a>",
]
AROUND_TEXT = [
    "@the_name_of_the_user %s",
    "{{ name_of_the_house }} %s",
    f"`{ENGLISH}` %s",
    f"```\n{ENGLISH * 100}\n```\n\n%s",
    "/usr/share/name/of/the/house.html: %s",
    "[%s](the-name-of-the-house-that-we-have-seen)",
]


@pytest.mark.parametrize("around", AROUND_HTML)
def test_markup_and_what_it_preserves_say_nothing_about_the_language(around: str) -> None:
    for german in (GREETINGS["de"], SENTENCES["de"]):
        [guess, _] = Detector(["de", "en"]).detect(around % german, "html")
        assert guess.language == "de"
        assert guess.confidence >= 80


@pytest.mark.parametrize("around", AROUND_TEXT)
def test_placeholders_and_code_say_nothing_about_the_language(around: str) -> None:
    [guess, _] = Detector(["de", "en"]).detect(around % GREETINGS["de"])
    assert guess.language == "de"
    assert guess.confidence >= 80


def test_ignored_elements_say_nothing_about_the_language() -> None:
    detector, text = Detector(["de", "en"]), f"<x>{ENGLISH}</x> {GREETINGS['de']}"
    assert detector.detect(text, "xml", ["x"])[0].language == "de"
    assert detector.detect(text, "xml")[0].language == "en"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (SENTENCES["de"], "deu_Latn"),
        (SENTENCES["en"], "eng_Latn"),
        (SENTENCES["pt"], "pt-BR"),
        ("I går gikk jeg til torget for å kjøpe litt brød.", "nb"),
        ("你們昨天在市場買了什麼？", "zh-Hant"),
        ("你们昨天在市场买了什么？", "zh-Hans"),
        ("Јуче сам отишао на пијацу да купим хлеб.", "sr-Cyrl"),
        ("Juče sam otišao na pijacu da kupim hleb.", "sr-Latn"),
    ],
)
def test_codes_of_all_standards_are_detected(text: str, code: str) -> None:
    codes = ["deu_Latn", "eng_Latn", "pt-BR", "nb", "zh-Hant", "zh-Hans", "sr-Cyrl", "sr-Latn"]
    assert best(Detector(codes), text) == code


def test_indistinguishable_variants_share_the_confidence() -> None:
    [first, second, _] = Detector(["pt-BR", "pt-PT", "de"]).detect(SENTENCES["pt"])
    assert {first.language, second.language} == {"pt-BR", "pt-PT"}
    assert first.confidence == second.confidence == 50


def test_an_unknown_code_is_never_detected() -> None:
    guesses = Detector(["de", "tlh"]).detect(SENTENCES["de"])
    assert [(one.language, one.confidence > 0) for one in guesses] == [("de", True), ("tlh", False)]


@given(st.text(), st.sets(st.sampled_from([*SENTENCES, "zh-Hant", "nb", "tlh"]), min_size=1))
def test_confidences_are_sorted_integers_for_any_text(text: str, languages: set[str]) -> None:
    guesses = Detector(languages).detect(text)
    confidences = [guess.confidence for guess in guesses]
    assert {guess.language for guess in guesses} == languages
    assert all(type(one) is int and 0 <= one <= 100 for one in confidences)
    assert confidences == sorted(confidences, reverse=True)
    assert sum(confidences) <= 100 + len(confidences) / 2  # each is rounded


def test_concurrent_results_equal_sequential_ones() -> None:
    detector = Detector(SENTENCES)
    texts = list(SENTENCES.values()) * 10
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(detector.detect, texts)) == list(map(detector.detect, texts))


def test_the_detector_needs_no_writable_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    assert best(Detector(["de", "en"]), "Guten Morgen") == "de"
