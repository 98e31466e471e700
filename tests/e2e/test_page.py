"""The page at / and the one at /docs, in a real browser where there is one."""

import re
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import pytest
from fastapi import Body, FastAPI, Response
from fastapi.responses import HTMLResponse

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
@pytest.mark.parametrize("max_beam_size", [1, 3])
def test_the_page_asks_for_no_more_alternatives_than_allowed(max_beam_size: int) -> None:
    with serving(TINY_BUNDLE, precision="fp32", max_beam_size=str(max_beam_size)) as server:
        text = quote("Der alte Hund schläft.")
        shown, _ = visit(f"{server.url}/#text={text}&source=de&target=en")
    assert re.search(r'<div id="output"[^>]*>The old dog sleeps\.</div>', shown)
    alternatives = re.search(r'<ul id="alternatives">(.*?)</ul>', shown)
    assert alternatives
    assert alternatives[1].count("<li") == max_beam_size - 1


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_page_translates_and_shows_the_alignment() -> None:
    with serving(TINY_BUNDLE, precision="fp32") as server:
        assert httpx.get(server.url, timeout=60).headers["content-type"].startswith("text/html")
        fragment = f"text={quote('Der alte Hund schläft.')}&source=auto&target=en"
        shown, console = visit(f"{server.url}/#{fragment}")
    assert re.search(r'<div id="output"[^>]*>The old dog sleeps\.</div>', shown)
    assert re.search(r'<span id="detected"[^>]*>Detected: German</span>', shown)
    assert shown.count("<path d=") >= 5, "a line for each target word at least"
    assert '"q":"Der alte Hund schläft."' in shown, "the request as curl"
    assert not blocked(console)


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
    ("name", "content", "output", "error"),
    [
        ("letter.html", "'<p>a</p>'", "html of 8, True", ""),
        ("long.txt", "'a'.repeat(2001)", "text of 2001, False", ""),
        ("letter.docx", "Uint8Array.of(80, 75, 255)", "", "letter.docx is not a UTF-8 text file."),
    ],
)
def test_a_dropped_file_is_translated(name: str, content: str, output: str, error: str) -> None:
    def translate(asked: Request) -> dict[str, str]:
        return {
            "translatedText": f"{asked['format']} of {len(asked['q'])}, {'alternatives' in asked}"
        }

    script = f"""
        const files = new DataTransfer();
        files.items.add(new File([{content}], "{name}"));
        const event = {{bubbles: true, cancelable: true, dataTransfer: files}};
        document.body.dispatchEvent(new DragEvent("drop", event));"""
    with serving_scripted_page(script, translate) as url:
        shown, _ = visit(url)
    assert re.search(rf'<div id="output"[^>]*>{output}</div>', shown)
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
