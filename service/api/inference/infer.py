"""The Open Inference Protocol's inference: texts are translated by the named model."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, BeforeValidator, Field, model_validator

from service.api.dependencies import Services, seconds_left, services, unless_client_leaves
from service.api.errors import TRANSLATION_ERRORS, shortened
from service.api.fields import Code, Id, TextList, few_texts
from service.api.inference.metadata import ONE, ModelName, ModelVersion, check_version, find
from service.api.inference.tensors import (
    JSON_LENGTH,
    NAME,
    InputTensor,
    OutputTensor,
    packed,
    split,
)
from service.api.inputs import JSON, body_of, json_fields, openapi_schema, parse
from service.api.options import TranslationFields
from service.errors import InvalidRequestError, quoted
from service.translation.types import Translation

router = APIRouter(prefix="/v2", tags=["Open Inference Protocol"])
BINARY = "application/octet-stream"
PARAMETERS = frozenset(TranslationFields.model_fields)
"""Parameters that a request may have, with the names of `POST /translate`."""
_UNSUPPORTED = frozenset(
    ("text", "q", "api_key", "alternatives", "return_scores", "return_alignment")
)
"""The other fields of `POST /translate`."""


class Texts(TranslationFields):
    """The texts of a request, with the options in its parameters."""

    text: Annotated[TextList, BeforeValidator(few_texts)]


class RequestParameters(BaseModel, extra="allow"):
    """Options of the translation, and the format of the output."""

    __pydantic_extra__: dict[str, Any]  # pydantic would report each of a million wrong ones
    binary_data_output: Annotated[
        bool, Field(description="Whether texts are returned as bytes after the JSON.")
    ] = False


class OutputParameters(BaseModel):
    """The format of one output."""

    binary_data: Annotated[
        bool | None,
        Field(
            description="Whether this output is returned as bytes after the JSON. By default, "
            "`binary_data_output` decides."
        ),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _is_supported(cls, given: Any) -> Any:
        if isinstance(given, dict):
            for name in ("classification", "shared_memory_region"):
                if name in given:
                    raise ValueError(f"{name} is not supported")
        return given


class RequestedOutput(BaseModel):
    """An output to return, and its format."""

    name: Code
    parameters: OutputParameters = OutputParameters()


class InferRequest(BaseModel):
    """`POST /v2/models/NAME/infer` of the Open Inference Protocol."""

    id: Annotated[Id | None, Field(description="Returned unchanged.")] = None
    parameters: Annotated[
        RequestParameters,
        Field(
            description="Fields of `POST /translate`: "
            + ", ".join(sorted(PARAMETERS))
            + ". And `binary_data_output`."
        ),
    ] = RequestParameters()
    inputs: Annotated[list[InputTensor], Field(min_length=1, max_length=1)]
    outputs: Annotated[list[RequestedOutput], Field(max_length=1)] = []

    @property
    def is_answered_in_binary(self) -> bool:
        """Whether the translations are returned as bytes after the JSON."""
        binary_data = self.outputs[0].parameters.binary_data if self.outputs else None
        return self.parameters.binary_data_output if binary_data is None else binary_data


class InferResponse(BaseModel):
    """The translations, in the shape of the texts."""

    model_name: str
    model_version: str
    id: str | None = None
    parameters: Annotated[
        dict[str, str] | None,
        Field(
            description="For each text not fully translated: `problem_` and its number, with the reason."
        ),
    ] = None
    outputs: list[OutputTensor]


_DOCUMENTED: dict[str, Any] = {
    "openapi_extra": {"requestBody": {"content": {JSON: {"schema": openapi_schema(InferRequest)}}}},
    "response_model": InferResponse,
    "responses": {
        **TRANSLATION_ERRORS,
        200: {"content": {BINARY: {"schema": {"type": "string", "format": "binary"}}}},
        404: {**TRANSLATION_ERRORS[400], "description": "No such model."},
    },
}


@router.post("/models/{name}/infer", **_DOCUMENTED)
async def infer(name: ModelName, request: Request) -> Response:
    """Translate texts by one model."""
    service = services(request)
    service.gate.enter(request)
    body, binary = await _read_request(request)
    texts = body.inputs[0].texts(binary)
    translations = await unless_client_leaves(
        request, _translations(request, service, name, texts, body.parameters.model_extra or {})
    )
    return _answer(name, body, translations)


@router.post("/models/{name}/versions/{version}/infer", **_DOCUMENTED)
async def infer_version(name: ModelName, version: ModelVersion, request: Request) -> Response:
    """Translate texts by one model, whose only version is 1."""
    check_version(name, version)
    return await infer(name, request)


async def _read_request(request: Request) -> tuple[InferRequest, bytes]:
    """Read the request, and the bytes after its JSON."""
    head, binary = split(request, await body_of(request))
    fields = _without_nulls(await json_fields(request, head))
    inputs = fields.get("inputs")
    if not isinstance(inputs, list) or len(inputs) != 1 or not isinstance(inputs[0], dict):
        raise InvalidRequestError(
            f"Invalid request: inputs parameter must be a list of one tensor, {NAME}"
        )
    fields["inputs"] = inputs = [_without_nulls(inputs[0])]
    if isinstance(parameters := fields.get("parameters"), dict):
        fields["parameters"] = _scalars(parameters)
    parse(InputTensor, inputs[0])  # on its own, so that an error names the field in it
    body = parse(InferRequest, fields)
    for output in body.outputs:
        if output.name != NAME:
            raise InvalidRequestError(
                f"Invalid request: no output is named {shortened(output.name)}, only {NAME}"
            )
    return body, binary


def _without_nulls(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _scalars(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters without nulls.

    Raises:
        InvalidRequestError: a parameter is a list or an object.
    """
    for name, value in parameters.items():
        if isinstance(value, list | dict):
            raise InvalidRequestError(
                f"Invalid request: {shortened(name)} parameter must be a string, a number or a boolean, "
                f"but is {quoted(value)}"
            )
    return _without_nulls(parameters)


async def _translations(
    request: Request, service: Services, name: str, texts: list[Any], parameters: dict[str, Any]
) -> list[Translation]:
    """Return the translations of the texts by the model `name`."""
    models = find(service.models, name)
    for unsupported in sorted(_UNSUPPORTED & parameters.keys()):
        raise InvalidRequestError(f"Invalid request: {unsupported} parameter is not supported here")
    if not texts:
        return []
    given = {field: parameters[field] for field in PARAMETERS & parameters.keys()}
    body = parse(Texts, {**given, "text": texts})
    timeout = seconds_left(request, body.timeout(service.settings.request_timeout_seconds))
    return await models.translate(body.text, body.source, body.target, body.options(), timeout)


def _answer(name: str, body: InferRequest, translations: list[Translation]) -> Response:
    """Return the answer: JSON, with the translations in it or as bytes after it."""
    texts = [translation.text for translation in translations]
    problems = {
        f"problem_{number}": translation.first_problem
        for number, translation in enumerate(translations)
        if translation.first_problem
    }
    output = OutputTensor(name=NAME, shape=body.inputs[0].shape, datatype="BYTES")
    binary = packed(texts) if body.is_answered_in_binary else None
    if binary is None:
        output.data = texts
    else:
        output.parameters = {"binary_data_size": len(binary)}
    head = (
        InferResponse(
            model_name=name,
            model_version=ONE,
            id=body.id,
            parameters=problems or None,
            outputs=[output],
        )
        .model_dump_json(exclude_none=True)
        .encode()
    )
    if binary is None:
        return Response(head, media_type=JSON)
    return Response(head + binary, media_type=BINARY, headers={JSON_LENGTH: str(len(head))})
