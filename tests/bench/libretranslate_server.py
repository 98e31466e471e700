"""`PYTHON -P tests/bench/libretranslate_server.py TAG ...`: LibreTranslate, with a model that wants a tag.

Run by the interpreter that has LibreTranslate; what follows the tag are LibreTranslate's own options. Two
parts of Argos Translate are replaced: the tokenizer puts the tag in front, and the sentence splitter, whose
model would have to be downloaded, takes every text for one sentence, which costs it nothing.
"""

import sys

from argostranslate import sbd, tokenizer


def main() -> None:
    """Serve until it is killed."""
    tag = sys.argv.pop(1)
    encode = tokenizer.SentencePieceTokenizer.encode
    tokenizer.SentencePieceTokenizer.encode = lambda self, text: [tag, *encode(self, text)]
    sbd.MiniSBDSentencizer.__init__ = lambda self, _: None
    sbd.MiniSBDSentencizer.split_sentences = lambda self, text: [text]

    from libretranslate.main import main as serve  # builds its pipelines as it is imported

    serve()


if __name__ == "__main__":
    main()
