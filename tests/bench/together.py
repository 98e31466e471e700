"""`python -m tests.bench.together`: compare translations of clients at once with those one after another.

In fp32, all must be equal. In int8, other sentences in a batch may change a rounding. fp32 needs a bundle
with fp32 graphs (`python -m export service/default_bundle --precisions fp32 ...`).
"""

import argparse
import asyncio
import random
import sys
from collections.abc import Sequence

import httpx

from service.models.bundle import DEFAULT_BUNDLE
from tests.bench.over_http import UNLIMITED, serving
from tests.bench.text import everyday_german

PORT = 8792
CLIENTS = 64
MAX_WORDS = 80


def texts_of(seed: int) -> list[str]:
    """Draw a text of 1 to `MAX_WORDS` words for each client."""
    rng = random.Random(seed)
    words = " ".join(everyday_german(40 * CLIENTS, seed)).split()
    starts = [rng.randrange(len(words) - MAX_WORDS) for _ in range(CLIENTS)]
    return [" ".join(words[start : start + rng.randint(1, MAX_WORDS)]) for start in starts]


async def translated(client: httpx.AsyncClient, text: str) -> str:
    """Translate a text."""
    response = await client.post("/translate", json={"q": text, "source": "de", "target": "en"})
    response.raise_for_status()
    translation: str = response.json()["translatedText"]
    return translation


async def count_equal(texts: Sequence[str]) -> int:
    """Count the texts with the same translation both ways."""
    limits = httpx.Limits(max_connections=CLIENTS)
    base = f"http://127.0.0.1:{PORT}"
    async with httpx.AsyncClient(base_url=base, timeout=600, limits=limits) as client:
        alone = [await translated(client, text) for text in texts]
        concurrent = await asyncio.gather(*(translated(client, text) for text in texts))
    return sum(
        text_alone == text_concurrent
        for text_alone, text_concurrent in zip(alone, concurrent, strict=True)
    )


def main() -> int:
    """Count and print; return 1 if any translation differs in fp32."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", default=str(DEFAULT_BUNDLE))
    parser.add_argument("--precision", default="int8", choices=["int8", "fp32"])
    parser.add_argument("--sets", type=int, default=24, help=f"of {CLIENTS} texts each")
    options = parser.parse_args()
    settings = {"ATTENDANT_BUNDLE": options.bundle, "ATTENDANT_PRECISION": options.precision}
    equal = 0
    with serving(["service"], PORT, **UNLIMITED, **settings):
        for seed in range(options.sets):
            equal += asyncio.run(count_equal(texts_of(seed)))
            print(f"{equal} of {(seed + 1) * CLIENTS} are equal", flush=True)
    differ = options.sets * CLIENTS - equal
    return 1 if differ and options.precision == "fp32" else 0


if __name__ == "__main__":
    sys.exit(main())
