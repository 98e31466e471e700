"""`python -m model.report RUN --data DIR`: write a page with the results of a run.

Losses, learning rate and BLEU by step come from the run's log. Everything else is computed with the last
checkpoint on the held-out text `valid.<code>`.
"""

import argparse
import html
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import sacrebleu
import torch
from tqdm import tqdm

from model import figures, log
from model.checkpoint import Checkpoint, CheckpointError, load_run
from model.data.corpus import encode_pairs
from model.data.text import DataError, read_aligned
from model.evaluate import attention_widths, greedy_translate, suppressed_ids
from model.tokenizer import BOS_ID, EOS_ID
from model.transformer import Transformer

LENGTHS = ((1, 5), (6, 10), (11, 15), (16, 25), (26, None))
"""Classes of source lengths, in words."""
PAGE = Path(__file__).with_suffix(".html")
FEWEST = 10
"""Minimum number of sentences to compute the BLEU of a class."""


@dataclass(frozen=True)
class Translated:
    """The held-out sentences of one direction and their translations."""

    direction: str
    sources: list[str]
    translations: list[str]
    references: list[str]

    @property
    def bleu(self) -> float:
        """SacreBLEU of all sentences."""
        return float(sacrebleu.corpus_bleu(self.translations, [self.references]).score)

    def bleu_by_length(self) -> list[float | None]:
        """Compute SacreBLEU for each class of `LENGTHS`; None for a class with too few sentences."""
        scores: list[float | None] = []
        for rows in _by_length(self.sources):
            if len(rows) < FEWEST:
                scores.append(None)
                continue
            hypotheses = [self.translations[row] for row in rows]
            references = [self.references[row] for row in rows]
            scores.append(float(sacrebleu.corpus_bleu(hypotheses, [references]).score))
        return scores


def _by_length(sources: Sequence[str]) -> list[list[int]]:
    words = [len(source.split()) for source in sources]
    return [
        [row for row, count in enumerate(words) if low <= count <= (high or count)]
        for low, high in LENGTHS
    ]


def main(arguments: list[str] | None = None) -> int:
    """Write the page and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m model.report", description=__doc__)
    parser.add_argument("run", type=Path, help="the run's folder")
    parser.add_argument("--data", type=Path, required=True, help="folder with valid.<code>")
    parser.add_argument("--out", type=Path, help="file to write (default RUN/report.html)")
    parser.add_argument(
        "--sentences",
        type=int,
        default=500,
        help="sentences of valid.* per direction (default 500)",
    )
    options = parser.parse_args(arguments)
    if options.sentences < 1:
        parser.error(f"--sentences: {options.sentences} must be at least 1")
    out = options.out or options.run / "report.html"
    try:
        checkpoint = load_run(options.run, last=1)
        text = read_aligned(options.data, "valid", checkpoint.config.data.languages)
        page = make_page(options.run, checkpoint, text, options.sentences)
        out.write_text(page, encoding="utf-8")
    except (CheckpointError, DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(out)
    return 0


def make_page(run: Path, checkpoint: Checkpoint, text: dict[str, list[str]], sentences: int) -> str:
    """Return the report as a self-contained HTML page."""
    network, reports = checkpoint.network(), log.read(run)
    sample = _evenly(text, sentences)
    translated = [
        translate(network, checkpoint, sample, direction)
        for direction in tqdm(
            checkpoint.config.data.directions, desc="translating", unit="direction", leave=False
        )
    ]
    first = translated[0]
    pairs = encode_pairs(sample, checkpoint.config.data, checkpoint.vocabularies)
    scores = {result.direction: result.bleu_by_length() for result in translated}
    counts = [len(rows) for rows in _by_length(first.sources)]
    labels = [f"{low}-{high}" if high else f"{low} and more" for low, high in LENGTHS]
    return Template(PAGE.read_text(encoding="utf-8")).substitute(
        name=html.escape(run.resolve().name),
        summary=_table(summary(checkpoint, network, reports, translated)),
        losses=figures.loss_and_rate(reports),
        bleu=figures.bleu_by_step(reports),
        lengths=figures.bleu_by_length(scores, counts, labels),
        positions=figures.positions(checkpoint.config.model.d_model),
        widths=figures.attention_widths(attention_widths(network, pairs)),
        attention="".join(attention_maps(network, checkpoint, first)),
        samples="".join(samples(result) for result in translated),
        config=html.escape(_config(checkpoint)),
    )


def _evenly(text: dict[str, list[str]], count: int) -> dict[str, list[str]]:
    """Choose at most `count` aligned lines, evenly spaced."""
    step = max(1, -(-len(next(iter(text.values()))) // count))
    return {code: lines[::step] for code, lines in text.items()}


def translate(
    network: Transformer, checkpoint: Checkpoint, text: dict[str, list[str]], direction: str
) -> Translated:
    """Translate all lines in one direction by greedy search."""
    source, target = direction.split("-")
    suppressed = suppressed_ids(checkpoint.vocabularies, checkpoint.config)
    translations = greedy_translate(
        network, checkpoint.vocabularies, text[source], target, suppressed
    )
    return Translated(direction, text[source], translations, text[target])


def summary(
    checkpoint: Checkpoint,
    network: Transformer,
    reports: figures.Reports,
    translated: Sequence[Translated],
) -> list[tuple[str, str]]:
    """Return the rows of the summary table: network, vocabulary, training and BLEU."""
    sizes = checkpoint.config.model
    training = [report for report in reports if report["kind"] == "train"]
    rows = [
        ("network", f"{sizes.num_encoder_layers} + {sizes.num_decoder_layers} layers, d_model "
         f"{sizes.d_model}, d_ff {sizes.d_ff}, {sizes.num_heads} heads, {sizes.norm}-norm, "
         f"{sum(parameter.numel() for parameter in network.parameters()):,} parameters"),
        ("vocabulary", f"{sizes.vocab_size:,} tokens, {checkpoint.config.data.vocabulary}"),
        ("trained", f"{checkpoint.step:,} steps"),
    ]  # fmt: skip
    if training:
        rows.append(("epochs", f"{training[-1]['epoch'] + 1} begun"))
        speeds = sorted(report["tokens_per_second"] for report in training)
        rows.append(("speed", f"{speeds[len(speeds) // 2]:,.0f} target tokens/s (median)"))
        rows.append(("loss", f"{training[-1]['nll']:.3f} nats per token in training, at the end"))
    rows += [
        (
            f"BLEU {result.direction}",
            f"{result.bleu:.1f} (greedy, {len(result.sources)} held-out sentences)",
        )
        for result in translated
    ]
    return rows


def attention_maps(
    network: Transformer, checkpoint: Checkpoint, translated: Translated, count: int = 2
) -> list[str]:
    """Plot cross-attention of the last decoder layer and self-attention of the first encoder layer.

    Returns:
        Both figures for each of `count` sentences of readable length.
    """
    vocabularies, target_code = checkpoint.vocabularies, translated.direction.split("-")[1]
    readable = [
        row for row, source in enumerate(translated.sources) if 6 <= len(source.split()) <= 12
    ]
    last = checkpoint.config.model.num_decoder_layers - 1
    pictures = []
    for row in readable[:: max(1, len(readable) // count)][:count]:
        source = vocabularies.source.encode([translated.sources[row]])[0]
        target = vocabularies.target.encode([translated.translations[row]])[0]
        source = [vocabularies.source.tag_id(target_code), *source, EOS_ID]
        with torch.inference_mode():
            maps = network.attention_maps(torch.tensor([source]), torch.tensor([[BOS_ID, *target]]))
        keys = [vocabularies.source.processor.id_to_piece(token) for token in source]
        predicted = [
            vocabularies.target.processor.id_to_piece(token) for token in [*target, EOS_ID]
        ]
        for name, queries, title in (
            (f"decoder.{last}.cross", predicted, "last decoder layer: attention to the source"),
            ("encoder.0.self", keys, "first encoder layer: attention among source tokens"),
        ):  # fmt: skip
            pictures.append(figures.attention(maps[name][0].numpy(), queries, keys, title))
    return pictures


def samples(translated: Translated, count: int = 8) -> str:
    """Return a table of some translations, evenly spaced, with their references and chrF."""
    rows = []
    for row in range(0, len(translated.sources), max(1, len(translated.sources) // count)):
        translation, reference = translated.translations[row], translated.references[row]
        chrf = sacrebleu.sentence_chrf(translation, [reference]).score
        cells = (translated.sources[row], translation, reference)
        rows.append(
            "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + f"<td>{chrf:.0f}</td>"
        )
    body = "".join(f"<tr>{row}</tr>" for row in rows[:count])
    return (
        f"<h3>{translated.direction}</h3><table class=wide><tr><th>source</th><th>translation</th>"
        f"<th>reference</th><th>chrF</th></tr>{body}</table>"
    )


def _table(rows: Sequence[tuple[str, str]]) -> str:
    cells = (
        f"<tr><th>{html.escape(key)}</th><td>{html.escape(value)}</td></tr>" for key, value in rows
    )
    return f"<table>{''.join(cells)}</table>"


def _config(checkpoint: Checkpoint) -> str:
    """Return all values of the configuration, by section."""
    lines = []
    for section, values in checkpoint.config.to_mapping().items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {value!r}" for key, value in values.items()]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
