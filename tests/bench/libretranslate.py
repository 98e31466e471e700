"""`python -m tests.bench.libretranslate --python PYTHON`: compare with LibreTranslate on the same weights.

PYTHON is an interpreter with `libretranslate==1.9.6`. Both servers run the bundled model in int8 with 4
beams and their default settings, but without limits. LibreTranslate uses its fastest numbers of threads.
The servers are measured in turn, and only while all connections are busy.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from model import bundle
from service.engine.cores import available_cores
from service.models.bundle import DEFAULT_BUNDLE
from tests.bench import peer, report
from tests.bench.capacity import timed_loop
from tests.bench.online import cycled
from tests.bench.over_http import UNLIMITED, closed_loop, free_port, serving, started
from tests.bench.text import everyday_german

SOURCE, TARGET = "de", "en"
CONNECTIONS = (1, 8, 64)
TEXTS = 400
SERVER = Path(__file__).with_name("libretranslate_server.py")


def write_package(folder: Path) -> str:
    """Write the bundled model as an installed package of Argos Translate, and return the direction's tag."""
    checkpoint = bundle.load(DEFAULT_BUNDLE)
    vocabulary = checkpoint.vocabularies.source
    names = list(map(vocabulary.processor.id_to_piece, range(vocabulary.vocab_size)))
    # with a single package, LibreTranslate would look for others
    for source, target in ((SOURCE, TARGET), (TARGET, SOURCE)):
        package = folder / f"{source}_{target}"
        peer.convert(checkpoint.network(), package / "model", "int8", names, add_source_eos=True)
        (package / "sentencepiece.model").write_bytes(
            (DEFAULT_BUNDLE / "sentencepiece.model").read_bytes()
        )
        languages = {"from_code": source, "from_name": source, "to_code": target, "to_name": target}
        about = {"package_version": "1.0", "argos_version": "1.9", **languages}
        (package / "metadata.json").write_text(json.dumps(about))
    return names[vocabulary.tag_id(TARGET)]


@contextmanager
def libretranslate(
    python: str, folder: Path, tag: str, port: int, threads: int, inter_threads: int
) -> Iterator[None]:
    """Run LibreTranslate with `threads` for requests and `inter_threads` for translations."""
    options = ["--host", "127.0.0.1", "--port", str(port), "--threads", str(threads)]
    environment = {
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "ARGOS_INTER_THREADS": str(inter_threads),
        "ARGOS_INTRA_THREADS": str(max(1, available_cores() // inter_threads)),
    }
    command = [python, "-P", str(SERVER), tag, *options, "--disable-files-translation"]
    with started(command, port, **environment):
        yield


def rates(port: int, texts: list[str], rounds: int) -> dict[int, list[float]]:
    """Return requests per second by number of connections."""
    asyncio.run(closed_loop(port, texts[:100], max(CONNECTIONS)))
    rates_by_connections = {}
    for connections in CONNECTIONS:
        texts_sent = cycled(texts, TEXTS + 2 * connections if connections > 1 else 60)
        rates_by_connections[connections] = [
            asyncio.run(timed_loop(port, texts_sent, connections)) for _ in range(rounds)
        ]
    return rates_by_connections


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.libretranslate", description=__doc__
    )
    parser.add_argument(
        "--python", required=True, help="interpreter of LibreTranslate's environment"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    texts, started_at = everyday_german(TEXTS), time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tag = write_package(folder / "data" / "argos-translate" / "packages")

        def theirs(threads: int, inter_threads: int, rounds: int) -> dict[int, list[float]]:
            port = free_port()
            with libretranslate(options.python, folder, tag, port, threads, inter_threads):
                return rates(port, texts, rounds)

        def ours() -> dict[int, list[float]]:
            port = free_port()
            with serving(["service"], port, **UNLIMITED):
                return rates(port, texts, 1)

        rates_by_setting = {
            setting: theirs(*setting, rounds=1)
            for setting in product((4, 8, 64), sorted({1, available_cores()}))
        }
        best = max(
            rates_by_setting,
            key=lambda setting: sum(rate for [rate] in rates_by_setting[setting].values()),
        )
        rates_by_side: dict[str, list[dict[int, list[float]]]] = {"ours": [], "theirs": []}
        for _ in range(options.rounds):
            rates_by_side["ours"].append(ours())
            rates_by_side["theirs"].append(theirs(*best, rounds=1))
    print(f"{report.machine()}; {time.perf_counter() - started_at:.0f} s")
    print(f"LibreTranslate with {best[0]} threads, {best[1]} translators")
    for connections in CONNECTIONS:
        our_rate, their_rate = (
            statistics.median(rate for run in rates_by_side[side] for rate in run[connections])
            for side in ("ours", "theirs")
        )
        print(
            f"{connections} connections: {our_rate:.1f} and {their_rate:.1f} requests/s, "
            f"{our_rate / their_rate:.2f}"
        )


if __name__ == "__main__":
    main()
