"""The documents are correct: links have targets, commands exist, and examples give the printed output."""

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import get_args
from urllib.parse import unquote

import pytest
from fastapi.testclient import TestClient
from httpx import Response

from service import errors
from service.api.errors import CLIENT_LEFT, status_of
from service.api.native.schemas import SentenceDetails, TranslateRequest
from service.keys import Keys
from service.settings import PREFIX, Settings
from service.translation.options import TranslationOptions
from tests import documents, make_settings_page
from tests.bench import curve_report, imported, report
from tests.conftest import started
from tests.document_commands import check_command
from tests.documents import GUIDES, PAGES, ROOT, name_of, read

DOCS = ROOT / "docs"
API, TROUBLES = DOCS / "http-api.md", DOCS / "troubleshooting.md"
each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)
each_guide = pytest.mark.parametrize("page", GUIDES, ids=name_of)


def test_the_readme_is_short() -> None:
    assert len(read(ROOT / "README.md").split()) <= 900


def test_the_index_lists_every_page() -> None:
    index = DOCS / "README.md"
    listed = {(DOCS / link).resolve() for link in documents.links(index) if "#" not in link}
    assert set(DOCS.glob("*.md")) - {index} <= listed


@each_page
def test_links_point_to_existing_files_and_headings(page: Path) -> None:
    for link in documents.links(page):
        path, _, fragment = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not fragment or fragment in documents.anchors(target), link


def test_the_settings_page_is_up_to_date() -> None:
    page, table = make_settings_page.PAGE, make_settings_page.settings_table()
    assert documents.generated(page, make_settings_page.MARK) == table
    rows = documents.table(page, "variable")
    assert [name.strip("`") for name, *_ in rows] == [
        f"{PREFIX}{name.upper()}" for name in Settings.model_fields
    ]
    known = {name: row for name, *row in rows}
    assert known["`ATTENDANT_PORT`"][:2] == ["8000", "0 to 65,535"]
    assert known["`ATTENDANT_DOCS`"][:2] == ["true", "true, false"]
    assert known["`ATTENDANT_CORS_ORIGINS`"][:2] == ["*", ""]
    assert known["`ATTENDANT_DRAIN_SECONDS`"][:2] == ["60", "0 to 3,600"]


def test_figures_are_from_the_last_benchmark() -> None:
    results = report.read(ROOT)
    for page, part in report.parts(results).items():
        assert documents.generated(ROOT / page, report.MARK) == part, page


def test_the_curve_is_from_its_last_benchmark() -> None:
    for page, part in curve_report.parts(curve_report.read(ROOT)).items():
        assert documents.generated(ROOT / page, curve_report.MARK) == part


def test_figures_of_imported_models_are_from_their_last_benchmark() -> None:
    part = imported.part(imported.read(ROOT))
    assert documents.generated(ROOT / imported.PAGE, imported.MARK) == part


def test_every_field_of_a_request_is_documented() -> None:
    rows = documents.table(API, "field")
    assert [name.strip("`") for name, *_ in rows] == list(TranslateRequest.model_fields)
    for name, default, _ in rows:
        expected = TranslateRequest.model_fields[name.strip("`")].default
        if expected not in (None, ""):
            assert default.strip("`") == str(expected).lower(), name


def test_every_finish_reason_is_documented() -> None:
    told = [name.strip("`") for name, _ in documents.table(API, "`finish`")]
    assert sorted(told) == sorted(get_args(SentenceDetails.model_fields["finish"].annotation))


def test_every_error_is_documented_with_its_status() -> None:
    told = {code.strip("`"): int(status) for status, code, _ in documents.table(API, "status")}
    kinds = {kind.code: kind for kind in _kinds(errors.AttendantError)}
    leaves = {code for code, kind in kinds.items() if not kind.__subclasses__()}
    never_seen = {code for code, kind in kinds.items() if status_of(kind) == CLIENT_LEFT}
    of_starlette = {"not_found", "method_not_allowed"}
    assert (leaves - never_seen) | of_starlette | _codes_of_refusals() - never_seen <= told.keys()
    for code, status in told.items():
        if code in kinds:
            assert status == status_of(kinds[code]), code
        else:
            assert code in of_starlette or _is_said_by_the_code(code), code


def _codes_of_refusals() -> set[str]:
    """Return the error codes of answers that the API makes without an exception."""
    makers, code = ("answer", "_refuse", "_wrong", "ProtocolError"), re.compile("[a-z]+(_[a-z]+)+")
    nodes = [
        node
        for path in (ROOT / "service/api").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
    ]
    given = [
        argument
        for call in nodes
        if isinstance(call, ast.Call)
        and getattr(call.func, "attr", getattr(call.func, "id", "")) in makers
        for argument in call.args
    ]
    # functions also return refusals as tuples of status, message and code
    given += [
        one.value.elts[2]
        for one in nodes
        if isinstance(one, ast.Return) and isinstance(one.value, ast.Tuple)
        if len(one.value.elts) == 3
    ]
    return {
        argument.value
        for argument in given
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        if code.fullmatch(argument.value)
    }


@pytest.mark.parametrize("row", documents.table(TROUBLES, "message"), ids=lambda row: row[0][:40])
def test_explained_messages_exist_in_the_code(row: list[str]) -> None:
    message = row[0].strip("`")
    parts = [part.strip() for part in message.split("…") if len(part.strip()) > 3]
    assert parts
    for part in parts:
        assert _is_said_by_the_code(part), part


@each_guide
def test_commands_and_options_exist(page: Path) -> None:
    scripts = [block.text for block in documents.blocks(page) if block.language == "sh"]
    for command in documents.commands("\n".join(scripts)):
        check_command(command)
    for code in documents.inline_code(page):
        if re.match("(make|python -m|torchrun|attendant) [a-z]", code):
            check_command(shlex.split(code))


@pytest.mark.parametrize(
    "page", [*GUIDES, ROOT / "SECURITY.md"], ids=lambda page: f"in-{name_of(page)}"
)
def test_named_settings_metrics_and_files_exist(page: Path) -> None:
    for name in re.findall(rf"{PREFIX}([A-Z_]+)", read(page)):
        assert name.lower() in Settings.model_fields, name
    for code in documents.inline_code(page):
        if code.startswith("attendant_"):  # a metric
            assert _is_said_by_the_code(code.removesuffix("_total")), code
        room = re.match(rf"({'|'.join(documents.ROOMS)})/[\w./]*$", code)
        if room and not re.search(
            "[A-Z]{2,}", code.replace("README", "").replace("MODEL_CARD", "")
        ):
            assert (ROOT / code).exists(), code


@each_guide
def test_other_languages_are_well_formed(page: Path) -> None:
    for block in documents.blocks(page):
        if block.language == "python":
            ast.parse(block.text)
        if block.language == "toml":
            tomllib.loads(block.text)
        if block.language == "json":
            json.loads(block.text)


def test_the_example_file_of_keys_is_valid(tmp_path: Path) -> None:
    [shown] = [
        one.text for one in documents.blocks(DOCS / "deployment.md") if one.language == "toml"
    ]
    (tmp_path / "keys.toml").write_text(shown)
    assert Keys.read(tmp_path / "keys.toml").entries


@pytest.fixture(scope="module")
def service() -> Iterator[TestClient]:
    """The service with default settings, whose answers the documents print."""
    with started(Settings(device="cpu", precision="int8")) as client:
        yield client


def test_example_programs_print_the_documented_output(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for program, shown in _with_output("python"):
        exec(program, names)
        assert capsys.readouterr().out == shown, program


def test_example_commands_print_the_documented_output() -> None:
    attendant = f'attendant() {{ {shlex.quote(sys.executable)} -m attendant "$@"; }}'
    for script, shown in _with_output("sh"):
        done = subprocess.run(
            ["bash", "-c", f"{attendant}\n{script}"],
            cwd=ROOT,
            capture_output=True,
            timeout=60,
        )
        assert (done.stdout.decode(), done.stderr) == (shown, b""), script


def _with_output(language: str) -> list[tuple[str, str]]:
    """Return the blocks in a language on the Python API's page, with their output."""
    blocks = documents.blocks(DOCS / "python-api.md")
    found = [
        (one.text, following.text)
        for one, following in pairwise(blocks)
        if (one.language, following.language) == (language, "text")
    ]
    assert found
    return found


def test_every_option_of_the_python_api_is_documented() -> None:
    rows = documents.table(DOCS / "python-api.md", "option")
    assert [name.strip("`") for name, *_ in rows] == [
        one.name for one in fields(TranslationOptions)
    ]


@pytest.mark.parametrize(
    "page",
    [page for page in GUIDES if "curl " in read(page)],
    ids=lambda page: f"in-{name_of(page)}",
)
def test_example_requests_get_the_documented_answers(page: Path, service: TestClient) -> None:
    blocks = documents.blocks(page)
    asked = [
        (at, words)
        for at, block in enumerate(blocks)
        for words in documents.commands(block.text)
        if words[0] == "curl"
    ]
    assert asked
    for at, words in asked:
        answer, shown = _asked(service, words), blocks[at + 1] if at + 1 < len(blocks) else None
        if shown is None or shown.language not in ("json", "text"):
            needs_key = "localhost:8000/admin/reload" in words
            assert answer.status_code == (401 if needs_key else 200), answer.text
        elif shown.language == "json":
            assert _rounded(answer.json()) == _rounded(json.loads(shown.text)), answer.text
        else:
            assert _events(answer.text) == _events(shown.text), answer.text


def _asked(service: TestClient, words: list[str]) -> Response:
    """Send the service the request of a curl command line, and return the answer."""
    headers = {"content-type": "application/x-www-form-urlencoded"}
    method, fields, url = "GET", [], ""
    rest = iter(words[1:])
    for word in rest:
        if word == "-H":
            name, _, value = next(rest).partition(": ")
            headers[name.lower()] = value
        elif word in ("-d", "--data-binary"):
            field, method = next(rest), "POST"
            fields.append("Guten Morgen!" if field.startswith("@") else field)
        elif word == "-X":
            method = next(rest)
        elif not word.startswith("-"):
            url = word.partition("localhost:8000")[2]
            assert url, word
    content = "&".join(fields).encode()
    answer: Response = service.request(method, url, content=content, headers=headers)
    return answer


def _rounded(answer: object) -> object:
    """Round the scores of an answer, which int8 computes slightly differently on other processors."""
    return json.loads(json.dumps(answer), parse_float=lambda digits: round(float(digits), 1))


def _events(stream: str) -> list[str]:
    """Sort the events, since sentences arrive in any order."""
    return sorted(stream.strip().split("\n\n"))


def _kinds(kind: type[errors.AttendantError]) -> Iterator[type[errors.AttendantError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _kinds(one)


@cache
def _words_of_the_code() -> str:
    """Return all string constants of the code."""
    found = []
    for room in ("attendant", "service", "model", "export"):
        for file in (ROOT / room).rglob("*.py"):
            nodes = ast.walk(ast.parse(read(file)))
            found += [one.value for one in nodes if isinstance(one, ast.Constant)]
    return "\n".join(one for one in found if isinstance(one, str))


def _is_said_by_the_code(text: str) -> bool:
    return text in _words_of_the_code()
