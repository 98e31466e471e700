"""`python -m model.train CONFIG --data DIR --out RUN`: from aligned text to checkpoints.

The same command run again goes on from the last checkpoint.
"""

import argparse
import json
import logging
import signal
import sys
from dataclasses import replace
from pathlib import Path

from tqdm.contrib.logging import logging_redirect_tqdm

from model import bundle
from model import tokenizer as vocabulary
from model.checkpoint import Checkpoint, CheckpointError
from model.config import Config, ConfigError, load_config
from model.data import Corpus, DataError, read_aligned
from model.tokenizer import Tokenizer, VocabularyError, train_tokenizer
from model.trainer import Trainer, TrainingError, stopping_on

logger = logging.getLogger("model.train")


def main(arguments: list[str] | None = None) -> int:
    """Train; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m model.train", description=__doc__)
    parser.add_argument("config", help="a preset (tiny, small, base, big) or a TOML file")
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with train.<code>, valid.<code>"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the run, made if absent")
    parser.add_argument(
        "--init", type=Path, help="bundle whose weights and vocabulary to start from"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override one value of the config, as training.max_steps=500",
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    try:
        config = load_config(options.config, options.set)
        with logging_redirect_tqdm():
            train(config, options.data, options.out, options.init)
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


def train(config: Config, data: Path, run: Path, init_bundle: Path | None = None) -> None:
    """Everything from the text to the last checkpoint."""
    text = read_aligned(data, "train", config.data.languages)
    valid_text = read_aligned(data, "valid", config.data.languages)
    run.mkdir(parents=True, exist_ok=True)
    init = bundle.load(init_bundle) if init_bundle else None
    if init is not None:
        config = _like(init, config)
    tokenizer = init.tokenizer if init is not None else _tokenizer(config, text, data, run)
    corpus = Corpus.encode(text, config.data, tokenizer)
    valid = Corpus.encode(valid_text, config.data, tokenizer)
    if not corpus.pairs or not valid.pairs:
        raise DataError(
            f"{data}: no pair is within data.max_tokens = {config.data.max_tokens} tokens"
        )
    logger.info(
        "%s pairs (%s left out, longer than data.max_tokens = %s)",
        f"{len(corpus.pairs):,}",
        f"{corpus.num_too_long:,}",
        config.data.max_tokens,
    )
    trainer = Trainer(config, tokenizer, corpus, valid, valid_text, run, init)
    parameters = sum(parameter.numel() for parameter in trainer.network.parameters())
    logger.info("%s parameters, %s, %s", f"{parameters:,}", trainer.device, trainer.precision)
    (run / "config.json").write_text(
        json.dumps(config.to_mapping(), indent=2) + "\n", encoding="utf-8"
    )
    with stopping_on(trainer, signal.SIGINT, signal.SIGTERM):
        trainer.fit()


def _like(init: Checkpoint, config: Config) -> Config:
    """The wanted recipe with the sizes that the bundle's weights have; its languages must be known."""
    for code in config.data.targets:
        init.tokenizer.tag_id(code)
    return replace(config, model=replace(init.config.model, dropout=config.model.dropout))


def _tokenizer(config: Config, text: dict[str, list[str]], data: Path, run: Path) -> Tokenizer:
    """The run's vocabulary, learnt at its beginning and kept."""
    path = run / vocabulary.FILE_NAME
    if not path.exists():
        logger.info("learning a vocabulary of %d tokens", config.model.vocab_size)
        sentences = (line for code in config.data.languages for line in text[code])
        model = train_tokenizer(config, sentences, str(data))
        partial = path.with_suffix(".partial")
        partial.write_bytes(model)
        partial.rename(path)
    return Tokenizer.load(path)


if __name__ == "__main__":
    sys.exit(main())
