"""Runs the graphs. The only file that imports onnxruntime.

A runner is stateless: a run returns the caches of a batch as an opaque handle, for the next run.
"""

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from service.engine.cuda import CudaDevice, first_device
from service.engine.denormals import flush_denormals
from service.engine.model_runner import LARGE_ALIGNMENT, Caches, PackedRun, PackedState
from service.engine.process_memory import trim
from service.engine.sources import Cross, DeviceSources, HostSources, Sources
from service.engine.types import Device, Floats, Ints, Placement, RunPlan

logger = logging.getLogger(__name__)

VERSION: str = onnxruntime.__version__
"""ONNX Runtime's version."""
MAX_RUNNERS = 8
"""Maximum number of sessions with their own packed copy of the weights."""


ARENA_EXTENSION = "kNextPowerOfTwo"
"""How ONNX Runtime's memory on a device grows. With kSameAsRequested, caches that grow with every step leave
gaps that nothing fits into (microsoft/onnxruntime#14474: 24 GB instead of 4.4)."""
ENCODERS_SHARE = 0.25
"""The share of a limit for the device's memory that the encoder gets; each session has its own memory."""
_COSTLY = ("MatMul", "Gemm", "Attention", "Norm", "Softmax", "TopK", "Loop")
"""Parts of the names of operators that must run on the device. Arithmetic on shapes is left to the CPU."""
_OUT_OF_MEMORY = ("failed to allocate memory", "out of memory", "alloc_failed", "bad_alloc")
"""Parts of ONNX Runtime's and CUDA's messages, in lower case."""


def cuda_device() -> CudaDevice:
    """Return the device that sessions on CUDA use.

    Raises:
        CudaUnusableError: there is none, or ONNX Runtime cannot use it.
    """
    return first_device(onnxruntime.cuda_version)


class OnnxModelRunner:
    """The graphs of a bundle in ONNX Runtime."""

    def __init__(
        self,
        encoder: Path,
        decoder: Path,
        device: Device = "cpu",
        threads: int = 1,
        scorer: Path | onnxruntime.InferenceSession | None = None,
        memory_limit: int = 0,
    ) -> None:
        """Load the graphs.

        Args:
            encoder: the encoder's file.
            decoder: the decoder's file.
            device: where to run; for "cuda", there must be a device.
            threads: threads per operator; 1 if several workers share the runner.
            scorer: the scorer's file, or another runner's session of it; runs on the CPU, and is needed only
                by `score` and `align`.
            memory_limit: bytes of the device's memory that the sessions may take; 0 means no limit.

        Raises:
            CudaUnusableError: CUDA was requested, and there is no device that ONNX Runtime can use.
            RuntimeError: ONNX Runtime would run costly operators on the CPU, or the graphs do not match.
        """
        self.device: Device = device
        found = cuda_device() if device == "cuda" else None
        if found:
            onnxruntime.preload_dlls()
        for_encoder = int(memory_limit * ENCODERS_SHARE)
        self._encoder = _session(encoder, device, threads, for_encoder)
        self._decoder = _session(decoder, device, threads, memory_limit - for_encoder)
        self.scorer = _session(scorer, "cpu", threads) if isinstance(scorer, Path) else scorer
        self._scorer_dtypes = {
            item.name: _dtype(item)
            for item in (self.scorer.get_inputs() if self.scorer else ())
            if item.name.startswith("cross_")
        }
        provider = "CUDAExecutionProvider" if found else "CPUExecutionProvider"
        self.placement = Placement(provider, "cpu")
        if found:
            self.placement = placement_of([self._encoder, self._decoder], provider, found.name)
        inputs = self._decoder.get_inputs()
        self._inputs = {item.name for item in inputs}
        self._past = [item.name for item in inputs if item.name.startswith("past_")]
        self._cross = [item.name for item in inputs if item.name.startswith("cross_")]
        if set(self._cross) != {item.name for item in self._encoder.get_outputs()}:
            raise RuntimeError(
                f"{encoder.name} and {decoder.name} do not belong to the same network"
            )
        past_input = next(item for item in inputs if item.name.startswith("past_"))
        # for the first run: one entry that every mask hides, or a state that no beam uses
        self._no_cache = np.zeros(_shape(past_input, 1), _dtype(past_input))
        outputs = {item.name for item in self._decoder.get_outputs()}
        self._host_outputs = [name for name in _HOST_OUTPUTS if name in outputs]
        self._prepared = threading.local()

    @property
    def bytes_per_entry(self) -> int:
        """Memory of one cache entry in all layers, in bytes."""
        past = [item for item in self._decoder.get_inputs() if item.name in self._past]
        return sum(int(np.prod(_shape(item, 1))) * np.dtype(_dtype(item)).itemsize for item in past)

    def new_sources(self, pad_id: int) -> Sources:
        """See ModelRunner."""
        if self.device == "cpu":
            return HostSources(self.encode, pad_id)
        return DeviceSources(self._encode_into, self._allocate, pad_id)

    def _allocate(self, rows: int, width: int) -> list[onnxruntime.OrtValue]:
        """Return arrays on the device for the keys and values of sources; see `DeviceSources`."""
        described = {item.name: item for item in self._decoder.get_inputs()}
        with _memory_errors():
            return [
                onnxruntime.OrtValue.ortvalue_from_shape_and_type(
                    _source_shape(described[name], rows, width),
                    _dtype(described[name]),
                    self.device,
                )
                for name in self._cross
            ]

    def _encode_into(self, source_ids: Ints, source_bias: Floats, arrays: Cross, row: int) -> None:
        """Encode sources into consecutive rows of these arrays, from `row` on."""
        self._prepare_thread()
        binding = self._encoder.io_binding()
        binding.bind_cpu_input("source_ids", source_ids)
        binding.bind_cpu_input("source_bias", source_bias)
        for name, value in zip(self._cross, arrays, strict=True):
            _, *shape = value.shape()
            kind = _KINDS[value.data_type()]
            address = value.data_ptr() + row * int(np.prod(shape)) * np.dtype(kind).itemsize
            taken = [len(source_ids), *shape]
            binding.bind_output(name, self.device, 0, kind, taken, address)
        with _memory_errors():
            self._encoder.run_with_iobinding(binding)

    def encode(self, source_ids: Ints, source_bias: Floats) -> list[NDArray[np.floating]]:
        """Return cross-attention keys and values, [B, H, S, D] each, in the order of the decoder's inputs."""
        self._prepare_thread()
        with _memory_errors():
            outputs = self._encoder.run(
                self._cross, {"source_ids": source_ids, "source_bias": source_bias}
            )
        arrays: list[NDArray[np.floating]] = list(outputs)
        return arrays

    def score(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        """Return the log-probabilities of translations in nats, including EOS: [B].

        Args:
            source_ids: tag ... EOS and padding, [B, S].
            source_bias: 0 at tokens, MASKED at padding, [B, S].
            target_ids: BOS ... EOS and padding, [B, U], or [1, U] if all sources have the same target.
        """
        return self._read("log_probs", source_ids, source_bias, target_ids)

    def align(self, source_ids: Sequence[int], target_ids: Sequence[int]) -> Floats:
        """Return the attention of each target token to each source token, [T, S]; each row sums to 1.

        Args:
            source_ids: tag ... EOS, S of them.
            target_ids: BOS, the T tokens of the translation, EOS.
        """
        bias = np.zeros((1, len(source_ids)), np.float32)
        ids = np.array([source_ids], np.int64), bias, np.array([target_ids], np.int64)
        if len(source_ids) + len(target_ids) < LARGE_ALIGNMENT:
            return self._alignment(*ids)
        alignment = self._alignment(*ids).copy()  # out of the memory that is released
        _shrink(self._encoder, self.scorer)
        return alignment

    def _alignment(self, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        alignment: Floats = self._read("alignment", source_ids, source_bias, target_ids)[0]
        return alignment

    def _read(self, output: str, source_ids: Ints, source_bias: Floats, target_ids: Ints) -> Floats:
        """Run the scorer and return one of its outputs."""
        if self.scorer is None:
            raise RuntimeError("this runner was loaded without a scorer")
        encoded = self.encode(source_ids, source_bias)
        feeds: dict[str, NDArray[Any]] = {"target_ids": target_ids, "source_bias": source_bias}
        for name, array in zip(self._cross, encoded, strict=True):
            feeds[name] = array.astype(self._scorer_dtypes[name], copy=False)
        result: Floats = self.scorer.run([output], feeds)[0]
        return result

    def _prepare_thread(self) -> None:
        """Flush denormals in the calling thread; `_session` does it for a session's own threads."""
        if not hasattr(self._prepared, "done"):
            flush_denormals()
            self._prepared.done = True

    def decode(
        self,
        state: PackedState,
        caches: Caches | None,
        cross: Cross,
        plan: RunPlan,
    ) -> PackedRun:
        """See ModelRunner."""
        self._prepare_thread()
        feeds: dict[str, NDArray[Any]] = {
            "steps": np.array(plan.steps, np.int64),
            "stop_after": np.array(plan.stop_after, np.int64),
            "banned": plan.banned,
            "ids": state.ids,
            "totals": state.cum_log_probs,
            **{name: state.rows[name][:, None] for name in _ROW_INPUTS},
            **{name: getattr(state, name) for name in _PACKED_INPUTS},
        }
        values = {} if caches is None else dict(zip(self._past, caches, strict=True))
        if isinstance(cross[0], onnxruntime.OrtValue):
            values |= zip(self._cross, cross, strict=True)
        else:
            feeds |= zip(self._cross, cross, strict=True)
        if "narrow" not in self._inputs and state.rows["narrow"].any():
            raise ValueError("this decoder's graph does not support the stop rule narrow")
        if "cell" in self._inputs:
            old_width = caches[0].shape()[1] if caches else 1
            feeds["cell"] = states_of(state.rows["place"], state.ids.shape[1], old_width)
        if caches is None:
            feeds |= dict.fromkeys(self._past, self._no_cache)
        # the arrays must outlive the run, which uses their memory
        feeds = {
            name: np.asarray(array, order="C")
            for name, array in feeds.items()
            if name in self._inputs
        }
        binding = self._decoder.io_binding()
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        for name, value in values.items():
            binding.bind_ortvalue_input(name, value)
        for name in self._host_outputs:
            binding.bind_output(name, "cpu")
        for name in self._past:
            binding.bind_output(name.removeprefix("past_"), self.device)
        with _memory_errors():
            self._decoder.run_with_iobinding(binding)
        return _packed_run(self._host_outputs, binding.get_outputs())

    def release_memory(self, caches: Caches | None) -> None:
        """See ModelRunner."""
        if caches is not None and self.device == "cpu":
            # copied, because a part of a large block keeps all of it
            caches[:] = [
                onnxruntime.OrtValue.ortvalue_from_numpy(value.numpy().copy()) for value in caches
            ]
        _shrink(self._encoder, self._decoder, device=self.device)
        _shrink(self.scorer)


def runners_for(
    workers: int,
    encoder: Path,
    decoder: Path,
    device: Device = "cpu",
    scorer: Path | None = None,
    memory_limit: int = 0,
) -> list[OnnxModelRunner]:
    """Return a runner for each worker, up to `MAX_RUNNERS`, or one on CUDA; further workers share them.

    Threads that share a session also share its memory, so that one gets blocks that are in the cache of
    another's core, which is slow. The scorer is shared nevertheless, as few requests need it.
    """
    first = OnnxModelRunner(encoder, decoder, device, scorer=scorer, memory_limit=memory_limit)
    count = min(workers, MAX_RUNNERS) if device == "cpu" else 1
    others = (OnnxModelRunner(encoder, decoder, scorer=first.scorer) for _ in range(1, count))
    return [first, *others]


def placement_of(
    sessions: Sequence[onnxruntime.InferenceSession], provider: str, device: str
) -> Placement:
    """Return which share of the sessions' nodes `provider` runs on `device`.

    Raises:
        RuntimeError: a costly operator would run on the CPU.
    """
    placed = Counter(
        (part.ep_name, node.op_type)
        for session in sessions
        for part in session.get_provider_graph_assignment_info()
        for node in part.get_nodes()
    )
    elsewhere = {operator: count for (name, operator), count in placed.items() if name != provider}
    costly = [
        f"{count} {operator}"
        for operator, count in sorted(elsewhere.items())
        if any(part in operator for part in _COSTLY)
    ]
    if costly:
        raise RuntimeError(f"ONNX Runtime would run on the CPU: {', '.join(costly)}")
    if elsewhere:
        logger.info("left to the CPU: %s", elsewhere)
    total = placed.total()
    return Placement(provider, device, total, total - sum(elsewhere.values()))


@contextmanager
def _memory_errors() -> Iterator[None]:
    """Raise a MemoryError if ONNX Runtime fails for lack of memory."""
    try:
        yield
    except Exception as error:
        message = str(error).lower()
        if any(part in message for part in _OUT_OF_MEMORY):
            raise MemoryError(str(error)) from error
        raise


def _shrink(*sessions: onnxruntime.InferenceSession | None, device: Device = "cpu") -> None:
    """Make sessions release free memory, which they do only at the end of a run: a minimal one."""
    options = onnxruntime.RunOptions()
    arena = "gpu:0" if device == "cuda" else "cpu:0"
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", arena)
    for session in sessions:
        if session is not None:
            session.run(None, {item.name: _least(item) for item in session.get_inputs()}, options)
    trim()


def _least(described: onnxruntime.NodeArg) -> NDArray[Any]:
    """Return a minimal input: each variable dimension is 2, and all values are 0."""
    return np.zeros(_shape(described, 2), _KINDS[described.type])


def _shape(described: onnxruntime.NodeArg, variable: int) -> list[int]:
    """Return the shape of an input whose variable dimensions are `variable`."""
    return [size if isinstance(size, int) else variable for size in described.shape]


def _source_shape(described: onnxruntime.NodeArg, rows: int, width: int) -> list[int]:
    """Return the shape [R, H, S, D] of an input for sources."""
    _, heads, _, size = described.shape
    return [rows, heads, width, size]


def _dtype(described: onnxruntime.NodeArg) -> type[np.floating]:
    """Return the type of a floating-point input."""
    return np.float16 if described.type == "tensor(float16)" else np.float32


def _packed_run(names: list[str], values: list[onnxruntime.OrtValue]) -> PackedRun:
    """Make a PackedRun from a run's outputs: arrays on the host, and caches, which stay where they are."""
    host = {name: value.numpy() for name, value in zip(names, values, strict=False)}
    ids, cum_log_probs, finished, best, *candidates = (
        host[name] for name in _HOST_OUTPUTS if name != "next_ancestors"
    )
    # an SSRU has no cache entries
    ancestors = host.get("next_ancestors", np.zeros((*ids.shape, 0), np.float32))
    ancestors = ancestors.reshape(*ids.shape, -1 if ancestors.size else 0)
    caches = values[len(names) :]
    return PackedRun(ids, cum_log_probs, finished[:, 0], best[:, 0], ancestors, caches, *candidates)


def states_of(place: Ints, width: int, old_width: int) -> Ints:
    """Return the index of each beam's recurrent state in the previous run, [B, K] with K = `width`.

    `place` [B] are the sentences' rows in that run, which had `old_width` beams each. A new beam is dead, and
    gets an arbitrary state.
    """
    states: Ints = place[:, None] * old_width + np.minimum(np.arange(width), old_width - 1)
    return states


_KINDS: dict[str, type[np.generic]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}
_ROW_INPUTS = ("position", "finished", "best", "beam_size", "length_penalty", "narrow", "likely")
_PACKED_INPUTS = ("ancestors", "row", "entry", "source_row", "source_entry", "source_bias")
_HOST_OUTPUTS = (
    "next_ids",
    "next_totals",
    "next_finished",
    "next_best",
    "next_ancestors",
    "scores",
    "tokens",
    "parents",
)


def _session(
    path: Path, device: Device, threads: int, memory_limit: int = 0
) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if threads > 1:
        # threads spin between operators, because sleeping costs more, but not between runs
        options.add_session_config_entry("session.intra_op.spin_duration_us", "100")
        options.add_session_config_entry("session.force_spinning_stop", "1")
        # for the session's own threads; see `_prepare_thread` for others
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
    providers: list[Any] = ["CPUExecutionProvider"]
    # on a CPU, the fused Add + LayerNormalization is slower than the two separate operators
    disabled = ["SkipLayerNormFusion"] if device == "cpu" else []
    if device == "cuda":
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        cuda = {"arena_extend_strategy": ARENA_EXTENSION}
        if memory_limit:
            cuda["gpu_mem_limit"] = str(memory_limit)
        providers.insert(0, ("CUDAExecutionProvider", cuda))
    return onnxruntime.InferenceSession(
        str(path),
        options,
        providers=providers,
        disabled_optimizers=disabled,
        enable_fallback=0,  # by default, it is built again for the CPU when a run on a device fails
    )
