"""Marian's native build behind a pipe: `python3.10 marian_worker.py MODEL.bin VOCABULARY.spm`.

Needs only `bergamot`, which has no wheels for Python versions after 3.10, and nothing from this project. Each
line of stdin has texts and their times of arrival in seconds, or null for all at once. The answer on stdout
has the seconds taken, the translations and the latencies.
"""

import importlib.util
import json
import queue
import sys
import sysconfig
import threading
import time
from pathlib import Path
from typing import Any

MAX_BATCH = 32
SETTINGS = {
    "beam-size": 1,
    "normalize": 1.0,
    "word-penalty": 0,
    "max-length-break": 128,
    "max-length-factor": 2.0,
    "mini-batch-words": 1024,
    "workspace": 128,
    "gemm-precision": "int8shiftAlphaAll",
    "skip-cost": "true",
    "cpu-threads": 1,
    "quiet": "true",
    "quiet-translation": "true",
    "alignment": "soft",
}


def extension() -> Any:
    """Load only the compiled module, because the package accesses the network when it is imported."""
    folder = Path(sysconfig.get_paths()["platlib"], "bergamot")
    spec = importlib.util.spec_from_file_location("_bergamot", next(folder.glob("_bergamot*.so")))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Translate until stdin ends."""
    model_file, vocabulary = sys.argv[1:]
    engine = extension()
    service = engine.Service(engine.ServiceConfig(numWorkers=1, cacheSize=0, logLevel="off"))
    settings = {"models": f"[{model_file}]", "vocabs": f"[{vocabulary}, {vocabulary}]", **SETTINGS}
    model = service.modelFromConfig("".join(f"{key}: {value}\n" for key, value in settings.items()))
    options = engine.ResponseOptions(qualityScores=False, alignment=False, HTML=False)

    def translate(texts: list[str]) -> list[str]:
        responses = service.translate(model, engine.VectorString(texts), options)
        return [response.target.text for response in responses]

    def batches(arrived: queue.SimpleQueue[tuple[str, float] | None], started: float) -> None:
        """Translate in batches; each has the texts that arrived during the previous one."""
        while (first_text := arrived.get()) is not None:
            batch = [first_text]
            while len(batch) < MAX_BATCH and not arrived.empty():
                if (next_text := arrived.get()) is None:
                    arrived.put(None)
                    break
                batch.append(next_text)
            translations.extend(translate([text for text, _ in batch]))
            now = time.perf_counter() - started
            latencies.extend(now - due for _, due in batch)

    print("ready", flush=True)
    for line in sys.stdin:
        texts, times = json.loads(line)
        translations: list[str] = []
        latencies: list[float] = []
        started = time.perf_counter()
        if times is None:
            translations = translate(texts)
        else:
            waiting: queue.SimpleQueue[tuple[str, float] | None] = queue.SimpleQueue()
            batcher = threading.Thread(target=batches, args=(waiting, started))
            batcher.start()
            for text, due in zip(texts, times, strict=True):
                time.sleep(max(0.0, started + due - time.perf_counter()))
                waiting.put((text, due))
            waiting.put(None)
            batcher.join()
        print(json.dumps([time.perf_counter() - started, translations, latencies]), flush=True)


if __name__ == "__main__":
    main()
