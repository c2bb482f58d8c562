"""A language model behind a server that speaks OpenAI's `/chat/completions`: Ollama, vLLM, DeepSeek and others.

The key is given by the caller, who has it from the environment; it stands in no message. The official package makes the
requests; retries, the time limit and the reading of answers are done here, as the package would wait longer and believe
more than a memory may.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from memctl import distribution
from memctl.errors import ProviderError
from memctl.providers import http
from memctl.providers.waiting import Service

if TYPE_CHECKING:
    import httpx2
    import openai

T = TypeVar("T")
Message = dict[str, Any]

MAX_BYTES = 4_000_000
"""A longer answer is refused: no answer memctl asks for is near it."""

FIRST_PAUSE = 0.2
"""Seconds before the second attempt, doubled before each further one, unless the server asks for another pause."""

_SENT = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent"}
"""Headers of a request beside the key; the package would add what its own variables say, whichever server is asked."""

_MAX_REFUSAL = 65_536  # bytes that are read of what a server says when it refuses
_MAX_REPEATED = 20_000  # characters of a wrong answer that the model is shown again
_MAX_STARTS = 500  # of brackets and of fences in an answer that are tried as the beginning of JSON

_WISH = "Answer with one JSON value and nothing else. It must be valid against this JSON Schema:\n{schema}"
_REPAIR = "This answer cannot be used: {complaint}. Answer again with the corrected JSON value and nothing else."

_WHAT = "the language model"
_URL_HINT = "Set `llm_url`, such as http://localhost:11434/v1."
_KEY_HINT = (
    "Set a valid key for this server in the environment variable that `llm_key_variable` names; a server on this "
    "machine gets it after `memctl config trust llm_url`."
)
_ADDRESS_HINT = "Check that `llm_url` is what comes before `/chat/completions` (often it ends in `/v1`)."
_REACH_HINT = "Check that the server runs and that `llm_url` is right."
_TIME_HINT = "Check that the server runs and has the model loaded, or raise `llm_timeout`."
_OTHER_MODEL_HINT = "Try again, or set another model in `llm`."

_MEANINGS = {
    300: ("leads to another address, where the key is not sent", "Set `llm_url` to the server's final address."),
    400: ("does not take the request", "Check the model's name and how much text it takes at once."),
    401: ("does not accept the key", _KEY_HINT),
    402: ("wants to be paid first", "Check the account's balance."),
    403: ("does not allow this", f"Check that the account may use the model. {_KEY_HINT}"),
    404: ("does not know the model or the address", f"Check the model's name in `llm`. {_ADDRESS_HINT}"),
    429: ("has had too many requests", "Wait, or check the limits and the balance of the account."),
    500: ("failed", "The fault is the server's: see its log, or try again later."),
    503: ("is overloaded or still starts", "Wait until the server has the model loaded, then try again."),
}

_BRACKET = re.compile(r"[{\[]")
_FENCED = re.compile(r"^```\w*[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


class _UnsuitedError(ProviderError):
    """The server takes the request not as it is; `said` is its reason."""

    said = ""


class OpenAILLM:
    """Asks a language model over HTTP; imports `openai` at the first question.

    Args:
        model: as the server calls it.
        base_url: what comes before `/chat/completions`, such as `http://localhost:11434/v1`.
        api_key: empty for a server that needs none.
        timeout: seconds for one call of `complete`, repetitions and repair included.
        temperature: 0 for the likeliest answer; not sent to a server that does not take it.
        max_retries: how often a request that failed for the moment is sent again.

    Raises:
        ProviderError: the address or the key cannot be one.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str,
        timeout: float = 60.0,
        temperature: float = 0.0,
        max_retries: int = 2,
    ) -> None:
        self.name, self._model, self._timeout, self._retries = f"openai:{model}", model, timeout, max_retries
        self._base, self._key = http.address(base_url, _WHAT, _URL_HINT), http.checked_key(api_key, _WHAT, _KEY_HINT)
        self._place = http.shown(self._base._replace(path=self._base.path.rstrip("/") + "/chat/completions"))
        self._service = Service(self._place)
        self._temperature = temperature
        self._untaken: set[str] = set()  # parameters this server does not take

    def complete(self, messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None = None) -> Any:
        """The model's answer to a conversation.

        Args:
            messages: each with `role` and `content`; sent as they are, a schema is added to the system message.
            schema: a JSON Schema (draft 2020-12 unless it says otherwise) for an answer in JSON.

        Returns:
            The answer's text, without the reasoning before it; with a schema the JSON value, which is valid against it.

        Raises:
            ProviderError: the server cannot be reached in time, refuses or fails; the model declines, its answer was
                cut off, or is no valid JSON even after it was told what is wrong.
        """
        _need_packages()
        asked = [_sendable(dict(message)) for message in messages]
        return self._service.ask(lambda: self._completed(asked, schema))

    def _completed(self, asked: list[Message], schema: Mapping[str, Any] | None) -> Any:
        with self._client() as client:
            deadline = time.monotonic() + self._timeout
            if schema is None:
                return self._text(client, asked, deadline)
            return self._value(client, _with_schema(asked, schema), _checker(schema), deadline)

    def _client(self) -> openai.OpenAI:
        import httpx2
        import openai

        try:
            connection = {} if http.may_use_proxy(self._base) else {"transport": http.direct_transport(httpx2)}
            return openai.OpenAI(
                api_key=self._key or "none",
                base_url=self._base._replace(query="", fragment="").geturl(),
                default_query=dict(parse_qsl(self._base.query)),
                max_retries=0,
                http_client=openai.DefaultHttpxClient(
                    follow_redirects=False,
                    event_hooks={"request": [self._strip], "response": [self._check_status]},
                    trust_env=not connection,
                    **connection,
                ),
            )
        except (httpx2.InvalidURL, UnicodeError) as error:  # no host can be called so
            raise self._unreachable(error) from error
        except (ImportError, ValueError, OSError) as error:  # such as a SOCKS proxy without its package
            hint = "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE in the environment."
            raise ProviderError(f"cannot prepare a connection to {self._place}: {error}", hint=hint) from error

    def _value(self, client: openai.OpenAI, asked: list[Message], check: Callable[[Any], str], deadline: float) -> Any:
        """The JSON value of the answer; of a second one, if the first will not do."""
        text = self._text(client, asked, deadline, as_json=True)
        try:
            return _value_in(text, check)
        except ValueError as error:
            request = _REPAIR.format(complaint=_one_line(str(error)))
        repair = [{"role": "assistant", "content": text[:_MAX_REPEATED]}, {"role": "user", "content": request}]
        text = self._text(client, [*asked, *repair], deadline, as_json=True)
        try:
            return _value_in(text, check)
        except ValueError as error:
            complaint = _one_line(self._without_key(str(error)))
        message = f"the answer of model {self._model!r} is not the JSON that was asked for, also repaired: {complaint}"
        raise ProviderError(message, hint=_OTHER_MODEL_HINT)

    def _text(self, client: openai.OpenAI, messages: list[Message], deadline: float, *, as_json: bool = False) -> str:
        """The answer's text, asked for with fewer parameters if the server does not take them all."""
        wanted = ({"response_format": {"type": "json_object"}} if as_json else {}) | {"temperature": self._temperature}
        dropped: set[str] = set()
        while True:
            options = {name: value for name, value in wanted.items() if name not in self._untaken | dropped}
            try:
                content = self._answer(client, {"messages": messages, **options}, deadline)
            except _UnsuitedError as error:
                if not (guilty := _guilty(error.said, options)):
                    raise
                dropped.add(guilty)
                continue
            self._untaken |= dropped  # now it is known that they were the reason
            return self._read(content)

    def _answer(self, client: openai.OpenAI, request: Mapping[str, Any], deadline: float) -> bytes:
        """The body of the server's answer, asked for again while there are attempts and time left."""
        pauses = (FIRST_PAUSE * 2**attempt for attempt in range(self._retries))
        return http.patiently(lambda: self._attempt(client, request, deadline), pauses, deadline)

    def _attempt(self, client: openai.OpenAI, request: Mapping[str, Any], deadline: float) -> bytes:
        import httpx2
        import openai

        try:
            return _within(deadline, lambda: self._send(client, request, deadline))
        except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException):
            message = f"{self._place} did not answer within {self._timeout:g} s"
            raise http.PassingError(message, hint=_TIME_HINT) from None
        except (openai.APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError) as error:
            cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
            # Some versions of the package wrap what `_check_status` raises.
            raise cause if isinstance(cause, ProviderError) else self._unreachable(cause or error) from None

    def _send(self, client: openai.OpenAI, request: Mapping[str, Any], deadline: float) -> bytes:
        """One request; the body of its answer, which is not yet known to be one."""
        left = max(deadline - time.monotonic(), 0.001)
        options: Any = {"timeout": left, **request}
        with client.chat.completions.with_streaming_response.create(model=self._model, **options) as response:
            return self._limited(http.until(deadline, response.iter_bytes()))

    def _limited(self, chunks: Iterable[bytes]) -> bytes:
        content = bytearray()
        for chunk in chunks:
            content += chunk
            if len(content) > MAX_BYTES:
                message = f"{self._place} answered with more than {MAX_BYTES / 1e6:g} MB (model {self._model!r})"
                raise ProviderError(message, hint=f"{_OTHER_MODEL_HINT} {_ADDRESS_HINT}")
        return bytes(content)

    def _strip(self, request: httpx2.Request) -> None:
        """Leave of a request's headers only what this server is meant to get."""
        own = {"authorization"} if self._base.username or self._base.password else set()  # httpx makes it of these
        for name in set(request.headers) - _SENT - own:
            if not name.startswith("x-stainless-"):  # by which the package knows its own requests again
                del request.headers[name]
        if self._key and not own:
            request.headers["Authorization"] = f"Bearer {self._key}"

    def _check_status(self, response: httpx2.Response) -> None:
        """Refuse what is no answer before the package reads it, as it would read to the end, however long it is."""
        if response.status_code != 200:
            beginning = next(response.iter_bytes(_MAX_REFUSAL), b"")
            raise self._refusal(response.status_code, response.headers.get("Retry-After", ""), beginning)

    def _refusal(self, status: int, retry_after: str, content: bytes) -> ProviderError:
        """What a status other than 200 means."""
        group = status if status in _MEANINGS else min(status // 100 * 100, 500)
        meaning, hint = _MEANINGS.get(group, ("answered unexpectedly", _ADDRESS_HINT))
        said = http.said(content, self._key)
        message = f"{self._place} {meaning}: it answered {status} for model {self._model!r}{said}"
        if status in (400, 422):
            unsuited = _UnsuitedError(message, hint=hint)
            unsuited.said = content.decode("utf-8", "replace")
            return unsuited
        if status not in (408, 429) and status < 500:
            return ProviderError(message, hint=hint)
        passing = http.PassingError(message, hint=hint)
        passing.pause = http.pause_of(retry_after)
        return passing

    def _unreachable(self, error: BaseException) -> ProviderError:
        """A failure below HTTP; only a connection that was there before it broke is worth another attempt."""
        import httpx2

        broken = isinstance(error, httpx2.TransportError) and not isinstance(error, httpx2.ConnectError)
        kind = http.PassingError if broken else ProviderError
        said = _one_line(self._without_key(str(error))) or type(error).__name__
        return kind(f"cannot reach {self._place}: {said}", hint=_REACH_HINT)

    def _read(self, content: bytes) -> str:
        """The text in an answer."""
        try:
            choice = json.loads(content)["choices"][0]
            text, refused = _text_of(choice["message"].get("content")), choice["message"].get("refusal")
            ended = choice.get("finish_reason")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            message = (
                f"{self._place} answered with something else than a chat completion{http.said(content, self._key)}"
            )
            raise ProviderError(message, hint=f"{_ADDRESS_HINT} A proxy may stand in between.") from None
        if reason := self._unusable(text, refused, ended):
            raise ProviderError(f"model {self._model!r} {reason}", hint=_OTHER_MODEL_HINT)
        return _without_reasoning(text)

    def _unusable(self, text: str, refused: object, ended: object) -> str:
        """Why there is no whole answer; empty where there is one."""
        if refused:
            return f"declined to answer: {_one_line(self._without_key(str(refused)))}"
        if ended == "content_filter":
            return "gave no answer: the server's content filter stopped it"
        if ended == "length":
            return "could not finish its answer: it reached the limit on its length"
        return "" if _without_reasoning(text) else "answered with nothing"

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "…") if self._key else text


# The request


def _need_packages() -> None:
    """Import what the extra brings, before time is measured."""
    try:
        import jsonschema  # noqa: F401
        import openai  # noqa: F401
    except ImportError as error:
        hint = f"Install what language models need: `{distribution.add_extra('llm')}`."
        raise ProviderError(f"a package is missing: {error.name or error}", hint=hint) from error


def _sendable(value: T) -> T:
    """A copy of a JSON value with `?` for lone surrogates, which UTF-8 cannot hold."""
    copy: T = json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
    return copy


def _with_schema(messages: list[Message], schema: Mapping[str, Any]) -> list[Message]:
    """The conversation with the schema in its system message; many models take only one, at the beginning."""
    wish = _WISH.format(schema=json.dumps(schema, ensure_ascii=False))
    first = messages[0] if messages else {}
    if first.get("role") == "system" and isinstance(first.get("content"), str):
        return [first | {"content": f"{first['content']}\n\n{wish}"}, *messages[1:]]
    return [{"role": "system", "content": wish}, *messages]


def _guilty(said: str, options: Mapping[str, Any]) -> str:
    """The parameter to leave out after a refusal: one it names, else the one that most servers lack; may be empty."""
    named = [name for name in options if name in said]
    return named[0] if named else "response_format" if "response_format" in options else ""


def _within(deadline: float, work: Callable[[], T]) -> T:
    """Work in a thread that is left alone at the deadline: nothing else ends the lookup of a name, or slow headers."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    try:
        Thread(target=run, daemon=True).start()
    except RuntimeError as problem:  # from Python 3.12 on, there are no new threads while a program ends
        raise ProviderError("the program is ending: no model is asked any more") from problem
    return future.result(max(deadline - time.monotonic(), 0.001))


# The answer


def _text_of(content: object) -> str:
    """The text of a message: empty for none, joined if it comes in parts. A TypeError says that there is none."""
    if content is None or isinstance(content, str):
        return _sendable(content or "")
    if isinstance(content, list):
        return _sendable("".join(part["text"] for part in content if part.get("type") == "text"))
    raise TypeError


def _without_reasoning(text: str) -> str:
    """An answer without the `<think>…</think>` before it; some servers swallow the first of these two tags."""
    if text.lstrip().startswith("<think>"):
        return text.partition("</think>")[2].strip()
    before, _, after = text.partition("\n</think>")
    return (after or before).strip()


def _checker(schema: Mapping[str, Any]) -> Callable[[Any], str]:
    """What tells why a value is not valid against the schema; empty for one that is."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for
    from referencing import Registry

    # A registry of its own: without one, a `$ref` to another address would be fetched from there.
    validator = validator_for(schema, default=Draft202012Validator)(dict(schema), registry=Registry())

    def complaint(value: Any) -> str:
        try:
            error = best_match(validator.iter_errors(value))
        except RecursionError:
            return "it is nested too deeply"
        return f"at {error.json_path}: {error.message}" if error else ""

    return complaint


def _value_in(text: str, check: Callable[[Any], str]) -> Any:
    """The largest valid JSON value in an answer; a ValueError says why there is none."""
    values = sorted(_values(text), key=lambda found: found[0], reverse=True)
    complaints = []
    for _, value in values:
        if not (complaint := check(value)):
            return value
        complaints.append(complaint)
    raise ValueError(complaints[0] if complaints else "it holds no JSON")


def _values(text: str) -> list[tuple[int, Any]]:
    """The JSON values in an answer with the lengths of their texts: all of it, else in fences, else between words."""
    fenced = (match[1] for match in islice(_FENCED.finditer(text), _MAX_STARTS))
    for texts in ([text], fenced):
        if found := [(len(part), value) for part in texts for value in _loaded(part)]:
            return found
    return list(_values_in_prose(text))


def _loaded(text: str) -> list[Any]:
    """The value of a text that is JSON as a whole, none of another."""
    try:
        return [_sendable(json.loads(text, parse_constant=_no_number))]
    except (ValueError, RecursionError):
        return []


def _values_in_prose(text: str) -> Iterator[tuple[int, Any]]:
    """Objects and lists between words. What begins as one and breaks later is not searched for smaller ones."""
    decoder, at = json.JSONDecoder(parse_constant=_no_number), 0
    for _ in range(_MAX_STARTS):
        if not (found := _BRACKET.search(text, at)):
            return
        start = found.start()
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
    raise ValueError(f"{name} is no JSON number")


def _one_line(text: str) -> str:
    """The beginning of a text, fit for a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[:2_000]).split())[:400]
