"""A generator of everyday German: short and long sentences with common words."""

import random

PEOPLE = [
    "Meine Schwester",
    "Der alte Nachbar",
    "Mein Freund",
    "Die Lehrerin",
    "Unser Sohn",
    "Tom",
    "Maria",
]
VERBS = [
    ("kauft", "kaufen", "ein neues Fahrrad|frisches Brot|zwei Karten für das Konzert|einen Hund"),
    ("liest", "lesen", "die Zeitung|ein Buch über Afrika|deinen Brief|die letzte Seite"),
    ("sucht", "suchen", "ihre Schlüssel|ein kleines Zimmer|den Bahnhof|eine bessere Arbeit"),
    ("vergisst", "vergessen", "den Termin|meinen Namen|die Milch|das Passwort"),
    ("sieht", "sehen", "einen Film im Fernsehen|die Berge|das Meer|einen Fehler in der Rechnung"),
    ("bezahlt", "bezahlen", "das Essen|die Miete|die Fahrkarte|alles"),
]
TIMES = [
    "",
    "heute",
    "jeden Morgen",
    "am Wochenende",
    "nach der Arbeit",
    "im Sommer",
    "um acht Uhr",
]
MODALS = ["kann", "will", "muss", "soll", "möchte"]
REASONS = [
    "weil es draußen regnet",
    "obwohl das Wetter schön ist",
    "bevor der Zug nach Hamburg abfährt",
    "während die anderen noch schlafen",
    "weil wir morgen sehr früh aufstehen müssen",
    "obwohl niemand im Haus davon etwas wissen will",
]
SHORT = [
    "Guten Morgen!",
    "Wie spät ist es?",
    "Ich bin müde.",
    "Wo wohnst du?",
    "Vielen Dank.",
    "Komm herein.",
]


def everyday_german(count: int, seed: int = 0) -> list[str]:
    """Generate `count` sentences of 2 to 40 words, the same for the same seed."""
    rng = random.Random(seed)
    return [_sentence(rng) for _ in range(count)]


def _sentence(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.15:
        return rng.choice(SHORT)
    sentence = _clause(rng)
    if kind > 0.5:
        sentence += f", {rng.choice(REASONS)}"
    if kind > 0.8:
        sentence += f", und {_lower(_clause(rng))}"
    if kind > 0.93:
        sentence += f", {rng.choice(REASONS)}, aber {_lower(_clause(rng))}"
    return sentence + "."


def _clause(rng: random.Random) -> str:
    person, (finite, infinitive, objects) = rng.choice(PEOPLE), rng.choice(VERBS)
    time, object_phrase = rng.choice(TIMES), rng.choice(objects.split("|"))
    verb, second_verb = (finite, "") if rng.random() < 0.6 else (rng.choice(MODALS), infinitive)
    return " ".join(word for word in (person, verb, time, object_phrase, second_verb) if word)


def _lower(clause: str) -> str:
    """Write the first word of a clause in lower case, unless it is a name."""
    first_word, other_words = clause.split(" ", 1)
    return clause if first_word in ("Tom", "Maria") else f"{first_word.lower()} {other_words}"
