"""Texts are split into sentences as by a reader, and no character is lost."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.text import segmenter
from service.text.languages import Language, Languages, profile
from service.text.segmenter import Segment, Splitting, split


def sentences(text: str, code: str = "und") -> list[str]:
    return [one.text for one in split(text, "all", profile(code)) if one.is_sentence]


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("de", "Guten Morgen! Wie geht es dir?", ["Guten Morgen!", "Wie geht es dir?"]),
        ("de", "Er kam am 3. Mai. Dann ging er.", ["Er kam am 3. Mai.", "Dann ging er."]),
        ("de", "Das war 1999. Ende.", ["Das war 1999.", "Ende."]),
        ("de", "Er ist 30. Sie ist 25.", ["Er ist 30.", "Sie ist 25."]),
        ("en", "I am 30. “You are 25.”", ["I am 30.", "“You are 25.”"]),
        ("en", "No. 5 is at max. 3 km/h. No. Why?", ["No. 5 is at max. 3 km/h.", "No.", "Why?"]),
        ("de", "Hauptstr. 5, Art. 7 gilt.", ["Hauptstr. 5, Art. 7 gilt."]),
        ("de", "Aus Tab. 3 folgt Abschn. 5.", ["Aus Tab. 3 folgt Abschn. 5."]),
        ("en", "See Ch. 4 and Chap. 5.", ["See Ch. 4 and Chap. 5."]),
        ("de", "Im 2. Weltkrieg, am 10. 5. 1940.", ["Im 2. Weltkrieg, am 10. 5. 1940."]),
        ("de", "Dr. Müller sagte z. B. nichts.", ["Dr. Müller sagte z. B. nichts."]),
        (
            "en",
            "Mr. Smith lives at St. James. Really?",
            ["Mr. Smith lives at St. James.", "Really?"],
        ),
        ("en", "J. S. Bach was great.", ["J. S. Bach was great."]),
        ("de", "„Hallo!“ Sie lachte.", ["„Hallo!“", "Sie lachte."]),
        ("en", 'He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("en", "It costs 3.50 euros. e.g. this", ["It costs 3.50 euros. e.g. this"]),
        ("en", "Wait... What?!  Yes", ["Wait...", "What?!", "Yes"]),
        ("en", "one line\nanother", ["one line", "another"]),
        ("en", "- first point\n  * second. Third.", ["first point", "second.", "Third."]),
        ("en", "1. Mix it.\n2. Bake it.", ["Mix it.", "Bake it."]),
        ("ja", "今日は。元気？はい", ["今日は。", "元気？", "はい"]),
        ("de", "Zwei Eier (Gr. M) sind da.", ["Zwei Eier (Gr. M) sind da."]),
        ("en", "Mix it (lg. Eggs)! Eat it.", ["Mix it (lg. Eggs)!", "Eat it."]),
        ("de", "Er kam (Ja. Wirklich.) an.", ["Er kam (Ja.", "Wirklich.) an."]),
        ("de", "Er ging (Klar. Und sie", ["Er ging (Klar.", "Und sie"]),
        ("de", "AW: WG: Re: Das Haus", ["Das Haus"]),
        ("en", "FW: A house\nRe: No, I see", ["A house", "No, I see"]),
        ("en", "no end", ["no end"]),
    ],
)
def test_sentences_are_split(code: str, text: str, expected: list[str]) -> None:
    assert sentences(text, code) == expected


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "42", "😀 !!!", "---", "3.14\t2.72", "\u2028", "* \n-"]
)
def test_a_part_without_letters_is_not_a_sentence(text: str) -> None:
    assert sentences(text) == []
    assert "".join(segment.text for segment in split(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dear Ann,\n\nthank you for\nyour letter.", ["Dear Ann,", "thank you for\nyour letter."]),
        ("\r\nOne\r\nline\r\n \t\r\n  Two. Three", ["One\r\nline", "Two.", "Three"]),
        ("one\ntwo", ["one\ntwo"]),
        ("It is\nlate. We\r\ngo.\nYou, too.", ["It is\nlate.", "We\r\ngo.", "You, too."]),
        ("He saw Dr.\nSmith.  \n Then he left!\n", ["He saw Dr.\nSmith.", "Then he left!"]),
    ],
)
def test_wrapped_lines_are_joined_and_paragraphs_are_not(text: str, expected: list[str]) -> None:
    segments = list(split(text, "paragraphs", profile("en")))
    assert [one.text for one in segments if one.is_sentence] == expected
    assert "".join(one.text for one in segments) == text


ALPHABET = 'aB.!? \n\t\r-*1)("„“»…😀\u00a0\u2028\u200fßÄ。」z3Iგя؟日し।म'


@given(
    st.text(st.sampled_from(ALPHABET) | st.characters(exclude_categories=["Cs"]), max_size=40),
    st.sampled_from(["all", "paragraphs", "sentences", "none"]),
    st.sampled_from(["und", *Languages().codes]),
)
@settings(max_examples=500)
def test_segments_always_join_to_the_text(text: str, splitting: Splitting, code: str) -> None:
    segments = list(split(text, splitting, profile(code)))
    assert "".join(segment.text for segment in segments) == text
    for segment in segments:
        assert segment.text
        if segment.is_sentence:
            assert segment.text == segment.text.strip()
            assert any(character.isalpha() for character in segment.text)


@pytest.mark.parametrize(
    ("code", "marked"),
    [
        ("pl", "Mieszka przy ul. Długiej.|To prof. Łącki, tzn. sąsiad.|Kupił jabłka itp.|Śliwek nie było."),
        ("pl", "Zmarł w 1939 r.|Żona przeżyła wojnę."),
        ("cs", "Přijel pan Mgr. Řehák.|Bydlí v ul. Široké č. 5 v Brně.|Mají jablka apod.|Švestky ne."),
        ("cs", "Narodil se 5. května.|Žije v Praze."),
        ("sk", "Kúpil napr. Ďumbier.|Potom odišiel."),
        ("tr", "Prof. Şahin geldi.|İçeri girdi.|Işığı yaktı.|Çay vb.|Şeker yok."),
        ("tr", "Av. İnce 5. Cadde'de oturuyor."),
        ("fr", "Mme Dupré habite av. Émile-Zola.|Elle dit : « Viens ! »|Été comme hiver, il vient."),
        ("fr", "« Qui est là ? » demande-t-il.|« Moi ! »|Il ouvre."),
        ("fr", "Il parle d'art.|Elle écoute."),
        ("es", "La Sra. Núñez vive aquí.|¿Ha visto al Dr. Ávila?|¡Claro!"),
        ("it", "Ho visto l'avv. Èrcoli.|Abita in p.za Dante.|C'è il dott. Neri?"),
        ("pt", "O Sr. Álvares mora na av. Brasil.|Órfão, cresceu em Évora."),
        ("ru", "Он родился в 1990 г.|Теперь живёт в г. Твери.|Купил яблоки, груши и т. д.|Ещё хлеб."),
        ("ru", "Это А. С. Пушкин.|Его знают все."),
        ("uk", "Він жив на вул. Ярославській.|Їжак спить."),
        ("bg", "Живее на ул. Витоша.|Ябълките са червени."),
        ("sr", "Рођен је 3. маја 1990. године.|Живи у ул. Његошевој."),
        ("el", "Ποιος είναι;|Ο κ. Ανδρέου.|Έχει μήλα κ.λπ.|Ύστερα έφυγε."),
        ("ar", "هل رأيت د. أحمد؟|نعم!|هو في البيت."),
        ("fa", "آیا او آمد؟|بله.|او اینجاست."),
        ("ur", "کیا وہ آیا؟|جی ہاں۔|ایم۔ اے۔ جناح کا گھر یہ ہے۔"),
        ("he", "הספר של ח. נ. ביאליק.|קראת אותו?|כן!"),
        ("hi", "डॉ. शर्मा कहाँ हैं?|वे घर पर हैं।|एस. के. वर्मा आए।"),
        ("bn", "সে কোথায়?|সে বাড়িতে।|আমি যাই।"),
        ("th", "ดร. สมชายเกิดเมื่อ พ.ศ. ๒๕๓๐ ที่เชียงใหม่"),
        ("zh", "你好!|我是小王。|“走吧！”他说。|我们走了。|明天见"),
        ("zh", "我们去看《走吧！爸爸》好吗？|《好！》是书。"),
        ("zh", "他用Yahoo!的邮箱。|真的？！|是的"),
        ("ja", "「本当？」と聞いた。|うん。|Yahoo!ニュースを読む。"),
        ("ko", "2024. 5. 3.에 왔어요.|“가자.” 라고 했다.|그래.|왜?"),
        ("ka", "სად ცხოვრობ?|თბილისში.|და შენ?"),
        ("hy", "Բարեւ։|Ինչպե՞ս ես:|Լավ եմ։"),
        ("am", "ሰላም ነው።|አቶ ከበደ የት ነው?|ቤት ነው።"),
        ("my", "နေကောင်းလား။|ကောင်းပါတယ်။"),
        ("km", "អ្នកសុខសប្បាយទេ?|ខ្ញុំសុខសប្បាយ។"),
        ("nl", "Dhr. Éénhoorn komt m.b.t. Ömer.|Hij is 30.|Tom is 25."),
        ("sv", "Hon köpte bl.a. Ärtor m.m.|Är du ung?|Ja, jag är ung.|Åt du?"),
        ("da", "Han kom d. 3. maj.|Øst for f.eks. Århus.|Æbler m.m.|Så gik han."),
        ("nb", "Vi leser f.eks. Ibsen.|Åpne døra!|Øl osv.|Så drar vi."),
        ("fi", "Hän on n. 50-vuotias.|Äiti tuli 5. huhtikuuta.|Omenoita jne.|Öljy loppui."),
        ("hu", "Özv. Ács Péterné pl. Érden él.|Született 2024. 05. 03.|És te?|Őt ismerem."),
        ("vi", "ThS. Đặng ở TP. Đà Nẵng.|Ông ấy đâu?|Ở nhà."),
        ("ro", "Dl. Țepeș stă pe str. Școlii.|Și tu?|Cumpără mere etc.|Însă nu pere."),
        ("en", "You and I.|Did you see Albert I. Jones?|He left the U.S. Army.|In the U.S.|They are not."),
        ("de", "Er lebte 44 v. Chr.|Sie auch.|Das gilt d. h. Peter geht.|Um 5 Min. Verspätung."),
        ("de", "Ludwig XIV. König von Frankreich.[12]|Im XX. Jahrhundert.[a]|Papst Paul VI.|Er starb."),
        ("sk", "Ide o príslušníkov XII. Pluku.|Áno."),
        ("en", "Look at Part II.|Tom did.[3]|He left."),
        ("sw", "Dr. Émile anaishi hapa.|Él yuko wapi?"),
        ("mr", "डॉ. जोशी कुठे आहेत?|एस. पाटील घरी आहेत."),
        ("ml", "ഡോ. ശിവൻ എവിടെ?|എം. ടി. നായർ വന്നു."),
        ("ta", "டாக்டர். குமார் எங்கே?|எம். ஜி. ஆர். வந்தார்."),
        ("bn", "ড. রহমান কোথায়?|এ. কে. খান এসেছেন।"),
        ("qqq", "Zo lo A. Ñuri.|Ŝe?|Ja.|Мы 3. Ы"),
    ],
)  # fmt: skip
def test_sentences_are_split_by_the_rules_of_their_language(code: str, marked: str) -> None:
    expected = marked.split("|")
    space = "" if code in ("zh", "ja") else " "
    inner = [one.strip("“”「」«» ") for one in sentences(space.join(expected), code)]
    assert inner == [one.strip("“”「」«» ") for one in expected]


@pytest.mark.parametrize("text", ["Bonn ist schön. ", "Zo lo 3. Ñuri A. B. Qu. "])
def test_the_neutral_profile_preserves_any_text(text: str) -> None:
    segments = list(split(text * 20, "all", profile("und")))
    assert "".join(segment.text for segment in segments) == text * 20


@pytest.mark.parametrize(
    ("code", "text", "found"),
    [
        ("ru", "а) яблоки\nб) Груши", ["яблоки", "Груши"]),
        ("ja", "・りんご\n・なし", ["りんご", "なし"]),
        ("he", "א) תפוח", ["תפוח"]),
        ("de", "(A) und (B)", ["(A) und (B)"]),
        ("en", "I. The house\nII. The dog\n (iii) the cat", ["The house", "The dog", "the cat"]),
        ("en", "iv. Name\nxiv) date\na. The house\nIV.\u00a0\u00a0End", ["Name", "date", "The house", "End"]),
        ("en", "II.\n(ii)\nx.\n[*]Red [*] blue\n· green\n» red", ["Red [*] blue", "green", "red"]),
        ("en", "I am\nI. M. Pei\nin. The\nIII cats", ["I am", "I. M. Pei", "in.", "The", "III cats"]),
        ("en", "1.1 The dog\n2.10) Cats\n1.2.3 If\n2.5 Cups", ["The dog", "Cats", "If", "2.5 Cups"]),
        ("de", "v. Chr. war\n1.2 Der Hof", ["v. Chr. war", "Der Hof"]),
        ("de", "2.5 Liter\n» Ja «, so\nXX.\u00a0Mal", ["2.5 Liter", "» Ja «, so", "XX.\u00a0Mal"]),
        ("de", "z. B. Hunde\ni. d. R. Hunde\nd. h. Das", ["z. B. Hunde", "i. d. R. Hunde", "d. h. Das"]),
        ("de", "3. Mai\n- 21. März 2026\n3. Milch", ["3. Mai", "21. März 2026", "Milch"]),
        ("cs", "3. ledna\n3. mléko", ["3. ledna", "mléko"]),
        ("en", "3. May the force be with you", ["May the force be with you"]),
    ],
)  # fmt: skip
def test_list_markers_may_be_letters_or_numerals(code: str, text: str, found: list[str]) -> None:
    assert sentences(text, code) == found


def test_lines_are_split_lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of a text with too many sentences is bounded, since its caller stops at the limit."""
    cut, seen = segmenter._split_line, list[str]()

    def spy(line: str, language: Language) -> Iterator[Segment]:
        seen.append(line)
        return cut(line, language)

    monkeypatch.setattr(segmenter, "_split_line", spy)
    segments = split("a\n" * 24_000)
    assert [next(segments).text for _ in range(5)] == ["a", "\n", "a", "\n", "a"]
    assert seen == ["a"] * 3


@pytest.mark.parametrize("separator", "\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029")
def test_lines_records_and_fields_are_separate(separator: str) -> None:
    assert [one.text for one in split(f"Hund{separator}Katze")] == ["Hund", separator, "Katze"]
