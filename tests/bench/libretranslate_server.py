"""`PYTHON -P tests/bench/libretranslate_server.py TAG ...`: run LibreTranslate with a model that needs a tag.

PYTHON must have LibreTranslate; the arguments after the tag are LibreTranslate's options. Two parts of Argos
Translate are replaced: the tokenizer inserts the tag, and the sentence splitter, whose model would have to be
downloaded, treats every text as one sentence, at no cost.
"""

import sys

from argostranslate import sbd, tokenizer


def main() -> None:
    """Serve until the process is killed."""
    tag = sys.argv.pop(1)
    encode = tokenizer.SentencePieceTokenizer.encode
    tokenizer.SentencePieceTokenizer.encode = lambda self, text: [tag, *encode(self, text)]
    sbd.MiniSBDSentencizer.__init__ = lambda self, _: None
    sbd.MiniSBDSentencizer.split_sentences = lambda self, text: [text]

    from libretranslate.main import main as serve  # builds its pipelines when it is imported

    serve()


if __name__ == "__main__":
    main()
