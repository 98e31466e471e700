"""The page at / and the one at /docs, in a real browser where there is one."""

import json
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import pytest
from fastapi import Body, FastAPI, Response
from fastapi import Request as StarletteRequest
from fastapi.responses import HTMLResponse, StreamingResponse

from service.api import page
from tests.conftest import TINY_BUNDLE
from tests.e2e.browser import (
    BROWSER,
    PAGE,
    blocked,
    serving_app,
    serving_pages,
    serving_scripted_page,
    visit,
)
from tests.e2e.test_server import serving

Request = Annotated[dict[str, Any], Body()]


def test_the_page_contacts_no_other_host() -> None:
    fetched = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(\S+)""", PAGE.read_text("utf-8"))
    assert fetched
    for address in fetched:
        assert not re.match(r"(?:https?:)?//", address), address


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_page_translates() -> None:
    with serving(TINY_BUNDLE, precision="fp32") as server:
        assert httpx.get(server.url, timeout=60).headers["content-type"].startswith("text/html")
        fragment = f"text={quote('Der alte Hund schläft.')}&source=auto&target=en"
        shown, console = visit(f"{server.url}/#{fragment}")
    assert re.search(r'<div id="output"[^>]* lang="en"[^>]*>The old dog sleeps\.</div>', shown)
    assert re.search(r'<span id="detected"[^>]*>Detected: German</span>', shown)
    assert re.search(r'<textarea id="text"[^>]* lang="de"', shown)
    assert re.search(r"<span id=\"count\"[^>]*>22 characters</span>", shown)
    assert re.search(r"<span id=\"status\"[^>]*>Translated in \d+ ms</span>", shown)
    for part in ("alternatives", "alignment"):
        assert re.search(rf'<details class="more" id="{part}-part">', shown), "folded"
    assert '"q":"Der alte Hund schläft."' in shown, "the request as curl"
    assert not blocked(console)


OPEN_ALTERNATIVES = """
    const part = document.getElementById("alternatives-part"), area = document.getElementById("text");
    document.getElementById("target").value = "en";
    new MutationObserver(() => {
      if (part.hidden) return;
      part.open = true;
      setTimeout(() => { for (const one of part.querySelectorAll("details")) one.open = true; }, 100);
    }).observe(document.getElementById("output"), {childList: true});
    area.value = "Der Hund schläft. Das Kind wartet.";
    area.dispatchEvent(new Event("input"));"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize(("maximum", "wanted"), [(0, None), (2, 2), (7, 3)])
def test_alternatives_are_for_each_sentence_and_on_demand(maximum: int, wanted: int | None) -> None:
    asked: list[dict[str, Any]] = []
    sentences = {"Der Hund schläft.": "The dog sleeps.", "Das Kind wartet.": "The child waits."}

    def translate(fields: Request) -> dict[str, Any]:
        asked.append(fields)
        if count := fields.get("alternatives"):
            others = [f"{number}. {sentences[fields['q']]}" for number in range(count)]
            return {"translatedText": "", "alternatives": others}
        details = [{"source": one, "target": other} for one, other in sentences.items()]
        return {"translatedText": " ".join(sentences.values()), "details": [details]}

    with serving_scripted_page(OPEN_ALTERNATIVES, translate, maximum) as url:
        shown, _ = visit(url)
    assert "alternatives" not in asked[0]
    # both are asked for at once, so they may arrive in any order
    assert sorted((one["q"], one["alternatives"]) for one in asked[1:]) == sorted(
        (sentence, wanted) for sentence in sentences if wanted
    )
    for sentence in sentences.values():
        for number in range(wanted or 0):
            assert f'<li lang="en" dir="auto">{number}. {sentence}</li>' in shown
    assert shown.count("<li ") == len(sentences) * (wanted or 0)


ALIGNED = {
    "translatedText": "On Monday the dog waits.",
    "details": [
        [
            {
                "source": "Der Hund wartet am Montag.",
                "target": "On Monday the dog waits.",
                "sourceTokens": ["Der", "Hund", "wartet", "am", "Montag", "."],
                "targetTokens": ["On", "Monday", "the", "dog", "waits", "."],
                "alignment": [
                    [0.1, 0.0, 0.0, 0.8, 0.1, 0.0],
                    [0.0, 0.0, 0.0, 0.4, 0.6, 0.0],
                    [0.9, 0.1, 0.0, 0.0, 0.0, 0.0],
                    [0.2, 0.8, 0.0, 0.0, 0.0, 0.0],
                    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
                    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
                ],
            }
        ]
    ],
}


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_word_is_highlighted_together_with_its_partners() -> None:
    script = """
        const $ = (id) => document.getElementById(id), lit = [];
        const look = () => lit.push([...(CSS.highlights.get("partners") || [])]
          .map((one) => one.startContainer.data.slice(one.startOffset, one.endOffset)).join("-"));
        const press = (key) => { $("output").dispatchEvent(new KeyboardEvent("keydown", {key})); look(); };
        const enter = (text) => { $("text").value = text; $("text").dispatchEvent(new Event("input")); };
        new MutationObserver((_, observer) => {
          observer.disconnect();
          const word = new Range(), text = $("output").firstChild;
          word.setStart(text, 14);
          word.setEnd(text, 17);
          const {left, top, width, height} = word.getBoundingClientRect();
          const place = {clientX: left + width / 2, clientY: top + height / 2};
          setTimeout(() => {
            $("output").dispatchEvent(new MouseEvent("mousemove", place));
            look();
            $("output").dispatchEvent(new MouseEvent("mouseleave"));
            look();
            $("text").focus();
            $("text").setSelectionRange(16, 16);
            document.dispatchEvent(new Event("selectionchange"));
            look();
            press("ArrowRight");
            press("ArrowRight");
            press("ArrowLeft");
            enter("Der Hund wartet.");
            look();
            document.title = lit.join(", ");
          }, 10);
        }).observe($("output"), {childList: true});
        $("target").value = "en";
        enter("Der Hund wartet am Montag.");"""
    with serving_scripted_page(script, lambda: ALIGNED) as url:
        shown, _ = visit(url)
    expected = "dog-Hund, , am-On-Monday, On-am, Monday-am-Montag, On-am, "
    assert f"<title>{expected}</title>" in shown


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_alignment_is_drawn_when_it_is_opened() -> None:
    script = """
        const $ = (id) => document.getElementById(id);
        new MutationObserver(() => { $("alignment-part").open = true; })
          .observe($("output"), {childList: true});
        $("text").value = "Der Hund wartet am Montag.";
        $("text").dispatchEvent(new Event("input"));"""
    with serving_scripted_page(script, lambda: ALIGNED) as url:
        shown, _ = visit(url)
    assert shown.count("<path d=") == 8, "each target word's strongest, and two more"
    assert 'aria-label="On: am, Monday: Montag, the: Der, dog: Hund, waits: wartet, .: ."' in shown
    assert shown.count('<div class="words" lang=') == 2


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_whoever_types_without_a_pause_sees_a_translation_every_second() -> None:
    asked: list[str] = []

    def translate(fields: Request) -> dict[str, str]:
        asked.append(fields["q"])
        return {"translatedText": fields["q"].upper()}

    script = """
        const area = document.getElementById("text");
        const typing = setInterval(() => {
          area.value += "a";
          area.dispatchEvent(new Event("input"));
          if (area.value.length === 35) clearInterval(typing);
        }, 100);"""
    with serving_scripted_page(script, translate) as url:
        shown, _ = visit(url)
    assert re.search(rf'<div id="output"[^>]*>{"A" * 35}</div>', shown)
    assert 4 <= len(asked) <= 6, "three while typing, and the last"
    assert asked[-1] == "a" * 35


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_long_text_arrives_sentence_by_sentence() -> None:
    first, second, third = "Ein Hund. ", "Eine Katze!\n\n", "z" * 2000

    def translate(fields: Request, request: StarletteRequest) -> StreamingResponse:
        assert request.headers["accept"] == "text/event-stream"
        targets = [(2, third, "Z"), (0, first.strip(), "A dog."), (1, second.strip(), "A cat!")]

        async def events() -> AsyncIterator[str]:
            for segment, source, target in targets:
                data = {"text": 0, "segment": segment, "source": source, "target": target}
                yield f"event: segment\ndata: {json.dumps(data)}\n\n"
            yield 'event: done\ndata: {"translatedText":"A dog. A cat!\\n\\nZ"}\n\n'

        return StreamingResponse(events(), media_type="text/event-stream")

    script = f"""
        const $ = (id) => document.getElementById(id), seen = [];
        const {{set}} = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");
        Object.defineProperty($("output"), "textContent", {{set(text) {{
          if (text) seen.push(JSON.stringify(text));
          document.title = seen.join(" ");
          set.call(this, text);
        }}}});
        $("text").value = {json.dumps(first + second + third)};
        $("text").dispatchEvent(new Event("input"));"""
    with serving_scripted_page(script, translate) as url:
        shown, _ = visit(url)
    expected = [" … Z …", "A dog. … Z …", "A dog. A cat!\n\nZ …", "A dog. A cat!\n\nZ"]
    assert f"<title>{' '.join(map(json_text, expected))}</title>" in shown
    assert re.search(r'<span id="status"[^>]*>Translated in', shown)


def json_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize(
    ("guess", "told"),
    [
        ({"language": "de", "confidence": 97}, "Detected: German"),
        ({"language": "de", "confidence": 40}, "Detected: German (40%)"),
        (
            {"language": "en", "confidence": 1, "unsupported": "fr"},
            "This looks like French, which this server does not translate.",
        ),
    ],
)
def test_the_page_says_which_language_it_is(guess: dict[str, object], told: str) -> None:
    with serving_scripted_page(
        "", lambda: {"translatedText": "x", "detectedLanguage": guess}
    ) as url:
        shown, _ = visit(f"{url}/#text=Bonjour")
    assert re.search(rf'<span id="detected"[^>]*>{re.escape(told)}</span>', shown)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_what_is_not_translated_is_listed_beside_the_translation() -> None:
    details = [{"source": f"Satz {n}.", "target": "x", "problem": f"lost {n}"} for n in range(7)]
    answer = {"translatedText": "x", "details": [[{"source": "Gut.", "target": "y"}, *details]]}
    with serving_scripted_page("", lambda: answer) as url:
        shown, _ = visit(f"{url}/#text=Hallo")
    [listed] = re.findall(r'<ul id="problems"[^>]*>(.*?)</ul>', shown)
    told = re.findall(r"<li[^>]*>(.*?)</li>", listed)
    assert told == [*(f"Satz {n}.: lost {n}" for n in range(5)), "and 2 more"]


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("docs", [True, False])
def test_links_that_lead_nowhere_are_hidden(docs: bool) -> None:
    with serving(TINY_BUNDLE, precision="fp32", docs=str(docs)) as server:
        shown, _ = visit(server.url)
    hidden = {name for name, mark in re.findall(r'<a href="(\S+)"( hidden="")?>', shown) if mark}
    assert hidden == (set() if docs else {"docs"})


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_page_reports_by_how_much_a_text_is_too_long() -> None:
    with serving(TINY_BUNDLE, precision="fp32", max_text_characters="10") as server:
        shown, _ = visit(f"{server.url}/#text={quote('Der alte Hund schläft 😀.')}")
    assert "The text has 24 characters, the limit is 10." in shown
    assert re.search(r'<div id="output"[^>]*></div>', shown)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_text_in_the_target_language_is_translated_into_another() -> None:
    with serving(TINY_BUNDLE, precision="fp32") as server:
        fragment = f"text={quote('Der alte Hund schläft.')}&source=auto&target=de"
        shown, _ = visit(f"{server.url}/#{fragment}")
    assert re.search(r'<div id="output"[^>]*>The old dog sleeps\.</div>', shown)
    assert '"source":"auto","target":"en"' in shown, "the request as curl"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_page_tries_again_while_the_service_is_unavailable() -> None:
    attempts: list[dict[str, Any]] = []

    def translate(asked: Request, answer: Response) -> dict[str, str]:
        attempts.append(asked)
        if len(attempts) < 3:
            answer.status_code = 503
            return {"error": "the service is stopping"}
        return {"translatedText": "Hello!"}

    script = """
        const error = document.getElementById("error"), said = new Set([error.textContent]);
        new MutationObserver(() => { said.add(error.textContent); document.title = [...said].join("|"); })
          .observe(error, {childList: true});"""
    with serving_scripted_page(script, translate) as url:
        shown, _ = visit(f"{url}/#text=Hallo&source=de&target=en")
    assert re.search(r"<title>[^<]*the service is stopping\. Trying again …[^<]*</title>", shown)
    assert re.search(r'<div id="output"[^>]*>Hello!</div>', shown)
    assert re.search(r'<span id="error"[^>]*></span>', shown)
    assert [asked["q"] for asked in attempts] == ["Hallo"] * 3


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize(
    ("after", "milliseconds"), [("7", 7000), ("-5", 1000), ("1e9", 3600000), ("soon", 2000)]
)
def test_the_page_waits_as_long_as_the_service_says(after: str, milliseconds: int) -> None:
    def translate(answer: Response) -> dict[str, str]:
        answer.status_code = 429
        answer.headers["retry-after"] = after
        return {"error": "too many requests"}

    script = """
        const area = document.getElementById("text"), timer = setTimeout, waits = [];
        window.setTimeout = (call, wait) => { waits.push(wait); return timer(call, wait); };
        new MutationObserver(() => timer(() => { document.title = waits.slice(0, 2).join(", "); }))
          .observe(document.getElementById("error"), {childList: true});
        area.value = "Hallo";
        area.dispatchEvent(new Event("input"));"""
    with serving_scripted_page(script, translate) as url:
        shown, _ = visit(url)
    assert f"<title>300, {milliseconds}</title>" in shown


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_name_and_password_in_the_address_go_nowhere_else() -> None:
    with serving_scripted_page("", lambda: {"translatedText": "Hello"}) as url:
        shown, _ = visit(f"{url.replace('//', '//anna:secret@')}/#text=Hallo&source=de&target=en")
    assert re.search(r'<div id="output"[^>]*>Hello</div>', shown)
    assert "secret" not in shown
    assert "curl http://127.0.0.1" in shown


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_proxys_page_is_not_taken_for_a_translation() -> None:
    with serving_scripted_page("", lambda: HTMLResponse("<p>Please log in")) as url:
        shown, _ = visit(f"{url}/#text=Hallo")
    assert "The answer is not from the service, but perhaps from a proxy." in shown


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_an_api_key_may_have_any_characters() -> None:
    def translate(asked: Request) -> dict[str, str]:
        return {"translatedText": asked["api_key"]}

    script = """
        document.getElementById("text").value = "Hallo";
        document.getElementById("key").value = " schlüssel€😀 ";
        document.getElementById("key").dispatchEvent(new Event("change"));"""
    with serving_scripted_page(script, translate) as url:
        shown, _ = visit(url)
    assert re.search(r'<div id="output"[^>]*>schlüssel€😀</div>', shown)
    assert '"api_key":"YOUR_KEY"' in shown, "the request as curl, without the key"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize(
    ("name", "content", "output"),
    [
        ("letter.html", "'<p>a</p>'", "html: &lt;p&gt;a&lt;/p&gt;"),
        ("utf-8.txt", "'\ufeffGrüße …'", "text: Grüße …"),
        (
            "windows.txt",
            r"Uint8Array.from('Gr\xfc\xdfe \x85', (one) => one.charCodeAt())",
            "text: Grüße …",
        ),
        ("notepad.txt", "Uint8Array.of(255, 254, 71, 0, 252, 0)", "text: Gü"),
    ],
)
def test_a_dropped_file_is_translated(name: str, content: str, output: str) -> None:
    def translate(asked: Request) -> dict[str, str]:
        return {"translatedText": f"{asked['format']}: {asked['q']}"}

    with serving_scripted_page(dropping(name, content), translate) as url:
        shown, _ = visit(url)
    assert re.search(rf'<div id="output"[^>]*>{output}</div>', shown)
    assert re.search(r'<span id="error"[^>]*></span>', shown)


def dropping(name: str, content: str) -> str:
    return f"""
        const files = new DataTransfer();
        files.items.add(new File([{content}], "{name}"));
        const event = {{bubbles: true, cancelable: true, dataTransfer: files}};
        document.body.dispatchEvent(new DragEvent("drop", event));"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("letter.docx", "Uint8Array.of(80, 75, 3, 4, 255)", "letter.docx is not a text file."),
        ("notes.txt", "Uint8Array.of(255, 254, 0)", "notes.txt is not a text file."),
        (
            "long.txt",
            "'a'.repeat(5001)",
            "long.txt has 5,001 characters, the limit is 5,000 characters.",
        ),
        (
            "longer.txt",
            "'a'.repeat(20001)",
            "longer.txt has 20,001 bytes, the limit is 5,000 characters.",
        ),
    ],
)
def test_a_file_that_is_refused_changes_nothing(name: str, content: str, error: str) -> None:
    script = f"""
        const waiting = setInterval(() => {{
          if (!document.getElementById("output").textContent) return;
          clearInterval(waiting);
          {dropping(name, content)}
        }}, 50);"""
    with serving_scripted_page(script, lambda: {"translatedText": "Hello"}) as url:
        shown, _ = visit(f"{url}/#text=Hallo")
    assert re.search(r'<div id="output"[^>]*>Hello</div>', shown)
    assert '"q":"Hallo"' in shown, "the request as curl"
    assert re.search(rf'<span id="error"[^>]*>{error}</span>', shown)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_text_that_replaces_a_file_is_not_taken_for_html() -> None:
    asked: list[tuple[str, str]] = []

    def translate(fields: Request) -> dict[str, str]:
        asked.append((fields["q"], fields["format"]))
        return {"translatedText": f"<p>{len(asked)}</p>"}

    script = """
        const $ = (id) => document.getElementById(id), area = $("text");
        const type = (text) => {
          area.dispatchEvent(new InputEvent("beforeinput"));
          document.execCommand("insertText", false, text);
        };
        const steps = [
          () => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(["<p>Hund</p>"], "seite.html"));
            document.body.dispatchEvent(new DragEvent("drop", {bubbles: true, dataTransfer}));
          },
          () => document.execCommand("undo"),
          () => document.execCommand("redo"),
          () => { area.setSelectionRange(7, 7); type("e"); },
          () => { area.select(); type("<3 dich & mich"); },
          () => document.execCommand("undo"),
          () => $("swap").click(),
          () => { location.hash = `text=${encodeURIComponent("<b> & mehr")}`; },
          () => { document.title = $("curl").textContent; },
        ];
        new MutationObserver(() => steps.shift()()).observe($("output"), {childList: true});
        area.focus();
        type("<3 ich");"""
    with serving_scripted_page(script, translate) as url:
        shown, _ = visit(url)
    assert asked == [
        ("<3 ich", "text"),
        ("<p>Hund</p>", "html"),
        ("<3 ich", "text"),  # undone
        ("<p>Hund</p>", "html"),  # redone
        ("<p>Hunde</p>", "html"),
        ("<3 dich & mich", "text"),
        ("<p>Hunde</p>", "html"),  # undone
        ("<p>7</p>", "html"),  # swapped
        ("<b> & mehr", "text"),
    ]
    assert re.search(r"<title>curl [^<]*&lt;b&gt; &amp; mehr[^<]*</title>", shown)
    assert not re.search(r"<title>[^<]*format", shown)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_only_the_translation_of_the_text_shown_is_used() -> None:
    script = """
        const $ = (id) => document.getElementById(id), used = [], send = fetch;
        const use = () => {
          for (const id of ["copy", "save", "swap"]) $(id).click();
          document.body.dispatchEvent(
            new KeyboardEvent("keydown", {altKey: true, code: "KeyS", bubbles: true}));
        };
        navigator.clipboard.writeText = async (text) => { used.push(`copied ${text}`); };
        URL.createObjectURL = (blob) => {
          blob.text().then((text) => {
            used.push(`saved ${text}`);
            document.title = used.join(", ");
          });
          return "";
        };
        HTMLAnchorElement.prototype.click = () => {};   // nothing is downloaded
        const enter = (text) => { $("text").value = text; $("text").dispatchEvent(new Event("input")); };
        window.fetch = (...request) => {
          const answer = send(...request);
          if ($("text").value === "zwei") use();   // while the translation is under way
          return answer;
        };
        new MutationObserver(() => {
          if ($("output").textContent === "ONE") { enter("zwei"); use(); }
          if ($("output").textContent === "TWO") {
            used.push(`text ${$("text").value}`);
            use();
          }
        }).observe($("output"), {childList: true});
        enter("eins");"""
    answers = {"eins": "ONE", "zwei": "TWO", "TWO": "zwei"}

    def translate(asked: Request) -> dict[str, str]:
        return {"translatedText": answers[asked["q"]]}

    with serving_scripted_page(script, translate) as url:
        shown, _ = visit(url)
    assert "<title>text zwei, copied TWO, saved TWO</title>" in shown
    assert re.search(r'<div id="output"[^>]*>zwei</div>', shown), "the translation after the swap"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_page_remembers_the_languages() -> None:
    script = """
        document.getElementById("source").value = "en";
        document.getElementById("source").dispatchEvent(new Event("change"));
        start();"""
    with serving_scripted_page(script, lambda: {}) as url:
        shown, _ = visit(url)
    assert '"source":"en","target":"de"' in shown, "the request as curl"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize(
    ("address", "expected"),
    [("", "Text to translate"), ("docs#/default/t", "What is to be translated.")],
)
def test_the_content_security_policy_allows_what_the_pages_need(
    address: str, expected: str
) -> None:
    with serving_pages() as url:
        shown, console = visit(f"{url}/{address}")
    assert expected in shown
    assert not blocked(console)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_documentation_calls_the_service_behind_a_proxys_prefix() -> None:
    with serving_pages("/mt") as url:
        shown, _ = visit(f"{url}/mt/docs")
    assert f'value="{url}/mt"' in shown, "the server of its requests"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_violations_of_the_policy_are_on_the_console() -> None:
    app = FastAPI()
    html = "<p style='color: red'>x<script>1</script>"
    page.add(app, "/", html, "text/html", page.policy_of("<script>2</script>"))
    with serving_app(app) as url:
        assert len(blocked(visit(url)[1])) == 2
