"""Numbers that languages write with words, in other powers of ten, or with other marks."""

import pytest

from service.text.languages import profile
from service.text.rules.numbers import Numbers
from service.text.run import Run


def came_through(languages: str, source: str, translation: str) -> bool:
    first, _, second = languages.partition("-")
    return Numbers(profile(first), profile(second)).came_through(Run(source), Run(translation))


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("zh-en", "他有100万元。", "He has 1 million yuan."),
        ("zh-en", "他有100萬元和5本书。", "He has 5 books and 1,000,000 yuan."),
        ("ja-en", "3,500万円です。", "It is 35 million yen."),
        ("ja-en", "１億２０００万人", "120 million people"),
        ("ko-en", "1억 2000만 명", "120 million people"),
        ("ko-en", "5천만 명", "50 million people"),
        ("ko-en", "3백만 명과 2만 5000", "3 million people and 25,000"),
        ("ja-en", "12万3456円", "¥123,456"),
        ("ja-en", "3千5百万", "35 million"),
        ("zh-en", "2万亿", "2 trillion"),
        ("ja-en", "3万50000", "30,000 50000"),
        ("hi-en", "5 लाख लोग", "500,000 people"),
        ("hi-en", "3 लाख करोड़", "3 trillion"),
        ("mr-en", "5 हात", "5 hands"),
        ("tr-en", "5 MİLYON TL", "5 million TL"),
        ("en-zh", "I have 15,000 books.", "我有1.5万本书。"),
        ("de-zh", "2 Millionen Menschen", "200万人"),
        ("de-en", "2,5 Mrd. Euro", "2,500 million euros"),
        ("ru-en", "5 тысяч", "5000"),
        ("en-pl", "with 5 million people", "z 5 milionami ludzi"),
        ("en-ru", "with 5 million people", "с 5 миллионами человек"),
        ("en-hu", "for 5 million people", "5 milliónak"),
        ("fr-en", "En 2014 mille personnes", "In 2014, a thousand people"),
        ("de-en", "Seit 2014 Millionen", "Since 2014, millions"),
        ("is-en", "Hann er 2 m á hæð.", "He is 2 m tall."),
        ("fi-en", "Se painaa 5 t.", "It weighs 5 t."),
        ("zh-de", "第12章，共3.5公里", "Kapitel 12, insgesamt 3,5 km"),
        ("ja-en", "2026年11月27日（金）3月", "Friday, November 27, 2026, March"),
        ("de-zh", "am 5. März 2025", "2025年3月5日"),
        ("de-en", "am 05.05.2020", "on May 5, 2020"),
        ("de-en", "05.06.2020", "June 5, 2020"),
        ("ja-en", "5月に", "in May"),
        ("ja-en", "午後3時30分に3人", "3 people at 3:30 p.m."),
        ("ja-en", "15時30分", "at 3:30 pm"),
        ("zh-en", "下午3点半", "at 3:30 pm"),
        ("zh-de", "我下午3点30分来。", "Ich komme um 15:30 Uhr."),
        ("ko-en", "오후 3:30", "3:30 p.m."),
        ("ja-en", "3時間30分", "3 hours and 30 minutes"),
        ("ja-en", "15時30分20秒", "15:30:20"),
        ("en-zh", "at 3 pm", "下午3点"),
        ("fr-en", "1 234,56 € en 12 ans", "€1,234.56 in 12 years"),
        ("fi-de", "1 500 000 euroa", "1.500.000 Euro"),
        ("fa-en", "۱۲٫۵ کیلومتر", "12.5 km"),
        ("ar-de", "١٬٢٣٤٫٥", "1.234,5"),
    ],
)
def test_an_amount_may_be_written_in_another_form(
    languages: str, source: str, translation: str
) -> None:
    assert came_through(languages, source, translation)


@pytest.mark.parametrize(
    ("languages", "source", "translation"),
    [
        ("zh-en", "他有100万元。", "He has 100 million yuan."),
        ("en-zh", "100 million people", "100万人"),
        ("ko-en", "5천만 명", "5,000 people"),
        ("tr-en", "5 MİLYON TL", "7 million TL"),
        ("en-de", "3 MİLLION dogs", "4 Millionen Hunde"),
        ("hi-en", "5 लाख लोग", "5 people"),
        ("ja-en", "1億2000万人", "1 2000 people"),
        ("de-en", "am 5. Mai", "in May"),
        ("ja-en", "5月5日", "in May"),
        ("ja-en", "4月に", "in March"),
        ("de-en", "Bis 5 Gäste dürfen kommen.", "May guests come."),
        ("de-en", "Am 3. Tag marschieren wir.", "March on."),
        ("de-en", "1 234 Euro", "1,234 euros"),
        ("de-en", "3 Millionen Euro", "3 billion euros"),
        ("en-de", "she won 3 billion", "sie gewann 3 Rechnungen"),
        ("en-de", "3:30 pm", "3:30 Uhr"),
        ("ja-en", "午後3時30分", "3:30 am"),
        ("zh-en", "下午3点30分", "at 3:30 am"),
        ("en-zh", "at 3:30 am", "下午3点半"),
        (
            "de-en",
            "123.456.789.012.345.678,123456789012343 Millionen",
            "123,456,789,012,345,678.123456789012344 million",
        ),
    ],
)
def test_similar_amounts_are_different(languages: str, source: str, translation: str) -> None:
    assert not came_through(languages, source, translation)


@pytest.mark.parametrize(
    ("language", "text", "kept"),
    [
        ("zh", "他有100万元和5本书", ["100万", "5"]),
        ("ja", "1億2000万人", ["1億2000万"]),
        ("hi", "2.5 करोड़ रुपये", ["2.5 करोड़"]),
        ("de", "2 Millionen", ["2 Millionen"]),
        ("ja", "5兆", ["5兆"]),
        ("zh", "下午3点30分", ["下午3点30分"]),
        ("ja", "午後3時間", ["3"]),
        ("ko", "5천만 명", ["5천만"]),
        ("ko", "5천 조각", ["5천"]),
        ("ja", "12万3456円", ["12万3456"]),
        ("en", "3 MİLLION dogs", ["3 MİLLION"]),
    ],
)
def test_a_word_for_a_power_of_ten_is_protected_with_its_number(
    language: str, text: str, kept: list[str]
) -> None:
    protected = Numbers(profile(language), profile("en")).protect(Run(text), Run("")).protected
    assert [text[one.begin : one.end] for one in protected] == kept


@pytest.mark.parametrize(
    ("languages", "text", "written"),
    [
        ("en-de", "It has 1.5 billion stars.", "It has 1,5 Milliarden stars."),
        ("zh-en", "100万人", "1 million人"),
        ("ja-en", "12万3456円", "123.456 thousand円"),
        ("zh-qqq", "100万", "100万"),
        (
            "de-en",
            "Es sind 5 Mio Leute, nicht 7 Mio. Leute",
            "Es sind 5 million Leute, nicht 7 million Leute",
        ),
        ("de-en", "Es sind 5 Mio. ", "Es sind 5 million. "),
        ("de-qqq", "2 Millionen", "2 Millionen"),
        ("en-de", "7 trillion trillion trillion", "7 trillion trillion trillion"),
    ],
)
def test_a_protected_amount_has_the_words_of_the_target_language(
    languages: str, text: str, written: str
) -> None:
    run = Numbers(*map(profile, languages.split("-"))).protect(Run(text), Run())
    assert run.written().replace("\u00a0", " ") == written
