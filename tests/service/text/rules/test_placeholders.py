"""Parts that are protected in every text: variables, addresses, paths, code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.languages import profile
from service.text.rules.placeholders import Placeholders
from service.text.run import Run
from tests.service.text.pipelines import take_apart, unchanged


def protected(text: str, language: str = "und") -> list[str]:
    run = Placeholders(source=profile(language)).prepare(Run(text))
    return [run.text[one.begin : one.end] for one in run.protected]


LONG = 'user | default("no name", true) | upper | replace("a", "b") | trim'
"""The code of a template that is longer than a name in braces may be."""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Noch %{days} Tage, #{user}!", ["%{days}", "#{user}"]),
        ("Hi ${a.b}, {{ x }}, { $name }, {0}", ["${a.b}", "{{ x }}", "{ $name }", "{0}"]),
        ("Über :count Treffer für :query.", [":count", ":query"]),
        ("Toll :katze_rot: und :+1:", [":katze_rot:", ":+1:"]),
        ("Um 12:30:45, Achtung:danach, ja :) :D", []),
        ("Der Wert __wert__ und [[Seite]]", ["__wert__", "[[Seite]]"]),
        ("<%= user %> hat <% n %> Hunde", ["<%= user %>", "<% n %>"]),
        ("<% x.each do |a| -> %> und <%= 5 % 2 < 3 %>", ["<% x.each do |a| -> %>", "<%= 5 % 2 < 3 %>"]),
        ("Seite %1 von %L2, %n Datei", ["%1", "%L2", "%n"]),
        ("50 % von 20% sind 10 %", []),
        ("Je %,d von %,.2f und %*d, %-*.*f", ["%,d", "%,.2f", "%*d", "%-*.*f"]),
        ("Je %,.2fEuro, %1$,dMal", ["%,.2f", "%1$,d"]),
        ("Am %1$te. %1$tB, %tY um %H:%M, %b", ["%1$te", "%1$tB", "%tY", "%H", "%M", "%b"]),
        ("In %, davon 5 %, und % der 100 %,", []),
        ("Hallo {}, {{}} und { }, !{name}, @{name}", ["{}", "{{}}", "{ }", "!{name}", "@{name}"]),
        ("Ja!{name}", ["{name}"]),
        ("In net/e1000.c:45:3, main.c, src/ab.R und z.B.h", ["net/e1000.c", "main.c", "src/ab.R"]),
        ("Kosten/z.B. Miete, 10 Euro/p.a. und he/she.I am", []),
        ("Bei ws://[::1]:90/das, http://[fe80::1]/ein", ["ws://[::1]:90/das", "http://[fe80::1]/ein"]),
        (f"a {{{{ {LONG} }}}} b ${{{LONG}}}", [f"{{{{ {LONG} }}}}", f"${{{LONG}}}"]),
        (f"{{% if {LONG} %}} a %{{{{#{LONG}}}}}", [f"{{% if {LONG} %}}", f"%{{{{#{LONG}}}}}"]),
        (f"a {{# {LONG} #}} ${{{{ f('{{0}}') }}}}", [f"{{# {LONG} #}}", "${{ f('{0}') }}"]),
        (f"one {{{{You have {{$n}} files, {LONG}}}}}", ["{$n}"]),
        (f"{{{LONG}}}", []),  # prose, more likely
        ("Use '{'name'}' or '{', but '{x}'", ["'{'name'}'", "'{'", "{x}"]),
        ("it's'{a}' '{'a b", ["{a}", "'{'"]),
        ("$t(schluessel) und $t(a:b.c, {'n': 1})", ["$t(schluessel)", "$t(a:b.c, {'n': 1})"]),
        ("Für $name (Wien) und $name(n)", ["$name", "$name(n)"]),
        ("##zahl##, @@name@@, $$name$$", ["##zahl##", "@@name@@", "$$name$$"]),
        ("___name___, a##, b## und @@", ["___name___"]),
        ("Setze $HOME, zahle $5", ["$HOME"]),
        ("Siehe www.haus.example/a?b=1. Oder haus.example!", ["www.haus.example/a?b=1", "haus.example"]),
        ("In a https://a.example/wiki/B_(c) und (http://a.example/d).", ["https://a.example/wiki/B_(c)", "http://a.example/d"]),
        ("$a$ und $HAUS$, 5$ *|NAME|*", ["$a$", "$HAUS$", "*|NAME|*"]),
        ("%1$#@hunde@, %#@x@ und %@ da", ["%1$#@hunde@", "%#@x@", "%@"]),
        ("<@!20>, <#8>, <:rot_a:5>", ["<@!20>", "<#8>", "<:rot_a:5>"]),
        ("<a:b:5>, <t:16:R>, </hilfe a:5>", ["<a:b:5>", "<t:16:R>", "</hilfe a:5>"]),
        ("a <3>, <a:b>, 1 <:2 >", []),
        (r"In $\ket{0}$ und $a_1 + b$", [r"$\ket{0}$", "$a_1 + b$"]),
        (r"In $$x = \frac{1}{2}$$.", [r"$$x = \frac{1}{2}$$"]),
        ("Von $5 bis $10 (a=5), 3$ und 5 = 5$, US$", []),
        (r"Mit \ref{a:b}, \LaTeX, \frac{1}{\sqrt{2}}", [r"\ref{a:b}", r"\LaTeX", r"\frac{1}{\sqrt{2}}"]),
        (r"Ja\nnein, \tist, \nin, \u00fcber, \ x", []),
        (r"""href="a b", type='x', src\=\"c\" """, ['href="a b"', "type='x'", r"src\=\"c\""]),
        ("""title="Ein Hund", a = "b", x="y" """, []),
        (r"Auf https://a.example/b\nund www.a.example\tist", ["https://a.example/b", "www.a.example"]),
        ("Zu ../../../a/b.c und cd ../.. und ..", ["../../../a/b.c", "../.."]),
        ("Nimm --neue-datei=x/y. So--neu-da", ["--neue-datei=x/y"]),
        ("das --write-Flag und --no-cache-Option", ["--no-cache"]),
        ("Folge @haus.hund.katze. @Anna.Dann", ["@haus.hund.katze", "@Anna"]),
        ("Danke @bob.wir sind --wie-immer-- da", ["@bob"]),
        ("Von https://{host}/{{b}}/c?d={e}. Oder", ["https://{host}/{{b}}/c?d={e}"]),
        ("{https://a.example/{b}} (https://a.example/{b c})", ["https://a.example/{b}", "https://a.example/{b"]),
        ("Auf www.b.example steht http://c.example/x_(y), ja", ["www.b.example", "http://c.example/x_(y)"]),
        ("Noch %d%% übrig", ["%d", "%%"]),
        ("Am %date% %startLink%hier%endLink%, 5%des %n%", ["%date%", "%startLink%", "%endLink%", "%n%"]),
        ("Noch %dTage und %sTage%%", ["%d", "%s", "%%"]),
        ("Lies README.md und müller.de", ["README.md", "müller.de"]),
        ("Ende.Anfang, z.B. d.h. u.a. 3.50 v1.2.3", []),
        ("In /var/log/x.log, ~/daten/neu, ./a/b oder und/oder", ["/var/log/x.log", "~/daten/neu", "./a/b"]),
        ("Unter D:\\Fotos\\Urlaub.jpg. Und \\\\nas\\filme, ja", ["D:\\Fotos\\Urlaub.jpg", "\\\\nas\\filme"]),
        ("``a b`` und `c`, ein ` allein", ["``a b``", "`c`"]),
        ("Meier &amp; Sohn &#8211; R&D", ["&amp;", "&#8211;"]),
        ("Name: ______ und Ort ........ bitte", ["______", "........"]),
        ("Na ja.... gut...", []),
        ("Ich, ..........., (______) und . . . . .", ["...........", "______", ". . . . ."]),
        ("%d%% von ftp://a.example/b, redis://c:1", ["%d", "%%", "ftp://a.example/b", "redis://c:1"]),
        ("C++ oder C#, A+ und A++-Geräte, 1+1", ["C++", "C#", "A++"]),
        ("Starte ./bauen und ~/x, in /etc/ oder /etc", ["./bauen", "~/x", "/etc/"]),
        ("Die .btn-rot, (.gitignore) und .txt-Datei .Ende ...und", [".btn-rot", ".gitignore", ".txt"]),
        ("Notepad++, A+++ und F#, c++17 und 3#", ["Notepad++", "A+++", "F#"]),
        (
            "Als application/json, image/svg+xml, text/html oder video/*",
            ["application/json", "image/svg+xml", "text/html", "video/*"],
        ),
        (
            "Ein audio/mp4, application/x-www-form-urlencoded, kein audio/musik, text/bild/x oder a/b",
            ["audio/mp4", "application/x-www-form-urlencoded"],
        ),
        ("Die font/size, das application/form, als application/pdf", ["application/pdf"]),
        ("Als multipart/mixed oder font/woff2", ["multipart/mixed", "font/woff2"]),
        ("Mit @bund/paket-eins und @a-b/c, @anna/Max", ["@bund/paket-eins", "@a-b/c", "@anna"]),
        ("Öffne lied.mp3, BRIEF.PDF und java.util.List", ["lied.mp3", "BRIEF.PDF", "java.util.List"]),
        ("Ja.Ich, Anna.Weber, 10.30pm, um 5.Und, ca.10.000 Euro", []),
        ("[ ] ja, [  ] nein, [] egal, [x] doch", ["[ ]", "[  ]", "[]"]),
        ("Файл config.yaml в /etc/app/x", ["config.yaml", "/etc/app/x"]),
        ("{name} さん、%d 件", ["{name}", "%d"]),
        ("%dneue, %sHund, je %.2fEuro, %ldneue", ["%d", "%s", "%.2f", "%ld"]),
        ("%1$sHund, %(name)sKatze, %@Maus, %1Seite", ["%1$s", "%(name)s", "%@", "%1"]),
        ("100%sicher, 5 %davon, 20%dicker, a%20b", []),
        ("`x=1`Hund, Katze`f(x)`, a```b\\c```d", ["`x=1`", "`f(x)`", "```b\\c```"]),
        ("In $HOME/bin, ${DATEN}/neu/a.txt. Je $preis/Tag", ["$HOME/bin", "${DATEN}/neu/a.txt", "$preis"]),
        ("`Ali met the Shi`ite leader, ``a b``потом", []),
        ("`s Wetter is schee, i hob d`Anna gsehn", []),
        ("`n Abend, wie geht`s, `ne Frage", []),
        ("Er sagt: `geht das gut` und don`t", ["`geht das gut`"]),
        ("It`s fine (really), isn`t it?", []),
        ("Use `Item`s (not `Thing`), ``x``es and `f(x)`s.", ["`Item`s", "`Thing`", "``x``es", "`f(x)`s"]),
        ("Option`--force` mit, das Feld`name`, y`all, y`all.", ["`--force`", "`name`"]),
        ("Ein rock`n` roll, 5`-10` Minuten, boys`,girls` toys, 48°12`30`, sag`s`", []),
        ("Ein rock`n`roll, `rm -rf`ing, `Abd al-`Aziz und `Puffer`objekt", []),
        ("More at x.com/user, t.me/kanal, X.com/y, a.co.", ["x.com/user", "t.me/kanal", "X.com/y", "a.co"]),
        ("Z.B. d.h. z.b. das, p.m.today, z.B.ich, A.Weber, um 5.juni", []),
        ("See git@github.com:user/repo.git.", ["git@github.com:user/repo.git"]),
        ("An git@a.b-c.example:~x/y/z, an a@b.example: ja/nein", ["git@a.b-c.example:~x/y/z", "a@b.example"]),
        ("Es kostet 80 $US/Fass und 5$CA/mois", ["$US"]),
        ('Mit "--force", (--size=a/b.txt) oder „--no-edit“', ["--force", "--size=a/b.txt", "--no-edit"]),
        ('"--force", (--help), «--a-b», »--x=1«, ‚--no‘', ["--force", "--help", "--a-b", "--x=1", "--no"]),
        ("\"--well, I don't know,\" he said. „--aber, mein Herr!“ (--nein, danke) '--ja\"", []),
        ('Er --wie immer-- sagte: "--und dann", --kurz', []),
        ("je 10%(netto)auf, %(netto)s", ["%(netto)s"]),
        ("%<name>s hat %<zahl>.2f", ["%<name>s", "%<zahl>.2f"]),
        ("Ruf tel:+431 an, mailto:a@b.example.", ["tel:+431", "mailto:a@b.example"]),
        ("Um magnet:?xt=urn:btih:a und Hotel:5", ["magnet:?xt=urn:btih:a"]),
        ("In /a/b?x=1&y=-z. Oder ./c/d#e, /a/b?", ["/a/b?x=1&y=-z", "./c/d#e", "/a/b"]),
        ("Öffne /suche?q=1, /a#b oder ja/nein?", ["/suche?q=1", "/a#b"]),
        ("Lies src/main.rs, a-b/c_d/e.tar.gz, km/h und/oder src/x", ["src/main.rs", "a-b/c_d/e.tar.gz"]),
        ("In 00:1B:44:11:3A:b7, um 12:30:45, a:b:c:d:e:f, 1:00:1B:44:11:3A:b7", ["00:1B:44:11:3A:b7"]),
    ],
)  # fmt: skip
def test_placeholders_are_found(text: str, found: list[str]) -> None:
    assert protected(text) == found


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("en", "Replace it with $1 and $2.", ["$1", "$2"]),
        ("en", "Welcome, $1!", ["$1"]),
        ("en", "($2) $1$3: $1-$4", ["$2", "$1", "$3", "$1", "$4"]),
        ("en", "$1's page, {{PLURAL:$2|file|files}}", ["$1", "{{PLURAL:$2|file|files}}"]),
        ("de", "die $1-Seite", ["$1"]),
        ("zh", "欢迎$1来到$2。", ["$1", "$2"]),
        ("en", "It costs $5", []),
        ("en", "from $1 to $5", []),
        ("en", "$2 and $3", []),
        ("en", "$1, $2 or $1.50", []),
        ("en", "$1 for US$1", ["$1"]),
        ("en", "$1,000 or $1k", []),
        ("en", "$1 million", []),
        ("de", "$1 Mio. und $2 Mrd.", []),
        ("zh", "$1万", []),
        ("en", "$1-2", []),
    ],
)
def test_numbered_dollars_are_placeholders_unless_they_are_amounts(
    language: str, text: str, found: list[str]
) -> None:
    assert protected(text, language) == found


@pytest.mark.parametrize(
    "kept",
    [
        *("a.b@c.example", "www.b.example", "https://a.example/b?c=d", "config.json"),
        *("example.com/a",),
        *("C++", "C#", "@somebody", "#neu", "/etc/passwd", "~/x/y", "$name", "$HOME/bin", ":name"),
        *("%5d", "%i", "%1", "%n", "__name__", "C:\\Daten\\x", "java.util.List", "%name%"),
    ],
)
@pytest.mark.parametrize(
    "text", ["请在{}中查看。", "これは{}、そして", "นี่คือ{}ครับ", "འདིར{}ལྟ་རོགས", "가격은 {}을 보세요"]
)
def test_words_in_scripts_without_spaces_are_not_part_of_a_placeholder(
    text: str, kept: str
) -> None:
    assert protected(text.format(kept)) == [kept]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "见https://zh.wikipedia.example/wiki/维基_(x)。谢谢",
            ["https://zh.wikipedia.example/wiki/维基_(x)"],
        ),
        ("存到D:\\数据\\新.txt，好", ["D:\\数据\\新.txt"]),
        ("《三体》@用户 #标签 好", ["@用户", "#标签"]),
        ("（https://a.example/b）", ["https://a.example/b"]),
        ("是/否/取消 %名前%です，是%名前%。100%的C++", ["%名前%", "%名前%", "C++"]),
        *(
            (f"Siehe {address} für mehr", [address])
            for address in (
                "https://zh.wikipedia.example/wiki/C语言",
                "https://zh.wikipedia.example/wiki/K팝",
                "https://a.example/?q=ab中文&x=1",
                "D:\\report报告.txt",
            )
        ),
    ],
)
def test_addresses_may_contain_scripts_without_spaces(text: str, found: list[str]) -> None:
    assert protected(text) == found


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ("<p>Im Wald #<span>Pilze</span> da</p>", "#<span>Pilze</span>"),
        (
            '<p>Da: <a href="x"><i>https://</i><b>a.example/lang</b><i>/b</i></a> ja</p>',
            "<i>https://</i><b>a.example/lang</b><i>/b</i>",
        ),
        ("<p>Frag <b>@</b>anna mal</p>", "<b>@</b>anna"),
    ],
)
def test_tags_within_a_placeholder_stay_in_it(html: str, kept: str) -> None:
    document = take_apart(html, "html", "sentences")
    [sentence] = document.sentences
    assert [one.written for one in sentence.stand_ins] == [kept]
    assert unchanged(document) == html


def test_a_placeholder_across_elements_is_protected_up_to_the_tag() -> None:
    html = "<p><b>Frag @an</b>na mal</p>"
    document = take_apart(html, "html", "sentences")
    assert [one.text for one in document.sentences] == ["Frag Tomna mal"]
    assert unchanged(document) == "<p><b>Frag @anna</b> mal</p>"  # as any tag within a word


def test_a_hashtag_at_the_end_keeps_its_tags_too() -> None:
    html = "<p>Im Wald #<span>Pilze</span></p>"
    document = take_apart(html, "html", "sentences")
    assert document.parts[0] == "<p>"
    assert document.sentences[0].text == "Im Wald"
    assert document.parts[2:] == (" #<span>Pilze</span>", "</p>")


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Follow the @jo account.", "Folge dem @jo-Konto.", "Folge dem @jo Konto."),
        (
            "From a.example/b to info@a.example: mail",
            "Von a.example/b-Seite zu info@a.example-Post",
            "Von a.example/b Seite zu info@a.example Post",
        ),
        ("The ~/.bashrc file", "Die ~/.bashrc-Datei", "Die ~/.bashrc Datei"),
        ("The https://a.example page", "Die https://a.example-Seite", "Die https://a.example Seite"),
        ("The {a/b} file and `a/b` code", "Die {a/b}-Datei, `a/b`-Code", "Die {a/b}-Datei, `a/b`-Code"),
        ("The config.json file", "Die config.json-Datei", "Die config.json-Datei"),
        ("The @jo-like one", "Die @jo-artige", "Die @jo-artige"),
        ("See @jo - now", "Siehe @jo - jetzt", "Siehe @jo - jetzt"),
    ],
)  # fmt: skip
def test_no_hyphen_leads_an_address_elsewhere(source: str, translation: str, expected: str) -> None:
    rule = Placeholders()
    source_run, translated_run = rule.prepare(Run(source)), Run(translation)
    for part in source_run.protected:
        begin = translation.index(text := source_run.text[part.begin : part.end])
        translated_run = translated_run.protecting([(begin, begin + len(text))])
    restored = rule.restore(source_run, translated_run)
    assert restored.text == expected
    kept = [restored.text[one.begin : one.end] for one in restored.protected]
    assert kept == [translation[one.begin : one.end] for one in translated_run.protected]


@given(st.text(alphabet="ab.%{}$&;/\\_[]#@ <1", max_size=40))
def test_a_copied_text_is_unchanged(text: str) -> None:
    assert unchanged(take_apart(text, "text")) == text
