"""HTML, XML and placeholders over HTTP."""

from fastapi.testclient import TestClient

from tests.service.api.toy_request import SUPPORTED


def translate(client: TestClient, text: str, **more: object) -> str:
    answer = client.post("/translate", json={"q": text, **SUPPORTED, **more})
    assert answer.status_code == 200, answer.text
    translated: str = answer.json()["translatedText"]
    return translated


def test_tags_are_preserved_and_text_is_translated(client: TestClient) -> None:
    given = '<p class="x">Der alte Hund schläft.</p>\n<p translate="no">Das Kind.</p><br>'
    expected = '<p class="x">The old dog sleeps.</p>\n<p translate="no">Das Kind.</p><br>'
    assert translate(client, given, format="html") == expected


def test_inline_tags_are_placed_in_the_translation_of_the_whole_sentence(
    client: TestClient,
) -> None:
    given = "<p>Der <b>alte Hund</b> schläft. <i>Das gute Kind wartet.</i></p>"
    found = translate(client, given, format="html")
    assert found.endswith("<i>The good child waits.</i></p>")
    assert found.count("<b>") == found.count("</b>") == 1
    plain = found.replace("<b>", "").replace("</b>", "")
    assert plain == "<p>The old dog sleeps. <i>The good child waits.</i></p>"


def test_a_placeholder_that_the_model_loses_is_preserved(client: TestClient) -> None:
    answer = client.post(
        "/translate",
        json={"q": "Der alte Hund schläft {name}.", **SUPPORTED, "return_scores": True},
    ).json()
    assert answer["translatedText"].count("{name}") == 1
    [[details]] = answer["details"]
    assert details["source"] == "Der alte Hund schläft {name}."
    assert details["target"] == answer["translatedText"]
    assert details["finish"] in ("pieces", "end")


def test_each_branch_of_a_message_is_translated_as_a_whole_sentence(client: TestClient) -> None:
    given = "Der alte {n, plural, one {Hund} other {Mann}} schläft."
    body = {"q": given, **SUPPORTED, "return_scores": True}
    answer = client.post("/translate", json=body).json()
    whole = {
        text: translate(client, text)
        for text in ("Der alte Hund schläft.", "Der alte Mann schläft.")
    }
    assert answer["translatedText"] == "{{n, plural, one {{{}}} other {{{}}}}}".format(
        *whole.values()
    )
    [details] = answer["details"]
    assert {one["source"]: one["target"] for one in details} == whole


def test_branches_that_stay_untranslated_are_told(client: TestClient) -> None:
    left = "{n, plural, one {Hund} other {Mann}}"
    given = [f"Der alte {left} #1 schläft.", "Der alte Hund schläft."]
    answer = client.post("/translate", json={"q": given, **SUPPORTED}).json()
    assert left in answer["translatedText"][0]
    [[told], [other]] = answer["details"]
    assert told["problem"].startswith(f'the branches of "{left}" are not translated')
    assert told["finish"] != "copied"
    assert "problem" not in other
    alone = client.post("/translate", json={"q": given[1], **SUPPORTED}).json()
    assert "details" not in alone


def test_an_alignment_is_returned_on_request(client: TestClient) -> None:
    body = {"q": "Der alte Hund schläft.", **SUPPORTED, "return_alignment": True}
    [[details]] = client.post("/translate", json=body).json()["details"]
    assert details["sourceTokens"] == ["Der", "alte", "Hund", "schläft", "."]
    assert details["targetTokens"] == ["The", "old", "dog", "sleeps", "."]
    assert [len(row) for row in details["alignment"]] == [5] * 5
    assert all(abs(sum(row) - 1) < 0.01 for row in details["alignment"])
    assert all(len(str(weight)) <= len("0.123") for row in details["alignment"] for weight in row)


def test_an_alignment_for_tags_is_not_returned_unless_requested(client: TestClient) -> None:
    body = {"q": "Der <b>alte</b> Hund.", "format": "html", **SUPPORTED, "return_scores": True}
    [[details]] = client.post("/translate", json=body).json()["details"]
    assert details["target"]
    assert "alignment" not in details
    assert "targetTokens" not in details


def test_deepl_tag_handling(client: TestClient) -> None:
    fields = {"text": ["<t>Der alte <x>Hund</x> schläft.</t>"], "target_lang": "EN"}
    more = {"source_lang": "DE", "tag_handling": "xml", "ignore_tags": "x"}
    [one] = client.post("/v2/translate", json={**fields, **more}).json()["translations"]
    assert one["text"].startswith("<t>")
    assert "<x>Hund</x>" in one["text"]


def test_names_of_ignored_tags_follow_the_case_rules_of_the_format(client: TestClient) -> None:
    fields = {"text": "<B>Hund</B> <b>Hund</b>", "target_lang": "EN", "source_lang": "DE"}
    for names, form, kept in (("B", "html", 2), ("b", "html", 2), ("B", "xml", 1), ("x", "xml", 0)):
        more = {"tag_handling": form, "ignore_tags": names}
        [one] = client.post("/v2/translate", json={**fields, **more}).json()["translations"]
        assert one["text"].count("Hund") == kept, (names, form)
