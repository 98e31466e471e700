"""`python -m tests.bench.exactness --data DIR`: compare n-best lists of real sentences with two oracles.

The bundled model in fp32 translates with 4 beams until 4 hypotheses have finished. The engine translates
every sentence alone and all of them at once. The reference search in torch and CTranslate2, which share no
code with the engine, translate them too. For lists that differ, the differences of scores are printed.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from model import bundle
from model.data.text import DataError, read_lines
from model.search import SearchOptions, beam_search, max_target_length
from model.tokenizer import BOS_ID, EOS_ID, PAD_ID
from service.engine.config import EngineConfig
from service.engine.engine import Engine
from service.engine.runner import runners_for
from service.engine.types import DecodingOptions, SpecialIds, StopRule
from service.models.bundle import DEFAULT_BUNDLE
from tests.bench import peer
from tests.bench.models import ROOT, BenchModel, build
from tests.bench.systems import Listed, NBest

BEAM_SIZE, ALPHA = 4, 0.6
NO_PENALTY = 1e-9
"""CTranslate2's penalty has another formula. With 0, it would search until its best beam has finished."""


def by_engine(
    model: BenchModel, sources: Sequence[list[int]], alpha: float, *, alone: bool
) -> list[NBest]:
    workers = 1 if alone else 2
    engine = Engine(
        runners_for(workers, *model.graphs("fp32")),
        SpecialIds(PAD_ID, BOS_ID, EOS_ID),
        EngineConfig(num_workers=workers, max_waiting=len(sources)),
    )
    engine.start()
    try:
        work = [
            (
                source,
                DecodingOptions(
                    max_target_length(len(source)),
                    BEAM_SIZE,
                    num_hypotheses=BEAM_SIZE,
                    length_penalty=alpha,
                    stop_rule=StopRule.FIRST,
                ),
            )
            for source in sources
        ]
        if alone:
            results = [
                engine.submit([item])[0].future.result()
                for item in tqdm(work, desc="engine, alone", unit="sentence")
            ]
        else:
            results = [sequence.future.result() for sequence in engine.submit(work)]
    finally:
        engine.close()
    return [
        [Listed(list(hypothesis.ids), hypothesis.score) for hypothesis in hypotheses]
        for hypotheses in results
    ]


def by_reference(sources: Sequence[list[int]], suppressed: Sequence[int]) -> list[NBest]:
    network = bundle.load(DEFAULT_BUNDLE).network()
    lists = []
    for source in tqdm(sources, desc="reference", unit="sentence"):
        options = SearchOptions(BEAM_SIZE, max_target_length(len(source)), ALPHA, suppressed)
        hypotheses = beam_search(network, source, options)
        lists.append(
            [
                Listed(list(hypothesis.ids), hypothesis.score)
                for hypothesis in hypotheses[:BEAM_SIZE]
            ]
        )
    return lists


def by_ctranslate2(model: BenchModel, sources: Sequence[list[int]]) -> list[NBest]:
    names = peer.pieces(model.sizes.vocab_size)
    ids = {name: token for token, name in enumerate(names)}
    translator = peer.load(model.peer("fp32"), intra_threads=1)
    lists = []
    for source in tqdm(sources, desc="CTranslate2", unit="sentence"):
        [result] = translator.translate_batch(
            [[names[token] for token in source]],
            beam_size=BEAM_SIZE,
            num_hypotheses=BEAM_SIZE,
            length_penalty=NO_PENALTY,
            max_decoding_length=max_target_length(len(source)),
            min_decoding_length=0,
            return_scores=True,
            suppress_sequences=[[names[token]] for token in model.suppressed],
        )
        hypotheses = zip(result.hypotheses, result.scores, strict=True)
        lists.append(
            [
                Listed([ids[name] for name in names_of_pieces], score)
                for names_of_pieces, score in hypotheses
            ]
        )
    return lists


def compare(name: str, ours: Sequence[NBest], theirs: Sequence[NBest]) -> None:
    """Print how many n-best lists are equal, and how much the scores of the others differ."""
    num_equal, differences, largest = 0, [], 0.0
    for our_list, their_list in zip(ours, theirs, strict=True):
        our_ids, their_ids = (
            [hypothesis.ids for hypothesis in n_best] for n_best in (our_list, their_list)
        )
        if our_ids == their_ids:
            num_equal += 1
            pairs = zip(our_list, their_list, strict=True)
            largest = max(
                largest,
                *(abs(our.score - their.score) for our, their in pairs),
            )
        else:
            pairs = zip(our_list, their_list, strict=False)
            differences.append(max(abs(our.score - their.score) for our, their in pairs))
    print(f"{name}: {num_equal} of {len(ours)} n-best lists equal, scores within {largest:.1g}")
    if differences:
        print(
            f"  the others differ by {', '.join(f'{gap:.1g}' for gap in sorted(differences))} in score"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.exactness", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with SPLIT.<code>")
    parser.add_argument("--split", default="test")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "bench")
    options = parser.parse_args()
    model = build("default", options.cache, sentences=64)
    tokenizer = bundle.load(DEFAULT_BUNDLE).vocabularies.source
    tag = tokenizer.tag_id(options.target)
    lines = read_lines(options.data / f"{options.split}.{options.source}")[: options.count]
    sources = [[tag, *ids, EOS_ID] for ids in tokenizer.encode(lines)]
    in_flight = by_engine(model, sources, ALPHA, alone=False)
    compare("in flight and alone", in_flight, by_engine(model, sources, ALPHA, alone=True))
    compare("engine and reference", in_flight, by_reference(sources, model.suppressed))
    unpenalized = by_engine(model, sources, 0.0, alone=False)
    compare("engine and CTranslate2", unpenalized, by_ctranslate2(model, sources))


if __name__ == "__main__":
    try:
        main()
    except DataError as error:
        sys.exit(f"error: {error}")
