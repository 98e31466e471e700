"""Code and signs that touch words come through, translated by the bundled model."""

import re
from collections.abc import Iterator

import pytest

from service import Translator
from service.models.bundle import DEFAULT_BUNDLE


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    with Translator.load(DEFAULT_BUNDLE, device="cpu") as translator:
        yield translator


@pytest.mark.parametrize(
    ("target", "text", "expected"),
    [
        # line breaks and tabs, as strings in programs have them
        ("de", r"Hello,\n\nthanks for your message.", r"Hallo,\\n\\n.*[Dd]ank[^\\]*"),
        ("en", r"Hallo Anna,\n\nwir haben Ihren Brief bekommen.", r"[^\\]+,\\n\\n[Ww]e [^\\]+"),
        ("de", r"One,\ttwo,\tthree", r"Eins,\\tzwei,\\tdrei"),
        ("de", r"first line\r\nsecond line", r"erste Zeile\\r\\nzweite \w+"),
        ("de", r"\nnew line at the start", r"\\n[Nn]eue Zeile am Anfang"),
        ("en", r"Zeile eins\n\tZeile zwei\n", r"Line one\\n\\tLine two\\n"),
        ("de", r"Press \"OK\"\nto go on.", r'[^\\]+ \\"OK\\"\\n\w+ [^\\]+'),
        ("de", r"Visit https://example.com\nThanks!", r"[^\\]+ https://example\.com\\n\w*Dank\w*!"),
        ("en", r"Siehe Seite {0}.\nDanke!", r"See page \{0\}\.\\nThanks?[^\\]*!"),
        ("en", r"Im Ordner src\test und C:\neu", r".*src\\test.*C:\\neu.*"),
        ("de", r"\theta is the angle", r".*\\theta.*"),
        # other escaped signs
        ("en", r"Bitte wählen Sie href\=\"neu\".", r'Please .*href\\=\\"neu\\".*\.'),
        ("en", r"Der Ordner ist leer\: bitte neu", r"[^\\]+\\: [^\\]+"),
        ("de", "Use type='submit' here.", r".*type='submit'.*"),
        ("en", r"Die T\u00fcr ist offen.", r"The door is open\."),
        ("de", r"The door is open.\u00a0Go!", r"Die T\\u00fcr ist offen\.\\u00a0\w+!"),
        ("de", r"The caf\u00E9 is open", r".*[Cc]af\\u00E9.*ge\\u00F6ffnet|.*[Cc]af\\u00E9.*offen"),
        (
            "en",
            r"\ud83d\ude00 Das Haus ist rot \u2026",
            r"\\ud83d\\ude00 The house is red ?\\u2026",
        ),
        ("en", r"Die Tür ist \u00fc", r"The door is \\u00fc"),
        # formulas and commands
        ("de", r"The state $\ket{0}$ is here.", r".*\$\\ket\{0\}\$.*"),
        (
            "en",
            r"Es gilt $$a = \frac{1}{\sqrt{2}}$$ hier.",
            r".*\$\$a = \\frac\{1\}\{\\sqrt\{2\}\}\$\$.*",
        ),
        ("en", r"Das ist \emph{gut} und \textbf{schnell}.", r".*\\emph\{good\}.*\\textbf\{\w+\}.*"),
        (
            "en",
            r"Siehe \ref{tab:haus} und \cite{baum}.",
            r".*\\ref\{tab:haus\} and \\cite\{baum\}\.",
        ),
        ("de", "It costs $5 and $10.", r"[^$]*5 \$[^$]*10 \$\."),
        ("de", "See the `manual`_.", r".*`\w+`_\."),
        # formats, mentions, control tags
        ("en", "%2$#@dateien@", r"%2\$#@dateien@"),
        ("de", "You have %#@files@ in %1$#@folders@.", r".*%#@files@.*%1\$#@folders@.*"),
        ("en", "Ich bin <:traurig:585767> wegen <@!2042>", r".*<:traurig:585767>.*<@!2042>.*"),
        (
            "en",
            "{% trans %}Die Tür ist offen.{% endtrans %}",
            r"\{% trans %\}The .*\.\{% endtrans %\}",
        ),
        ("de", "[% IF x %]The house is red.[% END %]", r"\[% IF x %\]Das .*\.\[% END %\]"),
        # marks and lines
        ("en", "2 Eier (Gr. M)", r"2 eggs \(.*M\)"),
        ("en", "AW: AW: Rechnung", r"AW: AW: \w+"),
        ("de", "Re: Fwd: Invoice", r"Re: Fwd: Rechnung"),
        ("en", "Kapitel 3 – Der Wald", r"Chapter 3 – The \w+"),
        ("en", "Datei &speichern", r".*&\w.*"),
        (
            "de",
            "Signed-off-by: Tom Hill <tom@hill.example>",
            r"Signed-off-by: Tom Hill <tom@hill\.example>",
        ),
        (
            "de",
            "The lamp is red.\n\nTested-by: Bo <b@c.example>",
            r"Die .*\n\nTested-by: Bo <b@c\.example>",
        ),
    ],
)
def test_it_comes_through(translator: Translator, target: str, text: str, expected: str) -> None:
    source = "en" if target == "de" else "de"
    translation = translator.translate(text, source, target).text
    assert re.fullmatch(expected, translation, re.DOTALL), translation


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (r"<p>Hallo,\n\nvielen Dank.</p>", r"<p>\w+,\\n\\nthank[^\\]*</p>"),
        (r"<b>Eins,\tzwei</b>", r"<b>[Oo]ne,\\ttwo</b>"),
        (r"<p>Es gilt $a_1 = \frac{1}{2}$.</p>", r"<p>.*\$a_1 = \\frac\{1\}\{2\}\$.*</p>"),
        (r"<p>Die T\u00fcr <b>ist</b> offen.</p>", "<p>The door <b>is</b> open.</p>"),
        ("<li>2 Eier (Gr. M)</li>", r"<li>2 eggs \(.*M\)</li>"),
    ],
)
def test_it_comes_through_in_html(translator: Translator, html: str, expected: str) -> None:
    translation = translator.translate(html, "de", "en", format="html").text
    assert re.fullmatch(expected, translation, re.DOTALL), translation


def test_words_divided_at_the_ends_of_lines_are_whole(translator: Translator) -> None:
    text = "Das Stadtar-\nchiv wurde im Krieg zer-\nstört. Die Vor-\nund Nachteile sind bekannt."
    translation = translator.translate(text, "de", "en", splitting="sentences").text
    assert re.search(r"(?i)archive.*destroyed", translation)
    assert "disadvantages" in translation
