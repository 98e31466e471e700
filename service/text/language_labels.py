"""From a model's code of a language to the detector's label for it, and the scripts that it is written in."""

from bisect import bisect_right
from collections import Counter

LABELS = {
    "arb": "ar", "bokmal": "no", "cmn": "zh", "ekk": "et", "fil": "tl", "in": "id", "iw": "he",
    "ji": "yi", "khk": "mn", "lvs": "lv", "mo": "ro", "nb": "no", "nob": "no", "nno": "nn", "npi": "ne",
    "ory": "or", "pes": "fa", "plt": "mg", "prs": "fa", "swh": "sw", "tgl": "tl", "uzn": "uz", "ydd": "yi",
    "zsm": "ms", "afr": "af", "amh": "am", "ara": "ar", "aze": "az", "azj": "az", "bel": "be", "ben": "bn",
    "bos": "bs", "bul": "bg", "cat": "ca", "ces": "cs", "cym": "cy", "dan": "da", "deu": "de", "ell": "el",
    "eng": "en", "epo": "eo", "est": "et", "eus": "eu", "fas": "fa", "fin": "fi", "fra": "fr", "gle": "ga",
    "glg": "gl", "guj": "gu", "heb": "he", "hin": "hi", "hrv": "hr", "hun": "hu", "hye": "hy", "ind": "id",
    "isl": "is", "ita": "it", "jpn": "ja", "kan": "kn", "kat": "ka", "kaz": "kk", "khm": "km", "kir": "ky",
    "kor": "ko", "lao": "lo", "lat": "la", "lav": "lv", "lit": "lt", "ltz": "lb", "mal": "ml", "mar": "mr",
    "mkd": "mk", "mlt": "mt", "mon": "mn", "msa": "ms", "mya": "my", "nep": "ne", "nld": "nl", "nor": "no",
    "pan": "pa", "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "sin": "si", "slk": "sk", "slv": "sl",
    "som": "so", "spa": "es", "sqi": "sq", "als": "sq", "srp": "sr", "swa": "sw", "swe": "sv", "tam": "ta",
    "tat": "tt", "tel": "te", "tgk": "tg", "tha": "th", "tur": "tr", "uig": "ug", "ukr": "uk", "urd": "ur",
    "uzb": "uz", "vie": "vi", "yid": "yi", "yor": "yo", "zho": "zh",
}  # fmt: skip
"""Where a code's first subtag is not the label itself: codes of ISO 639-3 above all."""

_SCRIPTS = {
    "Arab": "ar arz azb ckb fa mzn pnb ps sd ug ur", "Armn": "hy", "Beng": "as bn bpy",
    "Cyrl": "av ba be bg bxr ce cv kk krc kv ky lez mhr mk mn mrj myv os ru rue sah sr tg tt tyv uk xal",
    "Deva": "bh dty gom hi mai mr ne new sa", "Ethi": "am", "Geor": "ka xmf", "Grek": "el", "Gujr": "gu",
    "Guru": "pa", "Hang": "ko", "Hani": "ja wuu yue zh", "Hebr": "he yi", "Kana": "ja", "Khmr": "km",
    "Knda": "kn", "Laoo": "lo", "Mlym": "ml", "Mymr": "my", "Orya": "or", "Sinh": "si", "Taml": "ta",
    "Telu": "te", "Thaa": "dv", "Thai": "th", "Tibt": "bo",
}  # fmt: skip
_ALSO_LATIN = {"sr"}
_WRITTEN_IN = {script: frozenset(labels.split()) for script, labels in _SCRIPTS.items()}
_NOT_LATIN = frozenset().union(*_WRITTEN_IN.values()) - _ALSO_LATIN

_BLOCKS = [
    (0x0000, "Latn"), (0x0370, "Grek"), (0x0400, "Cyrl"), (0x0530, "Armn"), (0x0590, "Hebr"),
    (0x0600, "Arab"), (0x0780, "Thaa"), (0x07C0, ""), (0x0900, "Deva"), (0x0980, "Beng"),
    (0x0A00, "Guru"), (0x0A80, "Gujr"), (0x0B00, "Orya"), (0x0B80, "Taml"), (0x0C00, "Telu"),
    (0x0C80, "Knda"), (0x0D00, "Mlym"), (0x0D80, "Sinh"), (0x0E00, "Thai"), (0x0E80, "Laoo"),
    (0x0F00, "Tibt"), (0x1000, "Mymr"), (0x10A0, "Geor"), (0x1100, "Hang"), (0x1200, "Ethi"),
    (0x13A0, ""), (0x1780, "Khmr"), (0x1800, ""), (0x1C80, "Cyrl"), (0x1C90, "Geor"),
    (0x1CC0, ""), (0x1D00, "Latn"), (0x1F00, "Grek"), (0x2000, "Latn"), (0x2C00, ""),
    (0x2C60, "Latn"), (0x2C80, ""), (0x2D00, "Geor"), (0x2D30, ""), (0x2DE0, "Cyrl"),
    (0x2E00, "Latn"), (0x2E80, "Hani"), (0x3040, "Kana"), (0x3130, "Hang"), (0x3190, "Hani"),
    (0x31F0, "Kana"), (0x3200, "Hani"), (0xA000, ""), (0xA640, "Cyrl"), (0xA6A0, ""),
    (0xA720, "Latn"), (0xA800, ""), (0xAB30, "Latn"), (0xAB70, ""), (0xAC00, "Hang"),
    (0xD7B0, ""), (0xF900, "Hani"), (0xFB00, "Latn"), (0xFB1D, "Hebr"), (0xFB50, "Arab"),
    (0xFF00, "Latn"), (0xFF66, "Kana"), (0x10000, ""), (0x20000, "Hani"),
]  # fmt: skip
"""Where a run of Unicode's blocks begins, and its script (ISO 15924); "" where no label is written in it."""
_STARTS, _NAMES = zip(*_BLOCKS, strict=True)


def label_of(code: str) -> str:
    """The detector's label.

    >>> label_of("deu_Latn"), label_of("pt-BR"), label_of("nb")
    ('de', 'pt', 'no')
    """
    first = code.lower().replace("_", "-").split("-", 1)[0]
    return LABELS.get(first, first)


def script_of(text: str) -> str:
    """The script of most letters, "" if it is a rare one. Japanese is Kana, however much Han is in it."""
    if text.isascii():
        return "Latn"
    letters = [one for one in text if one.isalpha()]
    others = [one for one in letters if one > "\u036f"]
    if 2 * len(others) < len(letters):
        return "Latn"
    counts = Counter(_NAMES[bisect_right(_STARTS, ord(one)) - 1] for one in others)
    if counts["Kana"]:
        counts["Kana"] += counts.pop("Hani", 0)
    return counts.most_common(1)[0][0] if counts else "Latn"


def is_written_in(label: str, script: str) -> bool:
    """Whether texts in a language may be in a script; any may be in a rare one.

    >>> is_written_in("ru", "Cyrl"), is_written_in("ru", "Latn")
    (True, False)
    """
    if script == "Latn":
        return label not in _NOT_LATIN
    return not script or label in _WRITTEN_IN[script]


def fits(code: str, text: str, script: str) -> bool:
    """Whether a code that names a script, as `sr-Cyrl` or `zh_Hant` do, names the text's.

    >>> fits("zh-Hant", "你在幹什麼啊", "Hani"), fits("zh-Hans", "你在幹什麼啊", "Hani")
    (True, False)
    """
    subtags = code.lower().replace("_", "-").split("-")[1:]
    traditional = {"hant", "tw", "hk", "mo"}.intersection(subtags)
    if script == "Hani" and (traditional or {"hans", "cn", "sg"}.intersection(subtags)):
        simplified, old = (
            sum(bool(one.encode(encoding, "ignore")) for one in text)
            for encoding in (
                "gb2312",
                "big5",
            )  # each has the characters of its own orthography only
        )
        return old > simplified if traditional else simplified >= old
    written = next((one for one in subtags if one.title() in {*_WRITTEN_IN, "Latn"}), None)
    return written is None or written.title() == script
