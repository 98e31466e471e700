"""`python -m tests.bench.shell FOLDER CORES single|batcher`: CTranslate2 behind a web framework.

It listens on ATTENDANT_PORT, as the service does.
The same FastAPI and uvicorn as the service's, and no more around the model than a request needs.
"""

import asyncio
import os
import pickle
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from model.tokenizer import EOS_ID
from service.models.bundle import DEFAULT_BUNDLE
from service.text.tokenizer import Tokenizer
from tests.bench.models import BenchModel
from tests.bench.systems import Peer


class Request(BaseModel):
    """As much of the service's request as the load generator sends."""

    q: str
    source: str
    target: str


def create(model: BenchModel, cores: int, batching: bool) -> FastAPI:
    """The application."""
    app, tokenizer = FastAPI(), Tokenizer(DEFAULT_BUNDLE / "sentencepiece.model")
    translator = Peer(model, "int8", cores, 1, batching=batching)

    @app.post("/translate")
    async def translate(request: Request) -> dict[str, str]:
        [ids] = tokenizer.encode([request.q])
        loop = asyncio.get_running_loop()
        done: asyncio.Future[list[int]] = loop.create_future()

        def resolve(found: list[int]) -> None:
            loop.call_soon_threadsafe(done.set_result, found)

        translator.submit([model.tag, *ids, EOS_ID], resolve)
        return {"translatedText": tokenizer.decode([await done])[0]}

    return app


if __name__ == "__main__":
    folder, cores, kind = sys.argv[1:]
    model = pickle.loads((Path(folder) / "model.pickle").read_bytes())
    application = create(model, int(cores), kind == "batcher")
    uvicorn.run(application, port=int(os.environ["ATTENDANT_PORT"]), log_level="error")
