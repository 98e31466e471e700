"""The training objective: the cross-entropy of text and the risk of candidate translations."""

from torch import Tensor, nn

from model.config import TrainingConfig
from model.data.batches import Batch, CandidateBatch
from model.loss import LossSums, divergence, label_smoothed_loss
from model.risk import expected_loss
from model.tokenizer import PAD_ID


def token_losses(network: nn.Module, batch: Batch, training: TrainingConfig) -> LossSums:
    """Compute the loss sums of one batch; with R-Drop, the means of two passes plus their divergence."""
    passes = 2 if training.r_drop else 1
    source, target = batch.source.repeat(passes, 1), batch.target_in.repeat(passes, 1)
    logits = network(source, target).flatten(0, 1)
    targets = batch.target_out.repeat(passes, 1).flatten()
    sums = label_smoothed_loss(logits, targets, PAD_ID, training.label_smoothing)
    if passes == 1:
        return sums
    first, second = logits.chunk(2)
    difference = divergence(first, second, batch.target_out.flatten(), PAD_ID)
    smoothed = (sums.smoothed + training.r_drop * difference) / 2
    return LossSums(smoothed, sums.nll / 2, sums.tokens // 2)


def risk(network: nn.Module, batch: CandidateBatch) -> Tensor:
    """Compute the expected loss of one batch, summed over its lists.

    Runs without dropout, whose noise would exceed the differences between candidates.
    """
    network.eval()
    expected = expected_loss(
        network(batch.source, batch.target_in), batch.target_out, batch.gains, PAD_ID
    )
    network.train()
    return expected
