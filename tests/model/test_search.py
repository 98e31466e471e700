"""The reference search agrees with enumeration."""

import itertools

import pytest
import torch

from model.search import SearchOptions, beam_search, greedy_search, max_target_length
from model.tokenizer import BOS_ID, EOS_ID
from model.transformer import Transformer

SUPPRESSED = (0, 2)
TOKENS = [token for token in range(11) if token not in (*SUPPRESSED, EOS_ID)]


def log_probability(network: Transformer, source: list[int], ids: tuple[int, ...]) -> float:
    """Return the log-probability of a translation with EOS, by one teacher-forced pass."""
    logits = network(torch.tensor([source]), torch.tensor([[BOS_ID, *ids]]))
    logits[..., list(SUPPRESSED)] = -torch.inf
    steps = logits.log_softmax(-1)[0, range(len(ids) + 1), [*ids, EOS_ID]]
    return float(steps.sum())


@torch.inference_mode()
def test_a_beam_as_wide_as_the_search_space_ranks_all_translations(network: Transformer) -> None:
    source = [5, 7, 9, EOS_ID]
    every = sorted(
        (
            (log_probability(network, source, ids) / ((5 + len(ids) + 1) / 6) ** 0.6, ids)
            for size in range(3)
            for ids in itertools.product(TOKENS, repeat=size)
        ),
        reverse=True,
    )
    found = beam_search(network, source, SearchOptions(600, 3, 0.6, SUPPRESSED))
    assert [hypothesis.ids for hypothesis in found[:20]] == [ids for _, ids in every[:20]]
    expected = torch.tensor([score for score, _ in every[:20]])
    torch.testing.assert_close(
        torch.tensor([h.score for h in found[:20]]), expected, atol=1e-4, rtol=0
    )


def test_a_beam_of_one_equals_greedy_search_in_a_batch(network: Transformer) -> None:
    torch.manual_seed(1)
    sources = [[*torch.randint(4, 11, (length,)).tolist(), EOS_ID] for length in (2, 5, 7, 3)]
    width = max(map(len, sources))
    rows = torch.tensor([source + [0] * (width - len(source)) for source in sources])
    batch = greedy_search(network, rows, SUPPRESSED)
    for source, together in zip(sources, batch, strict=True):
        limit = max_target_length(len(source))
        [alone] = beam_search(network, source, SearchOptions(1, limit, 0.6, SUPPRESSED))
        assert list(alone.ids) == together


def test_the_length_limit_is_that_of_the_source_plus_50() -> None:
    assert max_target_length(len([8, 5, 6, 7, EOS_ID])) == 3 + 50


@torch.inference_mode()
def test_searches_with_options_find_all_translations_that_satisfy_them(
    network: Transformer,
) -> None:
    """Search with a minimum length and no repeated token, and with a prefix."""
    source = [5, 7, 9, EOS_ID]

    def scored(prefix: tuple[int, ...], size: int, allowed: list[int]) -> list[tuple[int, ...]]:
        tails = itertools.product(allowed, repeat=size)
        return [(*prefix, *tail) for tail in tails]

    options = SearchOptions(600, 3, 0.0, SUPPRESSED, min_length=2, no_repeat_ngram_size=1)
    found = beam_search(network, source, options)
    assert {len(h.ids) for h in found} == {2}
    pairs = {ids for ids in scored((), 2, TOKENS) if ids[0] != ids[1]}
    assert {hypothesis.ids for hypothesis in found} == pairs

    begun = beam_search(network, source, SearchOptions(600, 3, 0.0, SUPPRESSED, prefix=(9, 9)))
    [[total]] = [[h.score] for h in begun if h.ids == (9, 9)]
    logits = network(torch.tensor([source]), torch.tensor([[BOS_ID, 9, 9]]))[0, -1]
    logits[list(SUPPRESSED)] = -torch.inf
    assert total == pytest.approx(float(logits.log_softmax(-1)[EOS_ID]), abs=1e-4)
    assert all(hypothesis.ids[:2] == (9, 9) for hypothesis in begun)
