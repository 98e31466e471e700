"""The training loop: batches in, checkpoints out, and the same losses whether or not it was interrupted."""

import json
import logging
import math
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from model import checkpoint as checkpoints
from model.checkpoint import Checkpoint
from model.config import Config
from model.data import Batch, Batcher, Corpus
from model.evaluate import greedy_bleu, validation_loss
from model.loss import label_smoothed_loss
from model.optim import build_optimizer, cooldown, learning_rate, set_learning_rate
from model.tokenizer import PAD_ID, Tokenizer
from model.transformer import Transformer

logger = logging.getLogger(__name__)


class TrainingError(RuntimeError):
    """Training cannot go on; what was saved before is intact."""


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """bf16 where it is the faster of the two, if `wanted` is "auto"; else what is wanted.

    A CPU needs tiles (AMX) for that: with AVX512-BF16 alone, its products run at half the speed of fp32.
    """
    if wanted == "fp32":
        return torch.float32
    if wanted == "bf16":
        return torch.bfloat16
    faster = (
        torch.cuda.is_bf16_supported()
        if device.type == "cuda"
        else torch.cpu.get_capabilities().get("amx_bf16", False)
    )
    return torch.bfloat16 if faster else torch.float32


class Trainer:
    """Trains one network in one run folder, from where the folder's last checkpoint left off."""

    def __init__(
        self,
        config: Config,
        tokenizer: Tokenizer,
        train: Corpus,
        valid: Corpus,
        valid_text: dict[str, list[str]],
        run: Path,
        init: Checkpoint | None = None,
    ) -> None:
        """Build all; weights come from the run's last checkpoint, else `init`, else chance."""
        self.config, self.tokenizer, self.run = config, tokenizer, run
        self.valid, self.valid_text = valid, valid_text
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.precision = choose_precision(config.training.precision, self.device)
        torch.manual_seed(config.training.seed)
        self.network = Transformer(config.model, PAD_ID)
        if init is not None:
            self.network.load_state_dict(dict(init.weights))
        self.network.to(self.device)
        self.optimizer = build_optimizer(self.network, config.training)
        self.batcher = Batcher(train.pairs, config.training.batch_tokens, config.training.seed)
        self.step, self.epoch, self.batch_number = 0, 0, 0
        self.stop_requested = False
        saved = checkpoints.list_checkpoints(run)
        if saved:
            self._resume(saved[-1])

    def _resume(self, folder: Path) -> None:
        saved, state = checkpoints.load(folder), checkpoints.load_training_state(folder)
        if replace(saved.config.model, dropout=self.config.model.dropout) != self.config.model:
            raise TrainingError(f"{folder} is of another network: {saved.config.model}")
        self.network.load_state_dict(dict(saved.weights))
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["cpu_rng"])
        if self.device.type == "cuda" and state["cuda_rng"] is not None:
            torch.cuda.set_rng_state(state["cuda_rng"])
        self.step, self.epoch, self.batch_number = saved.step, state["epoch"], state["batch_number"]
        logger.info("resuming %s at step %d", self.run, self.step)

    def save(self) -> None:
        """Write a checkpoint of this very moment."""
        state = {
            "optimizer": self.optimizer.state_dict(),
            "cpu_rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state() if self.device.type == "cuda" else None,
            "epoch": self.epoch,
            "batch_number": self.batch_number,
        }
        checkpoints.save(
            self.run,
            Checkpoint(self.config, self.tokenizer, self.network.state_dict(), self.step),
            state,
            self.config.training.keep_checkpoints,
        )

    def fit(self) -> None:
        """Train to `max_steps`, or until `stop_requested`; a checkpoint is left in both cases.

        Raises:
            TrainingError: the loss is no longer a number.
        """
        training = self.config.training
        batches = self.batcher.from_position(self.epoch, self.batch_number)
        progress = tqdm(
            total=training.max_steps, initial=self.step, unit="step", dynamic_ncols=True
        )
        window = _Window()
        while self.step < training.max_steps and not self.stop_requested:
            self._train_step(batches, window)
            progress.update()
            if self.step % training.log_every == 0:
                self._report(window, progress)
                window = _Window()
            if self.step % training.validate_every == 0 or self.step == training.max_steps:
                self._validate(progress)
                window = _Window()
            if self.step % training.checkpoint_every == 0:
                self.save()
        if self.step % training.checkpoint_every:
            self.save()
        progress.close()

    def _train_step(self, batches: Iterator[tuple[int, int, Batch]], window: "_Window") -> None:
        """One update from `accumulate_batches` batches, normalized by all their target tokens together."""
        self.network.train()
        taken = [next(batches) for _ in range(self.config.training.accumulate_batches)]
        num_tokens = sum(int((batch.target_out != PAD_ID).sum()) for _, _, batch in taken)
        for epoch, number, batch in taken:
            with self._autocast():
                batch = batch.to(self.device)
                logits = self.network(batch.source, batch.target_in)
                sums = label_smoothed_loss(
                    logits.flatten(0, 1),
                    batch.target_out.flatten(),
                    PAD_ID,
                    self.config.training.label_smoothing,
                )
            (sums.smoothed / num_tokens).backward()  # type: ignore[no-untyped-call]
            window.add(sums.smoothed.detach(), sums.nll)
            self.epoch, self.batch_number = epoch, number + 1
        window.tokens += num_tokens
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.training.clip_norm)
        self.step += 1
        set_learning_rate(self.optimizer, self._learning_rate())
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _learning_rate(self) -> float:
        training = self.config.training
        scheduled = learning_rate(
            self.step,
            self.config.model.d_model,
            training.warmup_steps,
            training.learning_rate_factor,
        )
        return scheduled * cooldown(self.step, training.max_steps, training.cooldown_steps)

    def _autocast(self) -> AbstractContextManager[None]:
        return torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=self.precision == torch.bfloat16
        )

    def _report(self, window: "_Window", progress: "tqdm[Any]") -> None:
        smoothed, nll, speed = window.means()
        if not math.isfinite(smoothed):
            raise TrainingError(
                f"step {self.step}: the loss is {smoothed}; go on from {self.run} with a lower "
                "training.learning_rate_factor or a longer training.warmup_steps"
            )
        progress.set_postfix_str(
            f"loss {smoothed:.3f}, ppl {math.exp(nll):.1f}, {speed:,.0f} tokens/s"
        )
        self._log(
            "train",
            epoch=self.epoch,
            loss=smoothed,
            nll=nll,
            learning_rate=self._learning_rate(),
            tokens_per_second=speed,
        )

    def _validate(self, progress: "tqdm[Any]") -> None:
        self.network.eval()
        with self._autocast():
            loss = validation_loss(self.network, self.valid, self.config)
            bleu = greedy_bleu(self.network, self.tokenizer, self.valid_text, self.config)
        shown = ", ".join(f"BLEU {direction} {score:.1f}" for direction, score in bleu.items())
        progress.write(
            f"step {self.step}: validation loss {loss.smoothed:.3f}, ppl {math.exp(loss.nll):.2f}, {shown}"
        )
        self._log("validation", epoch=self.epoch, loss=loss.smoothed, nll=loss.nll, bleu=bleu)

    def _log(self, kind: str, **values: object) -> None:
        with (self.run / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(
                json.dumps({"kind": kind, "step": self.step, "time": time.time(), **values}) + "\n"
            )


class _Window:
    """Sums since the last report; they stay on the device until then, so that no step waits for them."""

    def __init__(self) -> None:
        self.smoothed: torch.Tensor | float = 0.0
        self.nll: torch.Tensor | float = 0.0
        self.tokens = 0
        self.started = time.perf_counter()

    def add(self, smoothed: torch.Tensor, nll: torch.Tensor) -> None:
        self.smoothed, self.nll = self.smoothed + smoothed, self.nll + nll

    def means(self) -> tuple[float, float, float]:
        """Mean smoothed loss, mean NLL, target tokens a second."""
        seconds = time.perf_counter() - self.started
        return (
            float(self.smoothed) / self.tokens,
            float(self.nll) / self.tokens,
            self.tokens / seconds,
        )


@contextmanager
def stopping_on(trainer: Trainer, *signals: int) -> Iterator[None]:
    """While inside, each of `signals` ends training after the step at hand instead of killing it."""

    def request_stop(number: int, _frame: object) -> None:
        logger.info("%s: saving a checkpoint and stopping", signal.Signals(number).name)
        trainer.stop_requested = True

    previous = {number: signal.signal(number, request_stop) for number in signals}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
