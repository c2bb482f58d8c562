"""A language model on a server with OpenAI's `/chat/completions` API: Ollama, vLLM, DeepSeek and others.

The key appears in no message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from memctl import distribution
from memctl.errors import ProviderError
from memctl.providers import http

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
Message = dict[str, Any]

API = http.Api("the language model", "llm", ("/chat/completions",), max_bytes=4_000_000)

_MAX_REPEATED = 20_000  # characters of a wrong answer that are sent back to the model for repair
_MAX_STARTS = 500  # brackets or fences of an answer that are tried as the start of JSON

_SCHEMA_REQUEST = "Answer with one JSON value and nothing else. It must be valid against this JSON Schema:\n{schema}"
_REPAIR = "This answer is invalid: {complaint}. Answer again with the corrected JSON value and nothing else."

_OTHER_MODEL_HINT = "Try again, or set another model in `llm`."

_BRACKET = re.compile(r"[{\[]")
_FENCED = re.compile(r"^```\w*[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


class OpenAILLM:
    """Calls a language model over HTTP; imports `httpx` at the first call.

    Args:
        model: its name on the server.
        base_url: the address before `/chat/completions`, such as `http://localhost:11434/v1`.
        api_key: empty if the server needs none.
        timeout: seconds for one call of `complete`, including retries and the repair of an answer.

    Raises:
        ProviderError: the address or the key is invalid.
    """

    def __init__(self, model: str, *, base_url: str, api_key: str, timeout: float = 60.0) -> None:
        self.name, self._model = f"openai:{model}", model
        self._endpoint = http.Endpoint(API, base_url, api_key, model, timeout)
        self._rejected: set[str] = set()  # parameters that this server rejects

    def complete(self, messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None = None) -> Any:
        """The model's answer to a conversation.

        Args:
            messages: each with `role` and `content`; sent unchanged, except that the schema is added to the system
                message.
            schema: a JSON Schema (default: draft 2020-12) for an answer in JSON.

        Returns:
            The answer's text without its reasoning; with a schema, the JSON value, which is valid against it.

        Raises:
            ProviderError: the server is unreachable, too slow, rejects the request or fails; or the model declines, or
                its answer was cut off or is not valid JSON even after the repair.
        """
        sent = [_sendable(dict(message)) for message in messages]
        if schema is None:
            return self._endpoint.ask(lambda client: self._text(client, sent, self._endpoint.deadline()))
        check, with_schema = _checker(schema), _with_schema(sent, schema)
        return self._endpoint.ask(lambda client: self._value(client, with_schema, check, self._endpoint.deadline()))

    def _value(
        self, client: httpx.Client, messages: list[Message], check: Callable[[Any], str], deadline: float
    ) -> Any:
        """The JSON value of the answer, or of the repaired answer."""
        text = self._text(client, messages, deadline, as_json=True)
        try:
            return _value_in(text, check)
        except ValueError as error:
            request = _REPAIR.format(complaint=self._endpoint.readable(str(error)))
        repair = [{"role": "assistant", "content": text[:_MAX_REPEATED]}, {"role": "user", "content": request}]
        text = self._text(client, [*messages, *repair], deadline, as_json=True)
        try:
            return _value_in(text, check)
        except ValueError as error:
            complaint = self._endpoint.readable(str(error))
        message = f"the answer of model {self._model!r} is not the requested JSON, even after a repair: {complaint}"
        raise ProviderError(message, hint=_OTHER_MODEL_HINT)

    def _text(self, client: httpx.Client, messages: list[Message], deadline: float, *, as_json: bool = False) -> str:
        """The answer's text. If the server rejects optional parameters, asks again without them."""
        wanted = ({"response_format": {"type": "json_object"}} if as_json else {}) | {"temperature": 0.0}
        dropped: set[str] = set()
        while True:
            options = {name: value for name, value in wanted.items() if name not in self._rejected | dropped}
            payload = {"model": self._model, "messages": messages, **options}
            try:
                content = self._endpoint.post(client, payload, deadline)
            except http.RefusedByServerError as refusal:
                if not (refusal.bad_request and (rejected := _rejected_parameter(refusal.body, options))):
                    raise
                dropped.add(rejected)
                continue
            self._rejected |= dropped  # the server has accepted the request without them
            return self._read(content)

    def _read(self, content: bytes) -> str:
        """The text in an answer."""
        try:
            choice = json.loads(content)["choices"][0]
            text, refused = _text_of(choice["message"].get("content")), choice["message"].get("refusal")
            ended = choice.get("finish_reason")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise self._endpoint.unusable("something other than a chat completion", content) from None
        if reason := self._unusable(text, refused, ended):
            raise ProviderError(f"model {self._model!r} {reason}", hint=_OTHER_MODEL_HINT)
        return _without_reasoning(text)

    def _unusable(self, text: str, refused: object, ended: object) -> str:
        """Why the answer is not complete; empty if it is."""
        if refused:
            return f"declined to answer: {self._endpoint.readable(str(refused))}"
        if ended == "content_filter":
            return "returned no answer: the server's content filter blocked it"
        if ended == "length":
            return "did not finish its answer: it reached the length limit"
        return "" if _without_reasoning(text) else "returned an empty answer"


# The request


def _sendable(value: T) -> T:
    """A copy of a JSON value with lone surrogates, which UTF-8 cannot encode, replaced by `?`."""
    copy: T = json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
    return copy


def _with_schema(messages: list[Message], schema: Mapping[str, Any]) -> list[Message]:
    """The conversation with the schema in its system message; many models accept only one, the first."""
    request = _SCHEMA_REQUEST.format(schema=json.dumps(schema, ensure_ascii=False))
    first = messages[0] if messages else {}
    if first.get("role") == "system" and isinstance(first.get("content"), str):
        return [first | {"content": f"{first['content']}\n\n{request}"}, *messages[1:]]
    return [{"role": "system", "content": request}, *messages]


def _rejected_parameter(reason: str, options: Mapping[str, Any]) -> str:
    """The parameter to drop after a rejection: one named in the reason, else `response_format`; empty if neither."""
    named = [name for name in options if name in reason]
    return named[0] if named else "response_format" if "response_format" in options else ""


# The answer


def _text_of(content: object) -> str:
    """The text of a message; parts are joined. Raises TypeError if the content is not text."""
    if content is None or isinstance(content, str):
        return _sendable(content or "")
    if isinstance(content, list):
        return _sendable("".join(part["text"] for part in content if part.get("type") == "text"))
    raise TypeError


def _without_reasoning(text: str) -> str:
    """An answer without its `<think>…</think>`; some servers drop the first tag."""
    if text.lstrip().startswith("<think>"):
        return text.partition("</think>")[2].strip()
    before, _, after = text.partition("\n</think>")
    return (after or before).strip()


def _checker(schema: Mapping[str, Any]) -> Callable[[Any], str]:
    """Returns a function that returns why a value is not valid against the schema; empty for a valid one.

    Raises:
        ProviderError: `jsonschema` is not installed.
    """
    try:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import best_match
        from jsonschema.validators import validator_for
        from referencing import Registry
    except ImportError as error:
        hint = f"Install the packages for language models: `{distribution.add_extra('llm')}`."
        raise ProviderError(f"a package is missing: {error.name or error}", hint=hint) from error

    # An empty registry: the default one would fetch a `$ref` to another address.
    validator = validator_for(schema, default=Draft202012Validator)(dict(schema), registry=Registry())

    def complaint(value: Any) -> str:
        try:
            error = best_match(validator.iter_errors(value))
        except RecursionError:
            return "it is nested too deeply"
        return f"at {error.json_path}: {error.message}" if error else ""

    return complaint


def _value_in(text: str, check: Callable[[Any], str]) -> Any:
    """The largest valid JSON value in an answer. Raises ValueError with the reason if there is none."""
    complaints = []
    for _, value in sorted(_values(text), key=lambda sized: sized[0], reverse=True):
        if not (complaint := check(value)):
            return value
        complaints.append(complaint)
    raise ValueError(complaints[0] if complaints else "it contains no JSON")


def _values(text: str) -> list[tuple[int, Any]]:
    """The JSON values of an answer with their lengths: the full text, else fenced blocks, else JSON within prose."""
    fenced = (match[1] for match in islice(_FENCED.finditer(text), _MAX_STARTS))
    for texts in ([text], fenced):
        if values := [(len(part), value) for part in texts for value in _loaded(part)]:
            return values
    return list(_values_in_prose(text))


def _loaded(text: str) -> list[Any]:
    """The value of a text that is JSON as a whole, in a list; empty otherwise."""
    try:
        return [_sendable(json.loads(text, parse_constant=_no_number))]
    except (ValueError, RecursionError):
        return []


def _values_in_prose(text: str) -> Iterator[tuple[int, Any]]:
    """The objects and lists within prose. Broken JSON is not searched for smaller values."""
    decoder, at = json.JSONDecoder(parse_constant=_no_number), 0
    for _ in range(_MAX_STARTS):
        if not (bracket := _BRACKET.search(text, at)):
            return
        start = bracket.start()
        try:
            value, at = decoder.raw_decode(text, start)
            yield at - start, _sendable(value)
        except json.JSONDecodeError as error:
            if text[start + 1 : error.pos].strip():
                raise ValueError(f"its JSON is broken: {error}") from None
            at = start + 1  # a bracket of the prose
        except RecursionError:
            raise ValueError("its JSON is nested too deeply") from None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
