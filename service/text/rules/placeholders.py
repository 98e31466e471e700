"""Protects variables, addresses, code and similar parts, which a translation must not change.

A model that has never seen `%1$s` loses it. So it is replaced by a token that the model was trained to copy,
or by a code or figure, which models do copy. If that does not appear exactly once in the translation, another
kind is tried, and at last, the parts of the sentence around it are translated separately.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal, Self, cast

from pydantic import Field, StringConstraints

from service.errors import BundleError
from service.text.languages import NEUTRAL, Language
from service.text.rules.figures import figures_of
from service.text.rules.rule import Parameters, Rule, Setting
from service.text.run import Place, Run
from service.text.stand_ins import CAPITALS, FIGURES, KINDS_BY_NAME, Kind, names_of_kinds
from service.text.words import TOUCHING, code_between

HASHTAG = r"(?<![\w&])\#\w*[^\W\d_]\w*"
CODE_SIGNS = r"={}\\|<>()"
"""If there is one of these and no space between two backticks, they enclose code, even beside a word."""
_CONVERSION = (  # with flags, width and precision, as in C, or in Java with thousands separators and dates
    r"[-+0\#,]*+ (?:\d++|\*)? (?:\.(?:\d++|\*))?"
    r"(?: (?:hh|h|ll|l|z|j|t)?[diouxXeEfFgGaAcsp@] (?:(?<=\#@)\w++@)?+ | [tT][a-zA-Z] )"  # %#@files@
)
_NAMES = "|".join(
    """
    nabla ne neg neq net neu new newcommand newline newpage nginx node noindent nonumber not notag notin nu
    readme real ref release renewcommand resources right rho root
    target tau temp templates test tests textstyle theta tilde times tmp to today tools top triangle
    """.split()  # noqa: SIM905 - reads better than a page of quotes
)
"""What follows a backslash in LaTeX or a path, and begins like a written break."""
WRITTEN_BREAK = (  # not FIRMA\tom, a\tb
    rf"\\(?!(?:{_NAMES})(?![a-z])|[a-z]{{2,}}+\*?\{{)"
    r"(?:N|[nrt](?!(?<=[A-Z]{2}\\.)[a-z]|(?<=\w\\.)[a-z](?![a-z])))"
)
r"""A line break or tab as strings in programs have it, also directly before a word: \nThe, \tthe."""
_FORMULA_SIGNS = r"[\\^_{=]"
# Chinese and Japanese punctuation, which also ends addresses
_WIDE_MARKS = "\u3001-\u3003\u3008-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_ENDS_URL = rf"""\s<>"'()\]}}“”„«»‚‘’{_WIDE_MARKS}"""
_IN_URL = rf"""
    \([^{_ENDS_URL}]*+\)                                   # wiki/A_(b)
  | \{{\{{[^{_ENDS_URL}{{]*+\}}\}} | \{{[^{_ENDS_URL}{{]*+\}}  # users/{{id}}
"""
_BEHIND = ".,;:!?…"
_SCHEME = r"(?<!\w)(?:mailto|tel|sms|sip|geo|urn|magnet|bitcoin):(?=[\w+?])"  # without //
_ENDS_PATH = rf"""\s<>"'{_WIDE_MARKS}"""
_BEHIND_PATH = r".,;:!?)\]}"
_ENDS_WINDOWS_PATH = rf"\s:*?\"<>|,;{_WIDE_MARKS}"
_AROUND_OPTIONS = {'"': '"', "'": "'", "(": ")", "„“": "“”", "‚‘": "‘’", "«": "»", "»": "«"}
_MEDIA_SUBTYPES = (  # those that are most common, and others with a mark or digit: audio/mp4, image/svg+xml
    "plain|html|css|csv|xml|javascript|markdown|calendar|vtt|png|jpeg|gif|webp|bmp|avif|tiff"
    r"|mpeg|ogg|opus|aac|flac|wav|webm|quicktime|json|pdf|zip|gzip|yaml|wasm|msword|rtf"
    r"|woff|ttf|otf|[a-z]++\d[a-z\d]*+"
)


# possessive quantifiers and lookbehinds, so that a long word is not tried from each of its letters
KINDS = {
    "URL": rf"""
        (?: (?: https? | (?<!\w)[a-z][a-z0-9+.-]{{1,15}}+ )://(?:\[[\da-fA-F:.]++\])? | www\. | {_SCHEME} )
        (?> {_IN_URL} | (?!{WRITTEN_BREAK})[^{_ENDS_URL}] )*
        (?: {_IN_URL} | (?!{WRITTEN_BREAK})[^{_ENDS_URL}{_BEHIND}] )  # no mark or bracket
    """,
    "e-mail address": r"""
        (?<![\w.+-]) [\w.+-]++ @ [\w-]++ (?:\.[\w-]++)++
        (?: :(?:[\w.~+-]++/)++ [\w.~+-]*\w )?                        # git@host.example:path/x.git
    """,
    "account": r"""
        (?<!\w) @\w++ (?:(?:\.[a-z\d_]\w*+){2,})?+
        (?: (?: @ | (?:-\w++)*+/(?=[a-z]) ) [\w.-]*\w )?  # @somebody@example.org, @scope/package
    """,
    "hashtag": HASHTAG,
    "domain or file": rf"""
        (?<![\w.@/\\-])
        (?:[\w-]++/)*+                                               # src/main.rs
        (?: (?:[a-zA-Z]|\w[\w-]++) (?:\.[\w-]{{2,64}}+)*?
            \.(?: [a-z][a-z0-9]{{1,23}}+ | [A-Z][A-Z0-9]{{1,23}}+ )  # a.example, x.tar.gz, X.PDF
          | [a-z]\w++ (?:\.[^\W\d]\w{{1,63}}+){{2,}}                 # java.util.List
          | (?<=/)\w[\w-]++ \.[cdhlmorsvyCHRS] | [a-z]\w++ \.[ch]             # net/e1000.c, stdio.h
        )
        (?! [\w-] | \.\w )
        (?: / (?: [^{_ENDS_PATH}]* [^{_ENDS_PATH}{_BEHIND_PATH}] )? )?
    """,
    "path behind a variable": r"""
        (?<![\w$]) (?<!\d[ \u00a0\u202f])                            # 80 $US/Fass
        \$(?: [A-Z_][A-Z0-9_]*+ | \{[A-Z_][A-Z0-9_]*+\} )            # $HOME/bin, but not $price/day
        (?: /[\w.@+-]*[\w@+-] )++ /?
    """,
    "path": rf"""
        (?<![\w/.<-])
        (?: (?: ~ | \.{{1,2}}(?:/\.\.)*+ )(?=/) | (?=/[\w.@+-]++[/?\#]) )  # ~/x, ../../x, /x/
        (?: /[\w.@+-]*[\w@+-] )++ /? (?!\w)
        (?: [?\#](?=[\w/]) [^{_ENDS_URL}]* [^{_ENDS_URL}{_BEHIND}] )?
      | (?<![\w/.<-]) \.\.(?:/\.\.)++ (?![\w./])
    """,
    "media type": rf"""
        (?<![\w/.-])
        (?: multipart/[a-z]+
          | (?:application|audio|font|image|text|video)/             # but not font/size
            (?: {_MEDIA_SUBTYPES} | \* | [a-z][a-z0-9]*(?=[.+-][a-z0-9]) )
        )
        (?:[.+-][a-z0-9]++)*+ (?![\w/])                              # image/svg+xml
    """,
    "dot and name": r"""
        (?<![^\s(\"']) \.[a-z][a-z0-9_]++ (?:[-.][a-z0-9_]++)*+ (?!\w)  # .env, .btn-primary
    """,
    # "--force", (--size=2), but not "--well, no": a model that knows -- as a dash keeps those between spaces
    "option": "|".join(
        [
            r"(?<![\w-]) --[a-z]\w*+ (?:-[a-z\d]\w*+)++ (?:=[\w./-]*\w)? (?!--)",  # --dry-run
            *(
                rf"(?<=[{opening}]) --[a-z][\w-]*+ (?:=[\w./-]*\w)? (?=[{closing}])"
                for opening, closing in _AROUND_OPTIONS.items()
            ),
        ]
    ),
    "Windows path": rf"""
        (?<!\w) (?: [A-Za-z]:\\ | \\\\ ) [^{_ENDS_WINDOWS_PATH}]* [^{_ENDS_WINDOWS_PATH}.!]
    """,
    "formula": rf"""
        (?<![\w$\\]) \$\$ (?=[^$]*{_FORMULA_SIGNS}) [^$]++ \$\$ (?!\$)         # $$x = 1$$
      | (?<![\w$\\]) \$ (?![\s${{]|[\d.,]++[ ]) (?=[^$\n]*{_FORMULA_SIGNS})     # $x_1$, but not $5
        [^$\n]++ (?<=\S)\$ (?![\w$({{])
    """,
    "command": rf"""
        (?<![\w\\]) (?!{WRITTEN_BREAK}|\\u[\da-fA-F]{{4}}) \\[A-Za-z]{{2,}}+ (?!\\)
        (?: \{{ (?:[^{{}}\n]|\{{[^{{}}\n]{{0,60}}\}}){{0,60}} \}} )*+       # \alpha, \ref{{fig:a}}
    """,
    "attribute": r"""
        (?<![\w-]) (?:href|src|class|id|style|target|rel|type|data-[\w-]{1,40})
        \\?=(?P<value>\\?["']) [^"'<>\n\\]{0,100} (?P=value)          # href="x", href\=\"x\"
    """,
    "template": "|".join(
        code_between(*marks)
        for marks in (("<%", "%>"), (r"\{%", r"%\}"), (r"\{\#", r"\#\}"), (r"\$\{\{", r"\}\}"))
    ),
    # of any length, but not {{You have {$count} files}}
    "template without inner braces": r"[$%\#]?\{\{ [^{}\n]++ \}\} | \$\{ [^{}\n]++ \}",
    # in messages of ICU, braces that are text: "'{'" is not a brace in quotation marks
    "quoted braces": r"(?<!\w)'\{' (?: [^{}'\s]{1,60} '\}' )?",
    # {name}, ${user.name}, %{count}, #{name}, {{ name }}, { $name }, {}
    "braces": r"""
        (?: [$%\#] | (?<!\w)[!@&] )? \{\{? [ ]? (?: [^{}\s][^{}\n]{0,60} )? \}?\}
    """,
    "brackets": r"\[\[ [^\[\]\n]{1,60} \]\] | \[% [^\[\]%\n]++ %\]",
    "name in percent signs": r"(?<![\d%]) %[^\W\d]\w{2,}+% (?!%)",  # %date%, which is not %d
    # with a position or name, any text may follow; otherwise, percentages are excluded: 100%ige, 5 % davon
    "printf": rf"""
        % (?: \d++\$ | \([^()\s]*+\) | <\w++> )? {_CONVERSION} (?!\w)            # %s, %1$s, %(name)s
      | % (?: \d++\$ | (?<!\d%)\([^()\s]*+\) | <\w++> ) {_CONVERSION}
      | (?<![\d%]) (?<!\d[ \u00a0\u202f])
        % (?: [ds@] | l{{1,2}}[diu] | ,?\d*+\.\d++f ) (?=[^\W\d_])               # %dpx
    """,
    "Qt and dates": r"""
        (?<![\d%]) % (?: L?\d{1,2} | [a-zA-Z] ) (?![\w%])  # %1, %L1, %n, %H:%M
      | (?<![\w%]) %[1-9] (?=[^\W\d_])
    """,
    "percent signs": r"%%[^%\s]++%% | %\w++%",  # %%name%%, %name%
    "percent sign": r"%%",
    "dollars": r"(?<![\w$]) \$[A-Za-z_]\w*+\$ (?![\w$])",  # $name$
    "merge tag": r"\*\| [^|*\n]{1,60} \|\*",  # *|FNAME|*
    "dollar": r"(?<![\w$]) \$[A-Za-z_]\w*+ (?:\([^()\n]{0,100}\))?",  # $name, $t(key)
    "doubled signs": r"""
        (?<![\w@\#$]) (?P<sign>[_@\#$])(?P=sign)++ [^\W_]\w*? (?P=sign){2,}+ (?!\w)  # __name__
    """,
    "hardware address": r"(?<![\w:]) (?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2} (?![\w:])",
    "mention": r"< (?: [@\#][!&]?+ | a?:\w++: | t: | /[\w ]++: ) \d++ (?::[a-zA-Z])? >",  # <@!20>, <:sad:5>
    "symbol or emoji": r"""
        (?<![\w:/)])
        (?: :[a-z0-9_+-]{2,40}+:(?!\w)          # :tada:
          | :[a-z_][a-z0-9_]++(?![\w:]) )       # :name
    """,
    "code": rf"""
        (?<![\w`]) (?P<ticks>`{{1,3}}+) [^`\n]++ (?P=ticks) (?![\w`])
      | (?<![\d`]) (?P<behind>`{{1,3}}+) [^`\s,;][^`\s]++ (?P=behind) (?![\w`])  # Option`-f`, not sag`s`
      | (?<![\w`]) (?P<word>`{{1,3}}+) [^`\s]++ (?P=word) [a-z]{{1,3}}+ (?!\w)  # `Item`s
      | (?<!`) (?P<marks>`{{1,3}}+) [^`\s{CODE_SIGNS}]*+ [{CODE_SIGNS}] [^`\s]*+ (?P=marks) (?!`)
    """,
    "entity": r"& (?: [A-Za-z]\w{1,30}+ | \#\d{1,7}+ | \#x[0-9a-fA-F]{1,6}+ ) ;",
    "name with signs": r"(?<![\w+\#]) [^\W\d_]\w{0,30}+ (?:\+{2,3}+|\#) (?![\w+\#])",  # C#, Notepad++
    "keys": r"(?<![\w+]) \+\+ [a-z0-9][\w-]*+ (?:\+[\w-]++)*+ \+\+ (?![\w+])",  # ++ctrl+alt+del++
    "box to tick": r"\[ (?: [ \u00a0]* | \* ) \]",  # also [*], an item of a forum's list
    "gap to fill in": r"""
        (?<![^\s:(\[])
        (?: [._…]{4,}+ | _{3,}+ | (?<!\.[ ])\.(?:[ ]\.){3,}+ )  # ....., ___, . . . .
        (?![^\s,;:!?)\]])
    """,
}
"""The patterns of what is protected, by kind; if two match at the same place, the first is used."""
_ADDRESSES = re.compile(
    "|".join(
        f"(?:{KINDS[kind]})"
        for kind in (
            "URL",
            "e-mail address",
            "account",
            "domain or file",
            "path behind a variable",
            "path",
            "Windows path",
        )
    ),
    re.VERBOSE,
)
_OF_PARTS = re.compile(r"[@/\\]")
"""Addresses with one of these signs may go on with a hyphen, but not `config.json` or `example.org`."""
_MAY_HOLD_ONE = re.compile(
    r"""
    [@#%{\[<\\$_`&:/~….+=-]  # one set, which `re` finds fast; of the last four signs,
    (?:                        # only these
        (?<![.+=-]) | (?<==)["'] | (?<=-)-[a-z] | (?<=\.)\w | (?<=\.)[ ]?\.[ ]?\.[ ]?\. | (?<=\+)\+
    )
    """,
    re.VERBOSE,
)
"""A fast check that rejects most texts."""
PLACEHOLDER = re.compile("|".join(KINDS.values()), re.VERBOSE)
_CONTROL_TAG = re.compile(r"(?:\{%|<%(?!=)|\[%)[\s\S]*(?:%\}|%>|%\])")
"""Code of templates that writes nothing itself: {% if new %}."""
_DOLLAR = re.compile(rf"(?<![^\W\d_{TOUCHING}])\$")  # not US$1
_IS_UNSPACED = re.compile(rf"(?<!\S)[^\s/\\{TOUCHING}]*+[{TOUCHING}]")
"""A word in a script without spaces, not within an address, which may be in a text in another script."""
_IN_ADDRESS = rf"(?<![{TOUCHING}])(?:[/\\?=&]|_\()"  # /wiki/维基_(百科), ?q=值, D:\数据
_BEHIND_SIGN = r"(?<!\w)(?:[@\#]|__)|%(?=\w+%)"  # @用户, #标签, __名__, %名%
_WORDS = re.compile(
    rf"""
    (?: {_IN_ADDRESS} | {_BEHIND_SIGN} ) [{TOUCHING}]+ (?: [/\\?=&_~.%:+(-]+ [{TOUCHING}]+ )*
  | (?P<word>[{TOUCHING}]+)
    """,
    re.VERBOSE,
)
"""Words in scripts without spaces: parts of placeholders, or `word` if they only touch one."""


KindName = Literal["capitals", "figures", "codes", "names"]


class StandIns(Parameters):
    """The parameters of the rule."""

    tokens: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^<\w{1,20}>$")], ...],
        Field(max_length=100),
    ] = ()
    """Tokens that the model was trained to copy, such as `<p0>`."""
    kinds: Annotated[
        dict[str, Annotated[tuple[KindName, ...], Field(min_length=1)]],
        Field(default_factory=dict, max_length=100),
    ]
    """What else replaces protected parts, best first, by direction ("en-ru"), as the import found out."""


class Placeholders(Rule):
    """Protects format specifiers, addresses, code and similar parts."""

    name = "placeholders"
    is_default = True
    is_of_signs = True
    parameters = StandIns

    def __init__(
        self,
        tokens: tuple[str, ...] = (),
        kinds: Sequence[Kind] = (FIGURES, CAPITALS),
        source: Language = NEUTRAL,
    ) -> None:
        """Set the stand-ins for protected parts, and the language, by which amounts are read.

        Args:
            tokens: those that the model was trained to copy.
            kinds: what else replaces protected parts, best first.
            source: the source language.
        """
        self.tokens, self.kinds = tokens, (*([tokens] if tokens else []), *kinds)
        self._figures = figures_of(source)

    @classmethod
    def make(cls, setting: Setting) -> Self:
        """Build the rule with the tokens in the manifest.

        Raises:
            BundleError: the vocabulary lacks one of them.
        """
        parameters = cast(StandIns, setting.parameters)
        tokens = parameters.tokens
        for tokenizer in setting.tokenizers:
            if missing := [token for token in tokens if not tokenizer.has_piece(token)]:
                raise BundleError(f": the vocabulary has no {missing[0]}", setting.tables.folder)
        source, target = setting.languages
        names = parameters.kinds.get(f"{setting.source}-{setting.target}", names_of_kinds(target))
        return cls(tokens, [KINDS_BY_NAME[name] for name in names], source)

    def prepare(self, run: Run) -> Run:
        """Protect the placeholders."""
        text = run.text
        if _MAY_HOLD_ONE.search(text) is None:
            return run
        if not text.isascii() and _IS_UNSPACED.search(text):
            text = _separated(text)
        run = run.protecting(match.span() for match in PLACEHOLDER.finditer(text))
        return run.protecting(self._positions(run.text)) if "$1" in run.text else run

    def restore(self, source: Run, translation: Run) -> Run:
        """Write a space for a hyphen behind an address, which would lead elsewhere: `@anna-Konto`.

        A control tag at an edge of the sentence touches its words if it does so in the source.
        """
        if not translation.protected:
            return translation
        translation = translation.edited(_spaces_beside_edges(source, translation))
        followed = {
            source.text[part.begin : part.end]
            for part in source.protected
            if source.text.startswith("-", part.end)
        }
        return translation.edited_outside(
            [
                (part.end, part.end + 1, " ")
                for part in translation.protected
                if translation.text.startswith("-", part.end)
                and translation.text[part.end + 1 : part.end + 2].isalpha()
                and (text := translation.text[part.begin : part.end]) not in followed
                and _OF_PARTS.search(text)
                and _ADDRESSES.fullmatch(text)
            ]
        )

    def _positions(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of $1, $2 and so on; none if one is missing or an amount: $1 to $5, $1 million."""
        spans, found = [], set()
        for number in self._figures.numbers(text):
            if _DOLLAR.match(text, number.begin - 1, number.begin):
                spans.append((number.begin - 1, number.end))
                found.add(number.written)
        return spans if found == {str(position) for position in range(1, len(found) + 1)} else []


def _spaces_beside_edges(source: Run, translation: Run) -> list[Place]:
    """Return the spaces beside control tags at both edges of a translation that its source does not have."""
    text, places = translation.text, list[Place]()
    tags = [
        part for part in translation.protected if _CONTROL_TAG.fullmatch(text, part.begin, part.end)
    ]
    for tag in tags[:1]:
        begins = source.text.startswith(text[: tag.end])
        if begins and text.startswith(" ", tag.end) and not source.text.startswith(" ", tag.end):
            places.append((tag.end, tag.end + 1, ""))
    for tag in tags[-1:]:
        code = text[tag.begin :]
        ends = source.text.endswith(code) and not source.text.endswith(f" {code}")
        if ends and text.endswith(f" {code}"):
            places.append((tag.begin - 1, tag.begin, ""))
    return places


def _separated(text: str) -> str:
    """Replace each letter of words that may touch a placeholder by a punctuation mark."""
    return _WORDS.sub(lambda match: "。" * len(match["word"]) if match["word"] else match[0], text)
