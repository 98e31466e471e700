"""The training loop. A run that is interrupted and resumed has the same losses as one that is not."""

import logging
import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from model import checkpoint as checkpoints
from model.checkpoint import Checkpoint
from model.config import Config
from model.data.batches import Batch, Batcher, Update
from model.data.corpus import Corpus, Pair
from model.data.updates import Reader
from model.distributed import Processes
from model.evaluate import attention_widths, greedy_bleu, validation_loss
from model.log import RunLog, Window
from model.loss import label_smoothed_loss
from model.optim import build_optimizer, cooldown, learning_rate
from model.precision import choose_precision
from model.stopwatch import Clock, Stopwatch
from model.tokenizer import PAD_ID, Vocabularies
from model.transformer import Transformer

logger = logging.getLogger(__name__)


class TrainingError(RuntimeError):
    """Training cannot continue. Earlier checkpoints are intact."""


class Trainer:
    """Trains one network in one run folder, resuming from the folder's last checkpoint."""

    def __init__(
        self,
        config: Config,
        vocabularies: Vocabularies,
        corpus: Corpus,
        valid: Sequence[Pair],
        valid_text: dict[str, list[str]],
        run: Path,
        log: RunLog,
        init: Checkpoint | None = None,
        processes: Processes | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        """Build the network, with weights from the run's last checkpoint or, if it has none, from `init`.

        Weights that `init` lacks are random. `valid` and `valid_text` are the same held-out text, as pairs of
        all directions and as lines by language.
        """
        self.config, self.vocabularies, self.run, self.log = config, vocabularies, run, log
        self.valid, self.valid_text = valid, valid_text
        self.processes = processes or Processes()
        self.device = self.processes.device
        self.precision = choose_precision(config.training.precision, self.device)
        torch.manual_seed(config.training.seed)
        self.network = Transformer(config.model, PAD_ID)
        if init is not None:
            self.network.load_state_dict({**self.network.state_dict(), **init.weights})
        self.network.to(self.device)
        self.optimizer = build_optimizer(self.network, config.training, self.precision)
        training, data = config.training, config.data
        batcher = Batcher(
            corpus, training.batch_tokens, training.seed, data.subword_alpha, data.subword_sides
        )
        self.reader = Reader(batcher, training, self.processes)
        self.step, self.epoch, self.next_batch = 0, 0, 0
        self.best_bleu, self.best_step, self.validations_since = -math.inf, 0, 0
        self.stop_requested = False
        self.saved_step, self.saved_at, self.is_overdue = 0, 0.0, False
        self.stopwatch, self.time_left = Stopwatch(training.max_minutes, clock), 1.0
        saved = checkpoints.list_checkpoints(run)
        if saved:
            self._resume(saved[-1])
        self.parallel = self._parallel()

    def _parallel(self) -> nn.Module:
        """Wrap the network for training steps: compiled or distributed, as configured."""
        network: nn.Module = self.network
        if self.processes.world > 1:
            network = DistributedDataParallel(network)
        if self.config.training.compile:
            network.compile(dynamic=True)
        return network

    def _resume(self, folder: Path) -> None:
        saved, state = checkpoints.load(folder), checkpoints.load_training_state(folder)
        _check_unchanged(folder, saved.config, self.config)
        self.network.load_state_dict(dict(saved.weights))
        try:
            self.optimizer.load_state_dict(state["optimizer"])
            self.epoch, self.next_batch = state["epoch"], state["next_batch"]
            self.best_bleu, self.best_step = state["best_bleu"], state["best_step"]
            self.validations_since = state["validations_since"]
            self.stopwatch.go_on_from(state.get("minutes", 0.0))  # older checkpoints have none
            if self.config.training.precision == "auto" and self.device.type == "cpu":
                # another measurement could give another precision, and so other losses
                self.precision = choose_precision(state["precision"], self.device)
        except KeyError as error:
            raise TrainingError(
                f"{folder}: training.pt has no {error}: it was written by another version"
            ) from None
        self.step = self.saved_step = saved.step
        self.saved_at = self.stopwatch.minutes
        logger.info("resuming %s at step %d", self.run, self.step)

    def save(self, kind: checkpoints.Kind = "step") -> None:
        """Write a checkpoint of the current state."""
        if kind == "step":
            self.saved_step, self.saved_at = self.step, self.stopwatch.minutes
        if not self.processes.is_first:
            return
        state = {
            "optimizer": self.optimizer.state_dict(),
            "epoch": self.epoch,
            "next_batch": self.next_batch,
            "best_bleu": self.best_bleu,
            "best_step": self.best_step,
            "validations_since": self.validations_since,
            "minutes": self.stopwatch.minutes,
            "precision": "bf16" if self.precision == torch.bfloat16 else "fp32",
        }
        checkpoints.save(
            self.run,
            Checkpoint(self.config, self.vocabularies, self.network.state_dict(), self.step),
            state,
            self.config.training.keep_checkpoints if kind == "step" else 1,
            kind,
        )

    def fit(self) -> None:
        """Train until `max_steps`, `max_minutes` or `stop_requested`, and save a checkpoint at the end.

        Raises:
            TrainingError: the loss is not finite, or memory is exhausted.
            CheckpointError: a checkpoint could not be written.
        """
        training = self.config.training
        updates = self.reader.updates(self.epoch, self.next_batch)
        progress = tqdm(
            total=training.max_steps,
            initial=self.step,
            unit="step",
            dynamic_ncols=True,
            disable=not self.processes.is_first,
        )
        window = Window()
        with closing(updates), closing(progress):
            while self.step < training.max_steps and self._update(next(updates), window):
                progress.update()
                is_last = self.step == training.max_steps
                is_checkpoint = self.step % training.checkpoint_every == 0 or self.is_overdue
                is_validation = self.step % training.validate_every == 0 or is_last
                if self.step % training.log_every == 0 or is_checkpoint or is_validation:
                    self._report(window, progress, log=self.step % training.log_every == 0)
                    window = Window()
                if is_validation:
                    self._validate(progress)
                    window = Window()
                if is_checkpoint:
                    self.save()
            if self.step != self.saved_step:
                self._report(window, progress, log=False)
                self.save()
        if not self.time_left:
            logger.info(
                "step %d: stopping at training.max_minutes = %g", self.step, training.max_minutes
            )
        elif self.step >= training.max_steps:
            logger.info("step %d: training.max_steps is reached", self.step)

    def _is_overdue(self) -> bool:
        """Check whether the last checkpoint is `checkpoint_minutes` old."""
        limit = self.config.training.checkpoint_minutes
        return bool(limit) and self.stopwatch.minutes - self.saved_at >= limit

    def _update(self, update: Update, window: Window) -> bool:
        """Update the weights once; return False instead if training must stop.

        The gradient is a mean over all tokens of the update. Dropout depends only on the
        seed, the step and the process, so checkpoints need no state of a random generator.
        """
        own_tokens = sum(batch.num_tokens for batch in update.batches)
        # only the first process's clock counts
        share_left = self.stopwatch.share_left if self.processes.is_first else 0.0
        is_overdue = self.processes.is_first and self._is_overdue()
        sums = self.processes.sums([own_tokens, self.stop_requested, is_overdue, share_left])
        num_tokens, stop, overdue, self.time_left = sums
        self.is_overdue = bool(overdue)
        if stop or not self.time_left:
            return False
        self.network.train()
        entropy = (self.config.training.seed, self.step, self.processes.rank)
        torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]))
        try:
            for number, batch in enumerate(update.batches, start=1):
                with self._sharing_gradients(when=number == len(update.batches)):
                    self._backward(batch.to(self.device), num_tokens, window)
        except torch.OutOfMemoryError as error:
            raise self._out_of_memory(update, error) from error
        window.tokens += own_tokens
        nn.utils.clip_grad_norm_(self.network.parameters(), self.config.training.clip_norm)
        self.step, self.epoch, self.next_batch = self.step + 1, update.epoch, update.next_batch
        self.optimizer.step(self._learning_rate())
        self.optimizer.zero_grad()
        return True

    def _backward(self, batch: Batch, num_tokens: float, window: Window) -> None:
        """Add a batch's share of the gradient, which DistributedDataParallel averages over the processes."""
        smoothing, targets = self.config.training.label_smoothing, batch.target_out.flatten()
        with self._autocast():
            logits = self.parallel(batch.source, batch.target_in).flatten(0, 1)
            sums = label_smoothed_loss(logits, targets, PAD_ID, smoothing)
            loss = sums.smoothed * (self.processes.world / num_tokens)
        window.add(sums.smoothed.detach(), sums.nll)
        loss.backward()  # type: ignore[no-untyped-call]

    def _sharing_gradients(self, *, when: bool) -> AbstractContextManager[None]:
        if isinstance(self.parallel, DistributedDataParallel) and not when:
            return self.parallel.no_sync()
        return nullcontext()

    def _out_of_memory(self, update: Update, error: Exception) -> TrainingError:
        """Save the weights, which are those of the last complete step, and return the error to raise."""
        self.optimizer.zero_grad()
        self.save()
        shapes = ", ".join(str(tuple(batch.source.shape)) for batch in update.batches)
        training = self.config.training
        return TrainingError(
            f"step {self.step + 1}: out of memory ({error}) at sources of {shapes}; "
            f"step {self.step} is saved: "
            f"continue with training.batch_tokens below {training.batch_tokens} and "
            f"training.accumulate_batches above {training.accumulate_batches}"
        )

    def _learning_rate(self) -> float:
        training = self.config.training
        d_model, factor = self.config.model.d_model, training.learning_rate_factor
        scheduled = learning_rate(self.step, d_model, training.warmup_steps, factor)
        falling = (training.max_steps, training.cooldown_steps, self.time_left)
        return scheduled * cooldown(self.step, *falling)

    def _autocast(self) -> AbstractContextManager[None]:
        return torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=self.precision == torch.bfloat16
        )

    def _report(self, window: Window, progress: "tqdm[Any]", *, log: bool) -> None:
        """Show the mean losses and log them if `log`. Fails before a save if the loss is not finite."""
        if not window.tokens:
            return
        smoothed, nll, tokens = self.processes.sums(window.sums())
        smoothed, nll, speed = smoothed / tokens, nll / tokens, tokens / window.seconds
        if not math.isfinite(smoothed):
            saved = checkpoints.list_checkpoints(self.run)
            raise TrainingError(
                f"step {self.step}: the loss is {smoothed}; continue from "
                f"{saved[-1] if saved else 'the beginning'} with a lower "
                "training.learning_rate_factor or a longer training.warmup_steps"
            )
        status = f"loss {smoothed:.3f}, ppl {math.exp(nll):.1f}, {speed:,.0f} tokens/s"
        if self.best_step:
            status += f", best BLEU {self.best_bleu:.1f}"
        if limit := self.config.training.max_minutes:
            status += f", at most {self.time_left * limit:.1f} min left"
        progress.set_postfix_str(status)
        if log and self.processes.is_first:
            self.log.write(
                "train",
                self.step,
                epoch=self.epoch,
                loss=smoothed,
                nll=nll,
                learning_rate=self._learning_rate(),
                tokens_per_second=speed,
            )

    def _validate(self, progress: "tqdm[Any]") -> None:
        """Validate in the first process; stop if BLEU has not risen in `training.patience` validations."""
        if not self.processes.is_first:
            return
        self.network.eval()
        with self._autocast():
            loss = validation_loss(self.network, self.valid, self.config)
            bleu = greedy_bleu(self.network, self.vocabularies, self.valid_text, self.config)
            widths = attention_widths(self.network, self.valid)
        scores = ", ".join(f"BLEU {direction} {score:.1f}" for direction, score in bleu.items())
        progress.write(
            f"step {self.step}: validation loss {loss.smoothed:.3f}, ppl {math.exp(loss.nll):.2f}, {scores}"
        )
        self.log.write(
            "validation",
            self.step,
            epoch=self.epoch,
            loss=loss.smoothed,
            nll=loss.nll,
            bleu=bleu,
            attention_width={
                map_name: sum(heads) / len(heads) for map_name, heads in widths.items()
            },
        )
        mean = sum(bleu.values()) / len(bleu)
        if mean > self.best_bleu:
            self.best_bleu, self.best_step, self.validations_since = mean, self.step, 0
            self.save("best")
            return
        self.validations_since += 1
        if (
            self.config.training.patience
            and self.validations_since >= self.config.training.patience
        ):
            progress.write(
                f"step {self.step}: stopping, BLEU has not risen above {self.best_bleu:.1f} of step "
                f"{self.best_step} in {self.validations_since} validations (training.patience)"
            )
            self.stop_requested = True


def _check_unchanged(folder: Path, saved: Config, config: Config) -> None:
    """Check that the network and the optimizer are those of the checkpoint in `folder`.

    Raises:
        TrainingError: they differ; the message names the first difference.
    """
    network = saved.model.with_regularization_of(config.model)
    fixed = [
        (f"model.{name}", value, getattr(config.model, name))
        for name, value in vars(network).items()
    ]
    fixed.append(("training.optimizer", saved.training.optimizer, config.training.optimizer))
    for name, saved_value, new_value in fixed:
        if saved_value != new_value:
            raise TrainingError(
                f"{folder} was trained with {name} = {saved_value!r}, and cannot continue with "
                f"{new_value!r}; choose another folder with --out"
            )
