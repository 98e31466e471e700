"""Word alignment, against the model's equations written down plainly."""

import random
from collections import defaultdict
from collections.abc import Sequence

from model.data.word_alignment import ITERATIONS, LEAST, Link, align

TextPair = tuple[list[str], list[str]]


def probabilities(pairs: Sequence[TextPair]) -> dict[tuple[str, str], float]:
    """P(second | first), word by word, as in section 4.1 of the paper, but for its empty word."""
    table: defaultdict[tuple[str, str], float] = defaultdict(lambda: 1.0)
    for _ in range(ITERATIONS):
        counts: defaultdict[tuple[str, str], float] = defaultdict(float)
        totals: defaultdict[str, float] = defaultdict(float)
        for first, second in pairs:
            for other in second:
                whole = sum(table[one, other] for one in first)
                for one in first:
                    counts[one, other] += table[one, other] / whole
                    totals[one] += table[one, other] / whole
        table.update({(one, other): n / totals[one] for (one, other), n in counts.items()})
    return table


def plain_links(pairs: Sequence[TextPair]) -> list[list[Link]]:
    forth = probabilities(pairs)
    back = probabilities([(second, first) for first, second in pairs])
    links = []
    for first, second in pairs:
        score = [[forth[one, other] * back[other, one] for other in second] for one in first]
        links.append(
            [
                (i, j)
                for i, row in enumerate(score)
                for j, value in enumerate(row)
                if value > LEAST and value == max(row) and value == max(line[j] for line in score)
            ]
        )
    return links


def test_links_are_those_of_the_plain_equations() -> None:
    draw = random.Random(1)
    meanings = {f"w{n}": f"v{n}" for n in range(12)}
    pairs: list[TextPair] = []
    for _ in range(60):
        first = draw.sample(sorted(meanings), draw.randint(1, 5))
        second = [meanings[word] for word in first if draw.random() < 0.9] or ["v0"]
        draw.shuffle(second)
        pairs.append((first, second))
    links = align(pairs)
    assert links == plain_links(pairs)
    assert sum(map(len, links)) > 100
    right = sum(
        f"v{f[i][1:]}" == s[j] for (f, s), found in zip(pairs, links, strict=True) for i, j in found
    )
    assert right > 0.9 * sum(map(len, links))


def test_capitals_make_no_other_word() -> None:
    pairs = [
        (["das", "Haus"], ["the", "house"]),
        (["das", "Buch"], ["the", "book"]),
        (["Das", "Haus"], ["The", "house"]),
    ]
    assert align(pairs) == [[(0, 0), (1, 1)]] * 3


def test_empty_text_and_empty_sides_have_no_links() -> None:
    assert align([]) == []
    assert align([([], []), (["ja"], []), (["ja"], ["yes"])]) == [[], [], [(0, 0)]]
