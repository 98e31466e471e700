"""The expected loss of candidate lists agrees with torch's log-softmax, and training reduces it."""

import pytest
import torch

from model.data.batches import CandidateBatch
from model.objective import risk
from model.risk import expected_loss, scores
from model.transformer import Transformer

PAD = 0


@pytest.mark.parametrize("lists", [1, 30])
def test_the_expected_loss_and_its_gradient_equal_those_of_the_formula(lists: int) -> None:
    torch.manual_seed(lists)
    logits = torch.randn(lists * 5, 7, 23).mul(2).requires_grad_()
    lengths = torch.randint(2, 8, (lists * 5,))
    targets = torch.randint(1, 23, (lists * 5, 7)).masked_fill(
        torch.arange(7) >= lengths[:, None], PAD
    )
    gains = torch.rand(lists, 5)
    ours = expected_loss(logits, targets, gains, PAD)
    (ours / 7).backward()  # type: ignore[no-untyped-call]
    gradient, logits.grad = logits.grad, None

    log_probs = logits.log_softmax(-1)
    expected = torch.zeros(())
    for one in range(lists):
        of_list = []
        for row in range(5 * one, 5 * one + 5):
            length = int(lengths[row])
            each = [log_probs[row, at, targets[row, at]] for at in range(length)]
            of_list.append(torch.stack(each).sum() / ((5 + length) / 6) ** 0.6)
        likely = torch.stack(of_list).exp()
        expected = expected + 1 - (likely / likely.sum() * gains[one]).sum()
    (expected / 7).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(gradient, logits.grad)


def test_training_makes_the_better_candidate_more_likely(network: Transformer) -> None:
    source = torch.tensor([[4, 5, 6, 3], [4, 7, 3, PAD]])
    target_out = torch.tensor([[5, 6, 3], [8, 3, PAD], [9, 9, 3], [10, 3, PAD]])
    target_in = torch.tensor([[2, 5, 6], [2, 8, PAD], [2, 9, 9], [2, 10, PAD]])
    batch = CandidateBatch(source, target_in, target_out, torch.tensor([[0.2, 0.9], [0.7, 0.1]]))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = risk(network, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    network.eval()
    found = scores(network(source, target_in), target_out, PAD).view(2, 2)
    assert found.argmax(-1).tolist() == [1, 0]
    assert losses[-1] < losses[0] - 0.1
    assert losses[-1] >= 0.1 + 0.3, "no candidate is better than the best"


def test_each_source_is_used_for_all_of_its_candidates(network: Transformer) -> None:
    sources, targets = torch.randint(4, 11, (3, 5)), torch.randint(4, 11, (6, 4))
    together = network(sources, targets)
    for row in range(6):
        alone = network(sources[row // 2 : row // 2 + 1], targets[row : row + 1])
        torch.testing.assert_close(together[row : row + 1], alone)
