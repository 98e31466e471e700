"""Proves the engine on a GPU: what runs there, that it translates alike, how fast, beside CTranslate2.

    python -m tests.bench.gpu --out build/gpu

It needs PyTorch, onnx and onnxruntime-gpu, no model and no data; CTranslate2 and the service's other
packages if they are there. It prints each part as soon as it is measured, writes everything to `gpu.json`,
and ends within `--minutes`. `--device cpu --preset tiny` rehearses it without a GPU.
"""

import argparse
import json
import os
import statistics
import subprocess
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import onnxruntime
import torch

from export.decoder import build_decoder
from export.encoder import build_encoder
from export.graph import GraphBuilder, Precision
from export.weights import WeightsFile
from model.config import load_config
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from model.transformer import Transformer
from service.engine import runner as runners
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.runner import OnnxModelRunner
from service.engine.types import DecodingOptions, Device, Hypothesis, SpecialIds
from tests.bench.ending import ending_network, random_sources

MAX_LENGTH = 64
SPECIAL = SpecialIds(PAD_ID, BOS_ID, EOS_ID)
PRECISIONS: tuple[Precision, ...] = ("fp16", "fp32")
COMPARED = 200
"""Sentences whose tokens are compared with the CPU's."""
CONCURRENCY = (1, 16, 64, 128, 256)
CLOSE = 0.02
"""Translations whose log-probabilities differ by less a token are a tie, by the precision of fp16."""
PEER_BATCHES = (64, 128, 256)

Ids = Sequence[int]
Part = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """The model under test."""

    folder: Path
    network: Transformer
    sources: list[list[int]]
    device: Device
    seconds: float
    """How long each measurement of speed takes."""

    def graphs(self, precision: Precision) -> tuple[Path, Path]:
        """Return the files of encoder and decoder."""
        return self.folder / f"encoder.{precision}.onnx", self.folder / f"decoder.{precision}.onnx"


def make_subject(preset: str, folder: Path, device: Device, seconds: float) -> Subject:
    """Write a model of random weights whose translations end."""
    sizes = replace(load_config(preset).model, norm="post")
    sources = random_sources(2048, sizes.vocab_size)
    network = ending_network(sizes, sources[:24])
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    file = WeightsFile(folder)
    subject = Subject(folder, network, sources, device, seconds)
    for precision in PRECISIONS:
        encoder, decoder = subject.graphs(precision)
        file.save(build_encoder(GraphBuilder(precision, weights), network.config), encoder.name)
        outer, body = (GraphBuilder(precision, weights, prefix=prefix) for prefix in ("", "step."))
        graph = build_decoder(outer, body, network.config, (PAD_ID, BOS_ID))
        file.save(graph, decoder.name)
    return subject


@contextmanager
def running(runner: OnnxModelRunner, device: Device, max_num_seqs: int = 0) -> Iterator[Engine]:
    """Run an engine with the sizes that the service would choose."""
    config = EngineConfig(max_waiting=1_000_000, max_waiting_tokens=1_000_000_000)
    if device == "cuda":
        config = config.for_device(runners.cuda_device().memory_bytes, runner.bytes_per_entry)
    config = replace(config, max_num_seqs=max_num_seqs or config.max_num_seqs)
    engine = Engine([runner], SPECIAL, config)
    engine.start()
    try:
        yield engine
    finally:
        engine.close()


def options_of(beam_size: int) -> DecodingOptions:
    """Return the options of a search."""
    return DecodingOptions(MAX_LENGTH, beam_size)


def searched(engine: Engine, sources: Sequence[Ids], beam_size: int) -> list[Hypothesis]:
    """Translate all sources at once."""
    sequences = engine.submit([(source, options_of(beam_size)) for source in sources])
    return [sequence.future.result(600)[0] for sequence in sequences]


def placement(subject: Subject) -> Part:
    """(a) Which nodes run on the CPU."""
    part: Part = {}
    for precision in PRECISIONS:
        placed = OnnxModelRunner(*subject.graphs(precision), subject.device).placement
        part[precision] = str(placed)
    return part


def exactness(subject: Subject) -> Part:
    """(b) Whether tokens are those of the CPU in fp32, and how many differ by a tie."""
    part: Part = {}
    sources = subject.sources[:COMPARED]
    with running(OnnxModelRunner(*subject.graphs("fp32")), "cpu") as engine:
        expected = {beam_size: searched(engine, sources, beam_size) for beam_size in (1, 4)}
    for precision in PRECISIONS:
        runner = OnnxModelRunner(*subject.graphs(precision), subject.device)
        with running(runner, subject.device) as engine:
            for beam_size, others in expected.items():
                found = searched(engine, sources, beam_size)
                lead = [
                    lead_of(subject.network, source, other.ids, one.ids, beam_size)
                    for source, one, other in zip(sources, found, others, strict=True)
                    if one.ids != other.ids
                ]
                part[f"{precision}, beam {beam_size}"] = {
                    "sentences": len(sources),
                    "different": len(lead),
                    "by a tie": sum(nats < CLOSE for nats in lead),
                    "largest lead, nats a token": round(max(lead, default=0.0), 4),
                }
    return part


@torch.inference_mode()
def lead_of(network: Transformer, source: Ids, expected: Ids, found: Ids, beam_size: int) -> float:
    """Return how far the network in fp32 prefers one translation to another, in nats a token.

    For a greedy search, this is the lead of the first token that differs: what follows it is no choice.
    """
    scores = []
    for ids in (expected, found):
        target = torch.tensor([[BOS_ID, *ids, EOS_ID]])
        log_probs = network(torch.tensor([list(source)]), target[:, :-1]).log_softmax(-1)
        scores.append(log_probs.gather(-1, target[:, 1:, None])[0, :, 0])
    if beam_size > 1:
        return float((scores[0].mean() - scores[1].mean()).abs())
    pairs = zip([*expected, EOS_ID], [*found, EOS_ID], strict=False)
    first = next(index for index, (one, other) in enumerate(pairs) if one != other)
    return float((scores[0][first] - scores[1][first]).abs())


def keep_in_flight(
    submit: Callable[[Ids], "Future[int]"], sources: Sequence[Ids], count: int, seconds: float
) -> Part:
    """Keep `count` sentences in flight, after a warm-up of a quarter; return tokens/s and latencies."""
    lock, ended = threading.Lock(), threading.Event()
    finished: list[tuple[float, float, int]] = []
    following, in_flight = iter(cycled(sources)), threading.Semaphore(0)
    started = time.perf_counter()

    def send() -> None:
        with lock:
            source = next(following)
        begun = time.perf_counter()
        submit(source).add_done_callback(partial(done, begun))

    def done(begun: float, future: "Future[int]") -> None:
        now = time.perf_counter()
        finished.append((now, now - begun, future.result()))
        if ended.is_set():
            in_flight.release()
        else:
            send()

    for _ in range(count):
        send()
    time.sleep(1.25 * seconds)
    ended.set()
    for _ in range(count):
        in_flight.acquire(timeout=60)
    measured = [item for item in finished if 0.25 * seconds <= item[0] - started <= 1.25 * seconds]
    latencies = sorted(item[1] for item in measured)
    return {
        "tokens/s": round(sum(item[2] for item in measured) / seconds),
        "sentences/s": round(len(measured) / seconds, 1),
        "p50, ms": round(1000 * statistics.median(latencies), 1),
        "p95, ms": round(1000 * latencies[int(0.95 * len(latencies))], 1),
    }


def cycled(sources: Sequence[Ids]) -> Iterator[Ids]:
    """Yield the sources again and again."""
    while True:
        yield from sources


def speed(subject: Subject) -> Part:
    """(c) Target tokens a second over the engine, by beams and sentences in flight; fp16."""
    part: Part = {}
    runner = OnnxModelRunner(*subject.graphs("fp16"), subject.device)
    for beam_size in (4, 1):
        with running(runner, subject.device) as engine:
            searched(engine, subject.sources[:300], beam_size)  # warms up

            def submit(source: Ids, beam_size: int = beam_size, engine: Engine = engine) -> Any:
                [sequence] = engine.submit([(source, options_of(beam_size))])
                counted: Future[int] = Future()
                sequence.future.add_done_callback(
                    lambda future: counted.set_result(len(future.result()[0].ids) + 1)
                )
                return counted

            for count in CONCURRENCY:
                part[f"beam {beam_size}, {count} in flight"] = keep_in_flight(
                    submit, subject.sources, count, subject.seconds
                )
            seconds, tokens = timed(lambda: searched(engine, subject.sources, beam_size))  # noqa: B023
            part[f"beam {beam_size}, {len(subject.sources)} at once"] = {
                "tokens/s": round(tokens / seconds),
                "sentences in a batch": engine.config.max_num_seqs,
            }
    return part


def timed(search: Callable[[], list[Hypothesis]]) -> tuple[float, int]:
    """Return the seconds that a search takes, and its target tokens."""
    started = time.perf_counter()
    found = search()
    return time.perf_counter() - started, sum(len(hypothesis.ids) + 1 for hypothesis in found)


def competition(subject: Subject) -> Part:
    """(d) CTranslate2 with the same weights, at its best batch size."""
    import ctranslate2  # it may be missing

    from tests.bench import peer

    part: Part = {}
    folder = peer.convert(subject.network, subject.folder / "ctranslate2")
    compute = "float16" if subject.device == "cuda" else "float32"
    translator = ctranslate2.Translator(str(folder), device=subject.device, compute_type=compute)
    names = peer.pieces(subject.network.config.vocab_size)
    texts = [[names[token] for token in source] for source in subject.sources]
    suppressed = [[names[PAD_ID]], [names[BOS_ID]]]

    def translate(sources: list[list[str]], beam_size: int, batch: int) -> list[Any]:
        return list(
            translator.translate_batch(
                sources,
                beam_size=beam_size,
                length_penalty=0.6,
                max_decoding_length=MAX_LENGTH,
                max_batch_size=batch,
                suppress_sequences=suppressed,
            )
        )

    for beam_size in (4, 1):
        translate(texts[:300], beam_size, 64)
        for batch in PEER_BATCHES:
            started = time.perf_counter()
            found = translate(texts, beam_size, batch)
            seconds = time.perf_counter() - started
            tokens = sum(len(result.hypotheses[0]) + 1 for result in found)
            part[f"beam {beam_size}, {len(texts)} at once, batches of {batch}"] = {
                "tokens/s": round(tokens / seconds)
            }
        alone = [
            timed_call(lambda text=text: translate([text], beam_size, 1))  # type: ignore[misc]  # noqa: B023
            for text in texts[:40]
        ]
        part[f"beam {beam_size}, 1 in flight"] = {
            "p50, ms": round(1000 * statistics.median(alone), 1)
        }
    return part


def timed_call(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def memory(subject: Subject) -> Part:
    """(e) Speed and the device's memory with each way in which ONNX Runtime's memory grows."""
    part: Part = {}
    usual = runners.ARENA_EXTENSION
    for strategy in ("kNextPowerOfTwo", "kSameAsRequested"):
        runners.ARENA_EXTENSION = strategy
        before = device_megabytes()
        runner = OnnxModelRunner(*subject.graphs("fp16"), subject.device)
        with running(runner, subject.device, 128) as engine:
            seconds, tokens = timed(lambda: searched(engine, subject.sources, 4))
            part[strategy] = {
                "tokens/s": round(tokens / seconds),
                "MB taken": device_megabytes() - before,
            }
        runner.release_memory(None)
        part[strategy]["MB after release"] = device_megabytes() - before
        del runner
    runners.ARENA_EXTENSION = usual
    return part


def device_megabytes() -> int:
    """Return the memory in use on the device; 0 without one."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(shown.split()[0])


class Profiled(OnnxModelRunner):
    """A runner whose decoder writes a profile; the engine's runs are counted."""

    def __init__(self, prefix: Path, *arguments: Any) -> None:
        """Load the graphs; the profile's name begins with `prefix`."""
        super().__init__(*arguments)
        self.steps = 0
        options = onnxruntime.SessionOptions()
        options.enable_profiling, options.profile_file_prefix = True, str(prefix)
        providers = self._decoder.get_providers()
        self._decoder = onnxruntime.InferenceSession(
            str(arguments[1]), options, providers=providers, enable_fallback=0
        )

    def decode(self, *arguments: Any) -> Any:
        """See ModelRunner."""
        run = super().decode(*arguments)
        self.steps += len(run.scores)
        return run

    def end(self) -> list[dict[str, Any]]:
        """Return the events of the profile."""
        path = Path(self._decoder.end_profiling())
        return cast(list[dict[str, Any]], json.loads(path.read_text()))


def profile(subject: Subject) -> Part:
    """(f) What a step of 128 sentences consists of: nodes, copies, and the longest operators."""
    runner = Profiled(subject.folder / "profile", *subject.graphs("fp16"), subject.device)
    with running(runner, subject.device, 128) as engine:
        searched(engine, subject.sources[:512], 4)
    events = runner.end()
    kernels = [event for event in events if str(event.get("name", "")).endswith("_kernel_time")]
    by_operator: dict[str, float] = defaultdict(float)
    providers: Counter[str] = Counter()
    for event in kernels:
        arguments = event["args"]
        by_operator[arguments["op_name"]] += event["dur"] / runner.steps
        providers[arguments.get("provider", "")] += 1
    longest = sorted(by_operator.items(), key=lambda item: -item[1])
    return {
        "steps": runner.steps,
        "nodes a step": round(len(kernels) / runner.steps, 1),
        "by provider, a step": {
            name: round(count / runner.steps, 2) for name, count in providers.items()
        },
        "copies a step": round(
            sum("Memcpy" in event["args"]["op_name"] for event in kernels) / runner.steps, 2
        ),
        "µs a step": {name: round(microseconds, 1) for name, microseconds in longest[:16]},
    }


def over_http(subject: Subject) -> Part:
    """(c) The bundled model over HTTP, if it is there."""
    import asyncio

    from tests.bench.over_http import Connection, serving
    from tests.bench.text import everyday_german

    texts, port = everyday_german(2000), 8799

    async def rate(connections: int) -> Part:
        opened = [Connection(port) for _ in range(connections)]
        following, latencies = iter(cycled(texts)), list[float]()  # type: ignore[arg-type]
        started = time.perf_counter()

        async def send(connection: Connection) -> None:
            while time.perf_counter() < started + subject.seconds:
                latencies.append(await connection.post(str(next(following))))
            await connection.close()

        await asyncio.gather(*map(send, opened))
        seconds = time.perf_counter() - started
        return {
            "sentences/s": round(len(latencies) / seconds, 1),
            "p50, ms": round(1000 * statistics.median(latencies), 1),
        }

    with serving(["service"], port, ATTENDANT_DEVICE=subject.device):
        return {f"{count} connections": asyncio.run(rate(count)) for count in (1, 16, 64, 128, 256)}


PARTS: dict[str, Callable[[Subject], Part]] = {
    "a: nodes on the CPU": placement,
    "b: tokens equal to the CPU's": exactness,
    "c: over the engine": speed,
    "d: CTranslate2": competition,
    "e: memory": memory,
    "f: a step": profile,
    "c: over HTTP": over_http,
}


def machine(device: Device) -> Part:
    """Return what is measured on."""
    shown: Part = {"onnxruntime": onnxruntime.__version__, "torch": torch.__version__}
    if device == "cuda":
        found = runners.cuda_device()
        shown |= {"device": found.name, "CUDA of the driver": ".".join(map(str, found.cuda))}
    return shown


def main() -> None:
    """Measure each part that there is time for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for gpu.json and the model")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--preset", default="base", help="the network's size (base)")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each figure of speed (4)")
    parser.add_argument("--minutes", type=float, default=6.0, help="for everything (6)")
    parser.add_argument(
        "--parts", default="", help="letters of the parts to measure, all by default"
    )
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    arguments.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": machine(arguments.device)}
    print(json.dumps(results["machine"]), flush=True)
    subject = make_subject(
        arguments.preset, arguments.out / "model", arguments.device, arguments.seconds
    )
    for name, measure in PARTS.items():
        if arguments.parts and name[0] not in arguments.parts:
            continue
        measured: list[Part] = []
        thread = threading.Thread(
            target=lambda: measured.append(_measured(measure, subject)),  # noqa: B023
            daemon=True,
        )
        thread.start()
        thread.join(max(1.0, end - time.monotonic()))
        results[name] = measured[0] if measured else {"error": "no time was left"}
        print(f"\n== {name}\n{json.dumps(results[name], indent=1, ensure_ascii=False)}", flush=True)
        (arguments.out / "gpu.json").write_text(json.dumps(results, indent=1, ensure_ascii=False))
        if not measured:
            os._exit(1)  # a run of the GPU cannot be ended otherwise


def _measured(measure: Callable[[Subject], Part], subject: Subject) -> Part:
    """Return a part; an error is a result, too, so that the others are measured."""
    started = time.perf_counter()
    try:
        part = measure(subject)
    except Exception as error:
        part = {
            "error": f"{type(error).__name__}: {error}",
            "trace": traceback.format_exc()[-2000:],
        }
    return part | {"seconds": round(time.perf_counter() - started, 1)}


if __name__ == "__main__":
    main()
