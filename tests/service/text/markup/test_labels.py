"""Labels of a path keep their order and separators, whatever their translations are."""

from itertools import count

import pytest

from service.text.run import Format
from tests.service.text.pipelines import take_apart, unchanged


def numbered(text: str, form: Format) -> tuple[list[str], str]:
    """Return the sentences of a text, and the text with numbers in their place."""
    document = take_apart(text, form)
    numbers = map(str, count())
    found = [one.translated(next(numbers), None) for one in document.sentences]
    return [one.text for one in document.sentences], document.assemble(found)


@pytest.mark.parametrize(
    ("text", "labels", "written"),
    [
        ("Datei → Speichern unter", ["Datei", "Speichern unter"], "0 → 1"),
        ("Ustawienia → Konto ⇒ Hasło i PIN", ["Ustawienia", "Konto", "Hasło i PIN"], "0 → 1 ⇒ 2"),
        ("Domů > Nové boty > Kozačky", ["Domů", "Nové boty", "Kozačky"], "0 > 1 > 2"),
        ("B.A. Bildende Kunst » Ja", ["B.A. Bildende Kunst", "Ja"], "0 » 1"),
        ("Nova ← Stará <-> Iná -> Ďalšia", ["Nova", "Stará", "Iná", "Ďalšia"], "0 ← 1 <-> 2 -> 3"),
        ("Menú→Ver→Zoom", ["Menú", "Ver", "Zoom"], "0→1→2"),
        ("10 € ➔ 20 € mehr", ["20 € mehr"], "10 € ➔ 0"),
        ("设置 » 账户 » 3 » A", ["设置", "账户", "A"], "0 » 1 » 3 » 2"),
        ("Ana sayfa › Ürünler\u00a0› Çanta", ["Ana sayfa", "Ürünler", "Çanta"], "0 › 1\u00a0› 2"),
        ("Kapitola 1 » (Nový) » Začiatok", ["Kapitola 1", "Nový", "Začiatok"], "0 » (1) » 2"),
        ("设置→隐私与安全", ["设置", "隐私与安全"], "0→1"),
        ("pondělí..pátek", ["pondělí", "pátek"], "0..1"),
        ("Po|Út|St", ["Po", "Út", "St"], "0|1|2"),
        ("jeden soubor|%n souborů|", ["jeden soubor", "20 souborů|"], "0|1"),
        ('"dům","","-","pes"', ["dům", "pes"], '"0","","-","1"'),
        ('id;"";jméno;město', ["id", "jméno", "město"], '0;"";1;2'),
        ('"dům","pes","ano"', ["dům", "pes", "ano"], '"0","1","2"'),
        ("červená,zelená,modrá", ["červená", "zelená", "modrá"], "0,1,2"),
        ("1;Jan Novák;1,5;ano\n", ["Jan Novák", "ano"], "1;0;1,5;1\n"),
        (
            'id,jméno,kus\n1,"Dům, velký",2\n',
            ["id", "jméno", "kus", "Dům, velký"],
            '0,1,2\n1,"3",2\n',
        ),
        ('3;"Řekl ""ano, ne""";3,25', ["Řekl", "ano, ne"], '3;"0 ""1""";3,25'),
        ("✓ Pes ✓ Velký dům a strom ❌ Ne", ["Pes", "Velký dům a strom", "Ne"], "✓ 0 ✓ 1 ❌ 2"),
        ("Pes ★ Kočka ★ Dům", ["Pes", "Kočka", "Dům"], "0 ★ 1 ★ 2"),
        ("1️⃣ Pes 2️⃣ Kočka\n☐ Ano ☐ Ne", ["Pes", "Kočka", "Ano", "Ne"], "1️⃣ 0 2️⃣ 1\n☐ 2 ☐ 3"),
        ("Další stránka »", ["Další stránka"], "0 »"),
        ("« Zpět\n", ["Zpět"], "« 0\n"),
        ("‹\u00a0Zpět", ["Zpět"], "‹\u00a00"),
        (
            "Otevři.\n\nSoubor → Tisk\n\nHotovo.",
            ["Otevři.", "Soubor", "Tisk", "Hotovo."],
            "0\n\n1 → 2\n\n3",
        ),
        (
            "Soubor→Tisk\r\nNový » Další\rNic tu\nPo..Út\n",
            ["Soubor", "Tisk", "Nový", "Další", "Nic tu", "Po", "Út"],
            "0→1\r\n2 » 3\r4\n5..6\n",
        ),
        (
            "jméno;cena;kus\ndům;12,50 €;1.500\nHotovo.",
            ["jméno", "cena", "kus", "dům", "Hotovo."],
            "0;1;2\n3;12,50 €;1.500\n4",
        ),
        ("Da | hier\n- Eins → Zwei", ["Da", "hier", "Eins", "Zwei"], "0 | 1\n- 2 → 3"),
    ],
)
def test_labels_of_a_path_are_translated_separately(
    text: str, labels: list[str], written: str
) -> None:
    assert numbered(text, "text") == (labels, written)


@pytest.mark.parametrize(
    ("text", "labels", "written"),
    [
        (
            '<a href="/">Inicio</a> <span>›</span> <a href="/z">Zapatos</a> &raquo; <b>Rojo</b>',
            ["Inicio", "Zapatos", "Rojo"],
            '<a href="/">0</a> <span>›</span> <a href="/z">1</a> » <b>2</b>',
        ),
        (
            "<p><a>Accueil</a> &gt; <a>Chaussures</a> &gt; <b>Bottes</b></p>",
            ["Accueil", "Chaussures", "Bottes"],
            "<p><a>0</a> &gt; <a>1</a> &gt; <b>2</b></p>",
        ),
        ("<li>Accueil | Contact</li>", ["Accueil", "Contact"], "<li>0 | 1</li>"),
    ],
)
def test_labels_of_a_path_in_html_are_translated_separately(
    text: str, labels: list[str], written: str
) -> None:
    assert numbered(text, "html") == (labels, written)


@pytest.mark.parametrize(
    "text",
    [
        "<p>Klikni <b>Soubor -&gt; <i>Uložit</i> teď</b>, prosím</p>",
        "<p>A <b>Soubor <i>→</b> Uložit</i> teď <br> → Ano</p>",
        '<p><a href="/">Další <b>stránka ›</b></a></p>',
        "<p><i>« <b>Zpět</b></i></p>",
        "<p><b>Soubor</b>→<b>..</b> A <i>b..c</i> d | <b>|</b> Ne</p>",
    ],
)
def test_tags_around_labels_keep_their_order(text: str) -> None:
    assert unchanged(take_apart(text, "html")) == text


@pytest.mark.parametrize(
    "text",
    [
        "Er sagte « Oui » und ‹ non › dazu.",
        "Drei > Zwei",
        "Dann gilt x > y > z",
        "Wenn a > b ist, und Drei > Zwei oder a <= c >= d",
        "Nimm `a -> b` und {{ eins | zwei }}",
        "Datei (→ Neu), a->b, Eins>Zwei, so »Ja« war es ...",
        "→ Weiter ←",
        "Weiter . . hier .. und 1..2",
        "Er hat das Ticket Berlin → Hamburg für den Freitag gekauft.",
        "Wir haben die Miete von 500 → 600 Euro erhöht",
        "I have chosen File → Print in the menu",
        "Wybierz Plik → Drukuj.",
        "我买了从北京→上海的票",
        "北京→上海。",
        "Ich glaube..dass er morgen kommt.",
        "Otevřeno pondělí..pátek",
        "Das steht in « Datei › Neu",
        "Ahoj,světe",
        "Je to 1,5,2,5 nebo 3",
        'Řekl "ne," "nikdy," a šel',
        "Říká se jim “alfa,” “beta,” a jinak",
        "Er sagte „nein,“ „nie,“ und ging",
        "f(a,b,c) je funkce",
        "Dal mi ★★★★☆ a pak ještě ★ navíc",
        "Koupil jsem velký dům • a psa • a kočku",
        "Znak ● a znak ○ tady",
        'Vzorec =A(B1;"Dům";C2) tady',
        "Ano,ano,ano!",
        "Přijde Jan,Petr,Pavel i jejich dva psi",
    ],
)
def test_other_words_stay_in_their_sentence(text: str) -> None:
    assert len(take_apart(text, "text").sentences) == 1


def test_a_probability_is_not_a_path() -> None:
    [sentence] = take_apart("<p>Gilt P(A | B)?</p>", "html").sentences
    assert sentence.text == "Gilt P(A | B)?"
