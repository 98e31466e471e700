"""The code of templates in HTML is preserved as it is written."""

import pytest

from tests.service.text.pipelines import take_apart, unchanged


@pytest.mark.parametrize(
    ("html", "sentences"),
    [
        ("<p>Hallo <%= user.name %>!</p>", ["Hallo Tom!"]),
        ("<title>Hallo <%= user.name %></title>", ["Hallo Tom"]),
        ('Hallo <%= link "x", :a => b && c < d %>, ja', ["Hallo Tom, ja"]),
        ("<% if user %><p>Hallo</p><% end %>", ["Hallo"]),
        ("<p>Noch {% if a > b %} viele {% endif %} Tage</p>", ["Noch Tom viele Boston Tage"]),
        ("<p>Noch {{ a && b }} Tage, {c}</p>", ["Noch Tom Tage, Boston"]),
        ("<p>Ein Hund <?php echo $a->b ?> da</p>", ["Ein Hund da"]),
        ("<p>Ein Hund <?= $a > <b>$b ?> da</b></p>", ["Ein Hund Tom ?> da"]),
        ("<![CDATA[roh <b> ein Text]]>", ["ein Text"]),
    ],
)
def test_code_of_templates_is_preserved(html: str, sentences: list[str]) -> None:
    document = take_apart(html, "html", "sentences")
    assert [one.text for one in document.sentences] == sentences
    assert unchanged(document) == html.replace("?> da</b>", "?&gt; da</b>")


def test_text_that_only_looks_like_code_is_escaped() -> None:
    html = "<p>Ein <% Hund <b> a %> und {{ eine Katze</p>"
    assert unchanged(take_apart(html, "html")) == (
        "<p>Ein &lt;% Hund <b> a %&gt; und {{ eine Katze</p>"
    )


def test_code_with_a_tag_that_never_ends_stays_text() -> None:
    html = 'Ein <img alt="Hund {{<script>}}'
    assert unchanged(take_apart(html, "html")) == 'Ein &lt;img alt="Hund {{&lt;script&gt;}}'
