"""Asking one question of a server, believing its answer or not, and keeping what was paid for."""

import hashlib
import json
import logging
import math
import os
import re
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx2
from cooksafe import JsonCache
from filelock import FileLock
from typesafe_sdk import (
    Choice,
    ChoiceAnswer,
    RetryPolicy,
    TypeSafeAPIConnectionError,
    TypeSafeClient,
    TypeSafeRateLimitError,
)

from plain import InputError, printable, read_json

RETRY = RetryPolicy()  # of a question asked alone: two more tries, within 30 s
LONGEST_WAIT = 30.0  # seconds that an answer may take to come in; the SDK allows 10 s for each piece of it
LARGEST_ANSWER = 1 << 20  # bytes; the answers to 64k tokens of questions are well below it


class Unchecked(Exception):
    """There is no answer that may be believed. The message says why, and what to do about it.

    ``again`` says whether the same question may well be answered later (a busy server), and after how many seconds
    at the least (0.0 where the server named none); None says that it would not. ``everywhere`` says that no other
    question would be answered either (no key, a wrong one).
    """

    def __init__(self, message: str, again: float | None = None, everywhere: bool = False):
        super().__init__(message)
        self.again = again
        self.everywhere = everywhere


class Ask:
    """``ask(claim, section) -> answer``: one Choice question bound to one model, one server and one cache.

    ``helpers.make_ask`` makes it and says what an answer is. Can be pickled; the copy asks but keeps nothing.
    """

    def __init__(
        self,
        questions: Mapping[str, Choice | Mapping],
        model: str,
        endpoint: str,
        key: str,
        cache: str | Path | None,
        published: bool,
        key_variable: str,
    ):
        ((self.question_id, question),) = questions.items()
        self.question = question if isinstance(question, Mapping) else question.model_dump(exclude_none=True)
        self.options = list(self.question["criteria"])
        self.model, self.endpoint, self.key = model, endpoint.rstrip("/"), key
        self.published = published
        self.cache = cache
        self.store = open_store(cache, make=bool(key)) if cache else None
        self.client: TypeSafeClient | None = None
        self.lock = threading.Lock()
        self.no_key = (
            f"no key, and {f'no answer of {model} in {Path(cache).name}' if cache else 'no cache'}: "
            f"set {key_variable} to ask, or put the cache back"
        )

    def __call__(self, claim: str, section: str) -> dict:
        answer = self.recall(claim, section)
        if answer is None:
            (answer,) = self.request([claim], section, retry=RETRY)
            self.keep(claim, section, answer)
        return answer

    def __getstate__(self):
        return self.__dict__ | {"store": None, "client": None, "lock": None}

    def __setstate__(self, state):
        self.__dict__ |= state | {"lock": threading.Lock()}

    def connected(self) -> TypeSafeClient:
        """The client of all threads, made at the first request. Raises what the SDK thinks of key and address."""
        with self.lock:
            if self.client is None:
                mask_in_logs(self.key)
                self.client = TypeSafeClient(
                    api_key=self.key,
                    base_url=self.endpoint,
                    model=self.model,
                    http_client=http_client(),
                    compression=False,  # not every server of the protocol reads zstd, which newer Pythons would send
                )
            return self.client

    def names(self, claim: str, section: str, together: bool = False) -> tuple[str, ...]:
        """What an answer is kept under: a word and what must be equal for the answer to serve again.

        The published answers lie under ("ask", claim, section), which JsonCache joins by "|". Whatever that would not
        tell apart from another question has all of it spelt out.
        """
        if self.published and "|" not in claim and not together:
            return "ask", claim, section
        words = [self.endpoint, self.model, self.question, claim, section]
        return ("ask_together" if together else "ask_as"), json.dumps(words)

    def recall(self, claim: str, section: str, together: bool = False) -> dict | None:
        """The kept answer, or None. Raises Unchecked for one that breaks its own rules: files can be damaged too."""
        if self.store is None:
            return None
        try:
            answer = self.store.get(self.names(claim, section, together))
        except (ValueError, RecursionError, sqlite3.Error) as error:
            raise Unchecked(f"{self.cache} cannot be read: {error}: delete the file to ask again") from None
        if answer is None:
            return None
        problem = answer_problem(answer, self.options) or model_problem(self.model, answer.get("model", self.model))
        if problem:
            raise Unchecked(f"the answer in {self.cache} cannot be believed: {problem}: delete the file to ask again")
        return {"model": self.model, **answer, "replay": True}

    def knows(self, claim: str, section: str, together: bool = False) -> bool:
        """Whether a kept answer can be recalled."""
        try:
            return self.recall(claim, section, together) is not None
        except Unchecked:
            return False

    def keep(self, claim: str, section: str, answer: Mapping, together: bool = False) -> None:
        """Keep an answer. Where it cannot be written that is said in a warning, as the answer itself is good."""
        if self.store is None:
            return
        kept = {name: value for name, value in answer.items() if name != "replay"}
        try:
            self.store.put(self.names(claim, section, together), kept)
        except (OSError, InputError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            warnings.warn(f"{self.cache}: the answer is used but not kept: {reason}", stacklevel=3)

    def questions(self, claims: Sequence[str], together: bool = False) -> tuple[dict, dict]:
        """The state and the questions of a request, its section aside.

        Alone, a claim stands in the state, as published. Together, each claim stands in a question of its own.
        """
        if not together:
            return {"claim": claims[0]}, {self.question_id: self.question}
        instructions = self.question.get("instructions")
        each = [{**self.question, "instructions": {"question": instructions, "claim": claim}} for claim in claims]
        return {}, {f"{self.question_id}_{n}": question for n, question in enumerate(each, 1)}

    def request(
        self, claims: Sequence[str], section: str, together: bool = False, retry: RetryPolicy | None = None
    ) -> list[dict | Unchecked]:
        """One request: an answer for each claim, or why there is none. Raises Unchecked where the request fails."""
        if not self.key:
            raise Unchecked(self.no_key, everywhere=True)
        state, questions = self.questions(claims, together)
        started = time.perf_counter()
        try:
            state = {**state, "section": section}
            response = self.connected().system_one(state=state, questions=questions, retry=retry)
        except Exception as error:  # whatever a server or the SDK comes up with is an unchecked row, not the run's end
            raise self.failure(error) from None
        seconds = round(time.perf_counter() - started, 2)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        model = without_key(response.model, self.key)
        answers: list[dict | Unchecked] = []
        for n, question_id in enumerate(questions):
            reply = response.answers.get(question_id)
            if not isinstance(reply, ChoiceAnswer):
                answers.append(Unchecked(f"{self.endpoint} did not answer the question {question_id!r}"))
                continue
            answer = {
                "choice": reply.choice,
                "confidence": reply.confidence,
                "input_tokens": share(response.usage.input_tokens, n, len(questions)),
                "output_tokens": share(response.usage.output_tokens, n, len(questions)),
                "probabilities": reply.probabilities,
                "seconds": seconds,
                "model": model,
                "time": now,
            }
            problem = answer_problem(answer, self.options) or model_problem(self.model, model)
            if problem:
                problem = without_key(problem, self.key)
                answers.append(Unchecked(f"{self.endpoint} gave an answer that cannot be believed: {problem}"))
            else:
                answers.append({**answer, "replay": False})
        if len(answers) == 1 and isinstance(answers[0], Unchecked):
            raise answers[0]
        return answers

    def failure(self, error: Exception) -> Unchecked:
        """What a failed request means, in our words and without the key."""
        message = f"{self.endpoint} gave no answer: {without_key(str(error), self.key)}"
        status = getattr(error, "status", 0)
        if isinstance(error, TypeSafeRateLimitError):
            pause = (error.retry_after_ms or 0) / 1000
            return Unchecked(f"{message}, and asks for a pause of {pause:,g} s" if pause else message, again=pause)
        if isinstance(error, TypeSafeAPIConnectionError) or status == 408 or status >= 500:
            return Unchecked(message, again=0.0)
        return Unchecked(message, everywhere=status in (401, 402, 403))


def share(total: int | None, n: int, parts: int) -> int | None:
    """The n-th of so many whole parts that sum to the total: what one answer of a request is counted for."""
    return None if total is None else total // parts + (n < total % parts)


# --- What a server may do to us -------------------------------------------------------------------------------------


def http_client() -> httpx2.Client:
    """The SDK's own HTTP client, but what comes back is bounded, and no redirect is followed.

    A redirect would take claim and section to a host that nobody named.
    """
    return httpx2.Client(
        timeout=10.0,
        limits=httpx2.Limits(max_connections=100, max_keepalive_connections=100, keepalive_expiry=30.0),
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [bound]},
        follow_redirects=False,
    )


def bound(response: httpx2.Response) -> None:
    """Have the reading of a response stop where it grows too large or takes too long, and refuse a compressed one."""
    if "Content-Encoding" in response.headers:  # a megabyte may be a gigabyte once it is unpacked
        raise httpx2.DecodingError("the answer is compressed, which was not asked for")
    response.stream = Bounded(response.stream)


class Bounded(httpx2.SyncByteStream):
    """The bytes of a response, LARGEST_ANSWER at the most, within LONGEST_WAIT seconds."""

    def __init__(self, stream: httpx2.SyncByteStream):
        self.stream = stream

    def __iter__(self) -> Iterator[bytes]:
        deadline, left = time.monotonic() + LONGEST_WAIT, LARGEST_ANSWER
        for piece in self.stream:
            left -= len(piece)
            if left < 0:
                raise httpx2.ReadError(f"the answer is longer than {LARGEST_ANSWER:,} bytes")
            if time.monotonic() > deadline:
                raise httpx2.ReadError(f"the answer was not whole after {LONGEST_WAIT:.0f} s")
            yield piece

    def close(self) -> None:
        self.stream.close()


def without_key(text: str, key: str) -> str:
    """The text with every stretch of eight characters of the key masked: a server may echo what it was sent."""
    for start in range(len(key) - 7):
        text = text.replace(key[start : start + 8], "*" * 8)
    return text


@dataclass(frozen=True)
class Masked(logging.Filter):
    """Masks a key in what a logger writes: the SDK logs the bodies of answers, where a server may echo the key."""

    key: str

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = without_key(record.getMessage(), self.key), ()
        return True


def mask_in_logs(key: str) -> None:
    """Mask the key in the logs of the SDK and of its HTTP client."""
    for name in ("typesafe_sdk", "httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy"):
        logging.getLogger(name).addFilter(Masked(key))


# --- Whether an answer may be believed ------------------------------------------------------------------------------


def answer_problem(answer, options: Sequence[str]) -> str | None:
    """The first of an answer's own rules that it breaks, in a few words; None where it keeps them all.

    The choice is an option and the most likely one; the probabilities name the options, lie in [0, 1] and sum to 1
    within the rounding of two places; the confidence lies in [0, 1]. Probabilities that are None were not published.
    Tokens and seconds, where they are given, are counts.
    """
    if not isinstance(answer, Mapping):
        return "it is no object"
    choice, probabilities, confidence = (answer.get(key) for key in ("choice", "probabilities", "confidence"))
    if choice not in options:
        return f"the choice {printable(str(choice), 40)!r} is not among the options"
    if not is_number(confidence, 1):
        return f"the confidence {printable(str(confidence), 40)} is not between 0 and 1"
    for name in ("input_tokens", "output_tokens", "seconds"):
        if answer.get(name) is not None and not is_number(answer[name], 1e9):
            return f"{name} is {printable(str(answer[name]), 40)}"
    if probabilities is None:
        return None
    if not isinstance(probabilities, Mapping) or set(probabilities) != set(options):
        return "the probabilities do not name the options"
    if not all(is_number(value, 1) for value in probabilities.values()):
        return "a probability is not between 0 and 1"
    total = math.fsum(probabilities.values())
    if abs(total - 1) > 0.005 * len(options) + 1e-9:
        return f"the probabilities sum to {total:.2f}"
    if probabilities[choice] < max(probabilities.values()):
        return f"the choice {choice!r} is not the most likely option"
    return None


def is_number(value, most: float) -> bool:
    """Whether a value is a number from 0 to ``most``."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most


def model_problem(asked: str, answered) -> str | None:
    """What is wrong where a pinned version (jev-1.12) was asked and another answered; an alias pins none."""
    if not isinstance(answered, str) or not answered.strip():
        return "it does not name the model that answered"
    pinned = re.search(r"-\d+(\.\d+)*$", asked)
    if not pinned or answered == asked or answered.startswith(f"{asked}."):
        return None
    return f"{asked} was asked, {printable(answered, 40)} answered"


# --- Where answers are kept -----------------------------------------------------------------------------------------


def open_store(path: str | Path, make: bool = True) -> "JsonStore | SqliteStore":
    """The store of answers in a file: JSON for a notebook (``.json``), SQLite for many answers (any other name).

    ``make``: whether answers will be put into it, so that a SQLite file that cannot be made is an InputError now.
    """
    return JsonStore(path) if Path(path).suffix == ".json" else SqliteStore(path, make)


def read_answers(path: str | Path) -> dict:
    """The answers that a JSON file holds. Raises InputError where it is no cache of answers."""
    kept = read_json(path)
    if not isinstance(kept, dict):
        raise InputError(f"{path}: not a cache of answers: restore it, or delete it to ask again")
    return kept


class JsonStore:
    """cooksafe's JsonCache over a JSON file: readable, committed beside a notebook; each new answer rewrites it all."""

    def __init__(self, path: str | Path):
        if Path(path).exists():
            read_answers(path)
        try:
            self.cache = JsonCache(path)
        except ValueError:  # read_json allows a byte-order mark, JsonCache does not
            raise InputError(f"{path}: not a cache of answers: save it as UTF-8 without a byte-order mark") from None
        self.cache.path = WholeFile(path)

    # JsonCache remembers what a function returned, under the function's name and arguments. So a function that knows
    # nothing looks an answer up, and one that knows it stores it.
    def call(self, function, names: tuple[str, ...]):
        function.__name__, *arguments = names
        return self.cache(function)(*arguments)

    def get(self, names: tuple[str, ...]) -> dict | None:
        def unknown(*_):
            raise LookupError

        try:
            return self.call(unknown, names)
        except LookupError:
            return None

    def put(self, names: tuple[str, ...], answer: dict) -> None:
        self.call(lambda *_: answer, names)


class WholeFile(type(Path())):
    """A JSON file that is replaced in one step, so that a kill or a full disk leaves the old one whole.

    What other processes have added to it in the meantime is kept.
    """

    def write_text(self, text: str, *args, **kwargs) -> int:
        new = Path(f"{self}.{os.getpid()}.tmp")
        with FileLock(f"{self}.lock"):
            both = (read_answers(self) if self.exists() else {}) | json.loads(text)
            try:
                size = new.write_text(json.dumps(dict(sorted(both.items())), indent=2), encoding="utf-8")
                os.replace(new, self)
            finally:
                new.unlink(missing_ok=True)
        return size


class SqliteStore:
    """Answers in a SQLite file, each written at once and for good: 80,000 cost 80,000 times what one does."""

    def __init__(self, path: str | Path, make: bool):
        self.path, self.lock, self.file = path, threading.Lock(), None
        if make or Path(path).exists():
            try:
                self.open()
            except sqlite3.Error as error:
                raise InputError(f"{path}: not a store of answers that can be opened: {error}") from None

    def open(self) -> None:
        self.file = sqlite3.connect(self.path, check_same_thread=False, timeout=60, isolation_level=None)
        self.file.execute("PRAGMA journal_mode=WAL")
        self.file.execute("PRAGMA synchronous=NORMAL")  # a killed process loses nothing; a power cut, the last few
        self.file.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT) WITHOUT ROWID")

    @staticmethod
    def key(names: tuple[str, ...]) -> str:
        return hashlib.sha256("|".join(names).encode()).hexdigest()

    def get(self, names: tuple[str, ...]) -> dict | None:
        with self.lock:
            if self.file is None:
                return None
            found = self.file.execute("SELECT answer FROM answers WHERE key = ?", [self.key(names)]).fetchone()
        return json.loads(found[0]) if found else None

    def put(self, names: tuple[str, ...], answer: dict) -> None:
        with self.lock:
            if self.file is None:
                self.open()
            self.file.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", [self.key(names), json.dumps(answer)])
