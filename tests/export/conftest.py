"""The tiny bundle's network in torch."""

import pytest
import torch

from model import bundle
from model.checkpoint import Checkpoint
from tests.conftest import TINY_BUNDLE

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def checkpoint() -> Checkpoint:
    """The tiny bundle's weights as a checkpoint."""
    return bundle.load(TINY_BUNDLE)
