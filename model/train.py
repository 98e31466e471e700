"""`python -m model.train CONFIG --data DIR --out RUN`: train a network on aligned text.

The same command resumes from the last checkpoint. On several GPUs or machines, use
`torchrun --nproc-per-node N -m model.train ...`.
"""

import argparse
import json
import logging
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

from tqdm.contrib.logging import logging_redirect_tqdm

from model import bundle
from model.checkpoint import Checkpoint, CheckpointError
from model.config import Config, ConfigError, load_config
from model.data.corpus import Corpus, encode_pairs
from model.data.text import (
    DataError,
    check_aligned,
    find_corpora,
    iterate_lines,
    read_aligned,
)
from model.distributed import Processes, joined
from model.grow import grown
from model.log import RunLog
from model.memory import keep_freed_memory
from model.stopwatch import Clock
from model.tokenizer import (
    FILE_NAME,
    TARGET_FILE_NAME,
    Vocabularies,
    VocabularyError,
    train_tokenizer,
)
from model.trainer import Trainer, TrainingError

logger = logging.getLogger("model.train")


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="attendant train", description=__doc__)
    parser.add_argument(
        "config", help="preset (tiny, small, base, big, multi30k, bundled) or TOML file"
    )
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        help="folder with train.<code> (or several train.<name>.<code>) and valid.<code>",
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the run, created if missing"
    )
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--init", type=Path, help="start from the weights and vocabulary of this bundle"
    )
    start.add_argument(
        "--init-embeddings",
        type=Path,
        metavar="INIT",
        help="start from the embeddings and vocabulary of this bundle, with new layers",
    )
    parser.add_argument(
        "--grow",
        action="store_true",
        help="with --init: add layers that change nothing at first, up to the configuration's number",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override one option, for example training.max_steps=500",
    )
    parser.add_argument(
        "--prepare",
        action="store_true",
        help="only learn the vocabulary and tokenize the text; the next run finds both",
    )
    parser.add_argument(
        "--tensorboard", action="store_true", help="also write RUN/tensorboard (needs tensorboard)"
    )
    options = parser.parse_args(arguments)
    if options.grow and not options.init:
        parser.error("--grow needs --init")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Train a network and return the exit status."""
    options = _parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    keep_freed_memory()
    try:
        config = load_config(options.config, options.set)
        with logging_redirect_tqdm(), joined() as processes:
            if not processes.is_first:
                logging.getLogger().setLevel(logging.WARNING)
            train(
                config,
                options.data,
                options.out,
                options.init or options.init_embeddings,
                options.tensorboard,
                processes,
                new_layers=options.init_embeddings is not None,
                grow=options.grow,
                prepare_only=options.prepare,
            )
    except ModuleNotFoundError as error:
        if error.name != "tensorboard":
            raise
        print(f"error: {error}; --tensorboard needs `pip install tensorboard`", file=sys.stderr)
        return 1
    except (
        ConfigError,
        DataError,
        VocabularyError,
        CheckpointError,
        TrainingError,
        OSError,
    ) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def train(
    config: Config,
    data: Path,
    run: Path,
    init_bundle: Path | None = None,
    tensorboard: bool = False,
    processes: Processes | None = None,
    *,
    new_layers: bool = False,
    grow: bool = False,
    prepare_only: bool = False,
    clock: Clock = time.monotonic,
) -> None:
    """Prepare the text, then train until a limit is reached or a signal arrives.

    With `new_layers`, only the embeddings of `init_bundle` are used. With `grow`, layers are added to it.
    """
    processes = processes or Processes()
    valid_text = read_aligned(data, "valid", config.data.languages)
    run.mkdir(parents=True, exist_ok=True)
    init = bundle.load(init_bundle) if init_bundle else None
    if init is not None:
        init = _fitted(grown(init, config.model) if grow else init, config, new_layers)
        config = init.config
    vocabularies, corpus = prepare(config, data, run, init, processes)
    valid = encode_pairs(valid_text, config.data, vocabularies)
    if not valid:
        raise DataError(f"{data}: no pair of valid.* is within {config.data.max_tokens} tokens")
    if prepare_only:
        return
    log = RunLog(run, tensorboard and processes.is_first)
    trainer = Trainer(
        config, vocabularies, corpus, valid, valid_text, run, log, init, processes, clock
    )  # fmt: skip
    parameters = sum(parameter.numel() for parameter in trainer.network.parameters())
    logger.info(
        "%s parameters, %s x %s, %s",
        f"{parameters:,}", processes.world, trainer.device, trainer.precision,
    )  # fmt: skip
    if processes.is_first:
        description = json.dumps(config.to_mapping(), indent=2) + "\n"
        (run / "config.json").write_text(description, encoding="utf-8")
    with stopping_on(trainer, signal.SIGINT, signal.SIGTERM):
        trainer.fit()


@contextmanager
def stopping_on(trainer: Trainer, *signals: int) -> Iterator[None]:
    """Within the context, let each of `signals` end training after the current step."""

    def request_stop(number: int, _frame: object) -> None:
        logger.info("%s: saving a checkpoint and stopping", signal.Signals(number).name)
        trainer.stop_requested = True

    previous = {number: signal.signal(number, request_stop) for number in signals}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def prepare(
    config: Config, data: Path, run: Path, init: Checkpoint | None, processes: Processes
) -> tuple[Vocabularies, Corpus]:
    """Return the vocabularies and the tokenized text. The first process makes them; the others read them."""
    if not processes.is_first:
        processes.wait()
    vocabularies = init.vocabularies if init is not None else _vocabularies(config, data, run)
    corpus = Corpus.open(data, config.data, vocabularies, run / "tokens")
    if processes.is_first:
        processes.wait()
    _describe(corpus, config)
    return vocabularies, corpus


def _describe(corpus: Corpus, config: Config) -> None:
    for group in corpus.groups:
        times = "" if group.share == 1 else f", {group.share:.2f} times an epoch"
        logger.info("%s: %s pairs%s", group.name, f"{len(group.lines):,}", times)
    if corpus.num_too_long:
        logger.info(
            "%s pairs left out, longer than data.max_tokens = %s",
            f"{corpus.num_too_long:,}",
            config.data.max_tokens,
        )


def _fitted(init: Checkpoint, config: Config, new_layers: bool) -> Checkpoint:
    """Return the initial checkpoint with the options of `config`, but the sizes of its own weights.

    Differing sizes are logged.

    Raises:
        ConfigError: with `new_layers`, the embeddings differ in width from the configured layers.
        VocabularyError: the vocabulary has no tag for a target language.
    """
    for code in config.data.targets:
        init.vocabularies.source.tag_id(code)
    data = replace(config.data, vocabulary=init.config.data.vocabulary)
    sizes, weights = init.config.model, init.weights
    if new_layers:
        if sizes.d_model != config.model.d_model:
            raise ConfigError(
                f"--init-embeddings: the bundle has d_model = {sizes.d_model}, "
                f"but model.d_model = {config.model.d_model}"
            )
        sizes = replace(config.model, vocab_size=sizes.vocab_size, embeddings=sizes.embeddings)
        weights = {
            name: tensor
            for name, tensor in weights.items()
            if not name.startswith(("encoder", "decoder"))
        }
    model = sizes.with_regularization_of(config.model)
    wanted = asdict(config.model)
    differing = [
        f"{key} = {value!r} instead of {wanted[key]!r}"
        for key, value in asdict(model).items()
        if value != wanted[key]
    ]
    if differing:
        logger.info("the bundle's sizes are used: %s", ", ".join(differing))
    return replace(init, config=replace(config, model=model, data=data), weights=weights)


def _vocabularies(config: Config, data: Path, run: Path) -> Vocabularies:
    """Load the vocabularies of the run, and learn them first if it has none."""
    wanted = {FILE_NAME: config.data.languages}
    if config.data.vocabulary == "separate":
        wanted = {FILE_NAME: config.data.sources, TARGET_FILE_NAME: config.data.targets}
    for name, languages in wanted.items():
        path = run / name
        if path.exists():
            continue
        logger.info(
            "learning a vocabulary of %d tokens for %s",
            config.model.vocab_size,
            ", ".join(languages),
        )
        model = _learn(config, data, languages)
        partial = path.with_suffix(".partial")
        partial.write_bytes(model)
        partial.rename(path)
    return Vocabularies.load(run)


def _learn(config: Config, data: Path, languages: tuple[str, ...]) -> bytes:
    """Learn a SentencePiece model from at most `data.vocab_sentences` lines, evenly spaced."""
    counts: dict[Path, int] = {}
    for files in find_corpora(data, config.data.languages).values():
        corpus = {path: sum(1 for _ in iterate_lines(path)) for path in files.values()}
        check_aligned(corpus)
        counts |= {path: corpus[path] for code, path in files.items() if code in languages}
    step = -(-sum(counts.values()) // config.data.vocab_sentences)
    lines = (text for path in counts for text, _ in iterate_lines(path))
    return train_tokenizer(config, islice(lines, 0, None, step), str(data))


if __name__ == "__main__":
    sys.exit(main())
