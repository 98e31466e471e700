"""Measurements against the machine's limits: operations and memory bandwidth, and time by kernel."""

import json
import math
import random
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from export.graph import GraphBuilder, tensor, to_model
from export.int8 import ActivationRange
from export.selection import group_size
from model.config import ModelConfig
from model.tokenizer import EOS_ID
from service.engine.types import DecodingOptions, StepStats
from tests.bench.measure import Row
from tests.bench.models import BenchModel
from tests.bench.online import cycled
from tests.bench.systems import Ours

BEAM = 4
REPEAT = 20
BATCHES = 12
"""Full batches per worker, one after another."""


@dataclass
class Gauge:
    """Measurements of one int8 model on this machine."""

    model: BenchModel
    cores: int

    def peak_operations(self) -> float:
        """Measure int8 operations per second of a large product on each core, all cores at once."""
        rng = np.random.default_rng(0)
        weight = rng.normal(size=(4096, 1024)).astype(np.float32)
        ranges = {"layer": ActivationRange(-4.0, 4.0)}
        b = GraphBuilder("int8", {"layer.weight": weight, "layer.bias": weight[:, 0]}, ranges)
        result = b.linear("x", "layer")
        shape: list[str | int] = ["rows", 1024]
        graph = b.finish(
            "peak", [tensor("x", "f32", shape)], {result: tensor("y", "f32", ["rows", 4096])}
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(to_model(graph).SerializeToString(), options)
        x = rng.normal(size=(1024, 1024)).astype(np.float32)

        def work(_: int) -> None:
            for _ in range(REPEAT):
                session.run(None, {"x": x})

        return self._rate(work, 2 * 1024 * 1024 * 4096 * REPEAT)

    def peak_bandwidth(self) -> float:
        """Measure bytes per second, read and written, of copies larger than any cache, all cores at once."""
        arrays = [np.zeros(1 << 25) for _ in range(2 * self.cores)]

        def work(index: int) -> None:
            for _ in range(4):
                np.copyto(arrays[2 * index], arrays[2 * index + 1])

        return self._rate(work, 2 * 4 * arrays[0].nbytes)

    def _rate(self, work: Any, amount: int) -> float:
        with ThreadPoolExecutor(self.cores) as pool:
            list(pool.map(work, range(self.cores)))
            started = time.perf_counter()
            list(pool.map(work, range(self.cores)))
        return self.cores * amount / (time.perf_counter() - started)

    def decoding(self, rows: int) -> Row:
        """Measure operations and weight bytes per second with `rows` sentences per worker.

        Also measures the host's share of the time.
        Only full batches count. The sentences are those of the benchmark, without a forced length: a forced
        length bans EOS, and such batches copy their logits, which is 3 to 6 % slower.
        """
        ours = Ours(self.model, "int8", self.cores, rows)
        sources = cycled(self.model.sources, BATCHES * rows * self.cores)
        ours.translate(sources, BEAM)
        ours.steps.clear()
        ours.translate(sources, BEAM)
        ours.engine.close()
        full = [stats for stats in ours.steps if stats.rows == rows]
        decoded = sum(stats.rows * stats.steps for stats in full)
        seconds = sum(stats.decode_seconds for stats in full) / self.cores
        steps = sum(stats.steps for stats in full)
        multiplied = _weights(self.model.sizes)
        return {
            "rows a worker": rows,
            "operations/s": 2 * multiplied * BEAM * decoded / seconds,
            "weight bytes/s": multiplied * steps / seconds,
            "host share": _host_share(full),
        }

    def kernels(self) -> list[Row]:
        """Return the share of each kind of kernel in decoding 16 rows, from ONNX Runtime's profile."""
        durations: Counter[str] = Counter()
        for event in self._profile():
            durations[event["args"]["op_name"]] += event["dur"]
        total = sum(durations.values())
        return [
            {"kernel": kind, "share": f"{duration / total:.1%}"}
            for kind, duration in durations.most_common(8)
        ]

    def projection(self) -> dict[str, float]:
        """Return the share of the projection to the vocabulary in decoding 16 rows, by kind of kernel."""
        durations: Counter[str] = Counter()
        total = 0.0
        for event in self._profile():
            total += event["dur"]
            kind, input_types = event["args"]["op_name"], event["args"]["input_type_shape"][:1]
            if kind != "Gather" and any(
                self._is_vocabulary(tensor)
                for tensor in (*input_types, *event["args"]["output_type_shape"])
            ):
                durations[kind] += event["dur"]
        return {kind: duration / total for kind, duration in durations.most_common()}

    def _is_vocabulary(self, tensor: dict[str, list[int]]) -> bool:
        """Check whether a tensor has a value for each token, padded to whole groups."""
        [shape] = tensor.values()
        size, group = self.model.sizes.vocab_size, group_size(self.model.sizes.vocab_size)
        count = math.prod(shape)
        return count > 0 and count % (-(-size // group) * group) == 0

    def _profile(self) -> list[dict[str, Any]]:
        """Return the decoder's kernel events of the second pass, because the first also maps memory."""
        profiled: list[onnxruntime.InferenceSession] = []
        original = onnxruntime.InferenceSession
        with tempfile.TemporaryDirectory() as folder:

            def session(path: str, options: Any, **keywords: Any) -> onnxruntime.InferenceSession:
                options.enable_profiling = True
                options.profile_file_prefix = str(Path(folder) / Path(path).name)
                profiled.append(original(path, options, **keywords))
                return profiled[-1]

            onnxruntime.InferenceSession = session  # the runner looks it up by this name
            ours = Ours(self.model, "int8", 1)
            ours.translate(self.model.sources, BEAM)
            warm = time.time_ns()
            ours.translate(self.model.sources, BEAM)
            ours.engine.close()
            onnxruntime.InferenceSession = original
            after = (warm - profiled[1].get_profiling_start_time_ns()) / 1000  # in microseconds
            events = json.loads(Path(profiled[1].end_profiling()).read_text())
        return [
            event
            for event in events
            if event.get("cat") == "Node"
            and event["name"].endswith("_kernel_time")
            and event["ts"] >= after
            and event["args"]["op_name"] not in ("Loop", "If")  # these contain the others
        ]


@dataclass
class Churner(Ours):
    """The engine under a mix of sentences of 1 to 500 tokens."""

    def churn(self, seconds: float) -> int:
        """Translate batches of 32 sentences until the time is up, and return the number of sentences."""
        rng, count, deadline = random.Random(0), 0, time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            sources = [
                [
                    *rng.choices(
                        range(4, self.model.sizes.vocab_size), k=rng.choice([1, 1, 1, 9, 40, 500])
                    ),
                    EOS_ID,
                ]
                for _ in range(32)
            ]
            items = [(source, DecodingOptions(min(MAX_TARGET, len(source)))) for source in sources]
            for sequence in self.engine.submit(items):
                sequence.future.result()
            count += len(sources)
        return count


MAX_TARGET = 100


def _weights(sizes: ModelConfig) -> int:
    """Return the multiplications with weights for one step of one beam."""
    layer = 6 * sizes.d_model**2 + 2 * sizes.d_model * sizes.d_ff
    return sizes.num_decoder_layers * layer + sizes.d_model * sizes.vocab_size


def _host_share(steps: list[StepStats]) -> float:
    host = sum(stats.host_seconds for stats in steps)
    return host / (host + sum(stats.encode_seconds + stats.decode_seconds for stats in steps))
