"""`python -m tests.bench.nllb`: measure the import and the serving of a model with NLLB-600M's shape.

The weights are random, so translations may end early; their mean length is printed as well. The import runs
without transformers, as for a user who has not installed it, unless `--transformers` is given.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

from tests.bench import report
from tests.bench.imported_models import write_vocabulary
from tests.bench.over_http import UNLIMITED, serving
from tests.bench.overload import memory_of, server_pid

PIECES, VOCABULARY = 256_000, 256_206
"""Pieces of the SentencePiece model, and rows of the embedding table."""
ENDING = 0.03
"""Share of the tokens after which `</s>` is the most probable."""
LOUDNESS = 5.0
"""Scale of the embedding table relative to transformers' initialization, so that no tokens tie."""
TURN = 30.0
"""Scale of the last feed-forward layer."""
LINES, TOKENS = 2, 20
TOGETHER = 8
IMPORT = (
    "import sys; {}from export import verify; verify.TOLERANCES = verify.TOLERANCES_WITHOUT_TEXT; "
    "from export.importers.__main__ import main; sys.exit(main(sys.argv[1:]))"
)
"""Runs the import with the tolerances for random sources, since the lines are random words."""
HIDDEN = "sys.modules['transformers'] = None; "


def word(number: int) -> str:
    """Return a word of letters that is unique for each number."""
    letters = ""
    while number or not letters:
        number, digit = divmod(number, 26)
        letters += chr(ord("a") + digit)
    return letters


@torch.inference_mode()
def write_model(folder: Path) -> None:
    """Write a folder like a downloaded model, without the files that only transformers' tokenizer reads."""
    torch.manual_seed(0)
    config = transformers.M2M100Config(vocab_size=VOCABULARY)  # its other sizes are NLLB-600M's
    model: Any = transformers.M2M100ForConditionalGeneration(config).eval()
    table = model.model.shared.weight.mul_(LOUDNESS)
    _turn(model.model.decoder.layers[-1])
    ids = torch.randint(4, PIECES, (4, TOKENS))
    logits = model(input_ids=ids, decoder_input_ids=ids.flip(0)).logits.flatten(0, 1)
    end = table[config.eos_token_id]
    margin = (logits.max(-1).values - logits[:, config.eos_token_id]).quantile(ENDING)
    model.model.decoder.layer_norm.bias.add_(end * margin / end.square().sum())
    model.save_pretrained(folder)
    names = ["<unk>", "<s>", "</s>", *(f"▁{word(id)}" for id in range(3, PIECES))]
    special_ids = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}
    write_vocabulary(folder / "sentencepiece.bpe.model", names, **special_ids)
    tokens = {"additional_special_tokens": list(FAIRSEQ_LANGUAGE_CODES)}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens))


def _turn(layer: Any) -> None:
    """Make the last feed-forward layer linear and large, so that a token leads to another one."""
    half = len(layer.fc1.weight) // 2
    layer.fc1.weight[half:] = -layer.fc1.weight[:half]
    layer.fc2.weight[:, half:] = -layer.fc2.weight[:, :half]
    layer.fc2.weight.mul_(TURN)


def texts(count: int) -> list[str]:
    """Draw lines of random words, each of which is a token."""
    drawn = torch.randint(3, PIECES, (count, TOKENS), generator=torch.Generator().manual_seed(1))
    return [" ".join(map(word, row)) for row in drawn.tolist()]


def translated(port: int, text: str) -> tuple[float, int]:
    """Translate a text; return the seconds and the number of tokens."""
    # without n-gram blocking, random weights would repeat a token and trigger a second search
    limits = {"beam_size": 4, "max_decoding_length": TOKENS, "no_repeat_ngram_size": 1}
    fields = {"q": text, "source": "de", "target": "en", **limits}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/translate",
        json.dumps(fields).encode(),
        {"content-type": "application/json"},
    )
    started = time.perf_counter()
    with urllib.request.urlopen(request, timeout=600) as response:
        translation = json.load(response)["translatedText"]
    return time.perf_counter() - started, len(translation.split())


def serve(folder: Path, port: int) -> None:
    """Start the service, send requests, and print time and memory."""
    started = time.perf_counter()
    with serving(["service"], port, **{**UNLIMITED, "ATTENDANT_BUNDLE": str(folder)}):
        pid = server_pid(port)
        print(f"start: {time.perf_counter() - started:.0f} s, {memory_of(pid):.0f} MiB", flush=True)
        measurements = [translated(port, text) for text in texts(20)]
        seconds, tokens = zip(*measurements, strict=True)
        print(
            f"20 alone: median {statistics.median(seconds):.2f} s, {statistics.mean(tokens):.1f} tokens, "
            f"then {memory_of(pid):.0f} MiB",
            flush=True,
        )
        started = time.perf_counter()
        with ThreadPoolExecutor(TOGETHER) as pool:
            list(pool.map(lambda text: translated(port, text), texts(6 * TOGETHER)))
        rate = 6 * TOGETHER / (time.perf_counter() - started)
        print(f"{TOGETHER} in flight: {rate:.2f} requests/s, then {memory_of(pid):.0f} MiB")


def main() -> None:
    """Make, import and serve the model."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.nllb", description=__doc__)
    parser.add_argument("--folder", type=Path, help="keep the model and its bundle here")
    parser.add_argument(
        "--transformers", action="store_true", help="compare with transformers in the import"
    )
    parser.add_argument("--port", type=int, default=8794)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        model, lines, out = folder / "nllb-600M", folder / "lines.txt", folder / "bundle"
        if not model.exists():
            write_model(model)
        lines.write_text("".join(f"{text}\n" for text in texts(LINES)))
        if not out.exists():
            program = IMPORT.format("" if options.transformers else HIDDEN)
            arguments = [
                str(model),
                "--out",
                str(out),
                "--precisions",
                "int8",
                "--data",
                str(lines),
            ]
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", program, *arguments], check=True)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
            seconds = time.perf_counter() - started
            print(f"import: {seconds:.0f} s, at most {peak:.1f} GiB", flush=True)
        serve(out, options.port)
    print(f"{report.machine()}, {len(os.sched_getaffinity(0))} of its cores")


if __name__ == "__main__":
    main()
