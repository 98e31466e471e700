"""`python -m tests.bench.shell FOLDER CORES`: a minimal web server for CTranslate2.

Uses the same FastAPI and uvicorn as the service, with as little code around the model as possible. Listens on
ATTENDANT_PORT, like the service. With `--single`, each sentence is translated by itself.
"""

import argparse
import asyncio
import os
import pickle
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from model.tokenizer import EOS_ID
from service.models.bundle import DEFAULT_BUNDLE
from service.text.tokenizer import Tokenizer
from tests.bench.models import BenchModel
from tests.bench.systems import LENGTH_PENALTY, Peer


class Request(BaseModel):
    """The fields of the service's request that the load generator sends."""

    q: str
    source: str
    target: str


def create(model: BenchModel, translator: Peer) -> FastAPI:
    """Create the application."""
    app, tokenizer = FastAPI(), Tokenizer(DEFAULT_BUNDLE / "sentencepiece.model")

    @app.post("/translate")
    async def translate(request: Request) -> dict[str, str]:
        [ids] = tokenizer.encode([request.q])
        loop = asyncio.get_running_loop()
        done: asyncio.Future[list[int]] = loop.create_future()

        def resolve(ids: list[int]) -> None:
            loop.call_soon_threadsafe(done.set_result, ids)

        translator.submit([model.tag, *ids, EOS_ID], resolve)
        return {"translatedText": tokenizer.decode([await done])[0]}

    return app


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.shell", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with model.pickle, a BenchModel")
    parser.add_argument("cores", type=int)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--precision", default="int8", choices=["int8", "fp32"])
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--length-penalty", type=float, default=LENGTH_PENALTY)
    options = parser.parse_args()
    model = pickle.loads((options.folder / "model.pickle").read_bytes())
    translator = Peer(
        model,
        options.precision,
        options.cores,
        1,
        batching=not options.single,
        beam_size=options.beam_size,
        length_penalty=options.length_penalty,
    )
    port = int(os.environ["ATTENDANT_PORT"])
    uvicorn.run(create(model, translator), port=port, log_level="error")


if __name__ == "__main__":
    main()
