"""Many questions: what they will cost, and asking them within a server's limits, each paid for once."""

import heapq
import queue
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field

from pyrate_limiter import GCRA, Duration, Limiter, Rate, StateBucket
from typesafe_sdk import RetryPolicy

from answers import Ask, Unchecked

REQUESTS_PER_MINUTE = 1_200  # TypeSafe's documented limits, September 2026; they "may change"
TOKENS_PER_MINUTE = 60 * 250_000
TOKENS_PER_REQUEST = 64_000
TOKENS_PER_QUESTION = 32_000  # the state and the longest question
RETRIES = 4  # after 0.5, 1, 2 and 4 s, or after as long as the server says
NO_RETRIES = RetryPolicy(max_retries=0)  # a retry of the SDK's would pass by the limits
FAILURES_IN_A_ROW = 20  # so many requests given up with none answered between them: the server is gone

# Input tokens of a request, by least squares over the seven answers that TypeSafe published for RFC 7519 (each within
# 4 %; a test fits them again). A Chinese character is counted as one token, to be on the safe side.
TOKENS_OF_A_QUESTION = 335
TOKENS_PER_CHARACTER = 0.247
TOKENS_PER_CHINESE_CHARACTER = 1.0

Question = tuple[str, str]  # claim, section


def estimated_tokens(text: str) -> float:
    """About how many input tokens a text takes."""
    chinese = sum(character > "\u2e7f" for character in text)
    return TOKENS_PER_CHINESE_CHARACTER * chinese + TOKENS_PER_CHARACTER * (len(text) - chinese)


@dataclass(order=True)
class Request:
    """Claims about one section that go out together: when next, and how often that was tried."""

    not_before: float  # by time.monotonic
    number: int
    section: str = field(compare=False)
    claims: list[str] = field(compare=False)
    tokens: float = field(compare=False)
    tries: int = field(default=0, compare=False)


def requests_for(questions: Iterable[Question], claims_per_request: int) -> list[Request]:
    """The requests that ask all the questions, those of one section together, within the limits of one request."""
    by_section: dict[str, list[str]] = {}
    for claim, section in questions:
        by_section.setdefault(section, []).append(claim)
    requests: list[Request] = []
    for section, claims in by_section.items():
        state, request = estimated_tokens(section), None
        for claim in claims:
            tokens = TOKENS_OF_A_QUESTION + estimated_tokens(claim)
            if (
                request is None
                or len(request.claims) == claims_per_request
                or request.tokens + tokens > TOKENS_PER_REQUEST
            ):
                request = Request(0.0, len(requests), section, [], state)
                requests.append(request)
            request.claims.append(claim)
            request.tokens += tokens
    return requests


def too_long(claim: str, section: str) -> Unchecked | None:
    """Why a question is not asked if it is over the limit for state and question."""
    tokens = TOKENS_OF_A_QUESTION + estimated_tokens(claim) + estimated_tokens(section)
    if tokens <= TOKENS_PER_QUESTION:
        return None
    return Unchecked(
        f"claim and section are about {tokens:,.0f} tokens, the limit is {TOKENS_PER_QUESTION:,}: cite a part of it"
    )


def pacer(requests_per_minute: float | None, tokens_per_minute: float | None) -> Callable[[float], None]:
    """A function that waits until a request of so many tokens may go out. None is no limit."""
    limiters = []
    for limit, smallest_burst in ((requests_per_minute, 2), (tokens_per_minute, TOKENS_PER_REQUEST)):
        if limit:
            # Evenly spaced: a server that counts by the second refuses a minute's worth at once. The burst, a fiftieth
            # of a second, makes up for waking late.
            burst = max(smallest_burst, int(limit / 3000))
            bucket = StateBucket([Rate(int(limit), Duration.MINUTE, burst=burst)], GCRA())
            limiters.append((Limiter(bucket, buffer_ms=0), burst))
        else:
            limiters.append(None)
    requests, tokens = limiters

    def wait(size: float) -> None:
        if requests:
            requests[0].try_acquire("requests")
        if tokens:
            tokens[0].try_acquire("tokens", weight=min(max(int(size), 1), tokens[1]))

    return wait


def send(ask: Callable, request: Request, together: bool) -> list[dict | Unchecked]:
    """The answers of one request; by an ask of the reader's own, of its claims one by one."""
    if isinstance(ask, Ask):
        return ask.request(request.claims, request.section, together, retry=NO_RETRIES)
    return [ask(claim, request.section) for claim in request.claims]


def ask_all(
    ask: Callable[[str, str], dict],
    questions: Iterable[Question],
    workers: int = 8,
    executor: Executor | None = None,
    claims_per_request: int = 1,
    requests_per_minute: float | None = REQUESTS_PER_MINUTE,
    tokens_per_minute: float | None = TOKENS_PER_MINUTE,
    max_requests: int | None = None,
) -> Iterator[tuple[Question, dict | Unchecked]]:
    """Each distinct (claim, section) once, with its answer or why there is none, as they come in.

    What the cache answers comes first and costs nothing. The rest is sent, ``workers`` requests at a time, at the pace
    of the limits; an answer is kept before it is given out, so that a run that is killed goes on where it was. A busy
    server is asked again after as long as it says; a server that is gone, or that refuses the key, ends the asking.
    """
    together = claims_per_request > 1
    unanswered, waiting = [], []
    for claim, section in dict.fromkeys(questions):
        try:
            answer = ask.recall(claim, section, together) if isinstance(ask, Ask) else None
        except Unchecked as reason:
            answer = reason
        answer = answer or (too_long(claim, section) if isinstance(ask, Ask) else None)
        if answer is None:
            unanswered.append((claim, section))
        else:
            yield (claim, section), answer
    waiting = requests_for(unanswered, claims_per_request)  # by not_before and number, so that it is a heap as it is
    limited = isinstance(ask, Ask) and ask.key
    pace = pacer(requests_per_minute, tokens_per_minute) if limited else pacer(None, None)
    in_flight: dict[Future, Request] = {}
    done: queue.SimpleQueue[Future] = queue.SimpleQueue()
    sent = given_up = 0
    stopped: Unchecked | None = None

    def settled(future: Future) -> Iterator[tuple[Question, dict | Unchecked]]:
        """What a finished request brings; a failed one may wait for another try."""
        nonlocal given_up, stopped
        request = in_flight.pop(future)
        try:
            answers = future.result()
        except Unchecked as reason:
            answers = [reason] * len(request.claims)
            if reason.everywhere:
                stopped = reason
            elif reason.again is not None and request.tries < RETRIES:
                pause = max(reason.again, 0.5 * 2**request.tries)
                request.tries += 1
                request.not_before = time.monotonic() + pause
                heapq.heappush(waiting, request)
                return
            elif reason.again is not None:
                given_up += 1
                if given_up == FAILURES_IN_A_ROW:
                    stopped = reason
        except Exception as fault:  # an ask of the reader's own: its fault is this question's, not the others'
            answers = [Unchecked(f"ask failed: {type(fault).__name__}: {fault}")] * len(request.claims)
        for claim, answer in zip(request.claims, answers, strict=True):
            if not isinstance(answer, Unchecked):
                given_up = 0
                if isinstance(ask, Ask):
                    ask.keep(claim, request.section, answer, together)
            yield (claim, request.section), answer

    with nullcontext(executor) if executor else ThreadPoolExecutor(workers) as pool:
        try:
            while waiting or in_flight:
                if max_requests is not None and sent >= max_requests and not stopped:
                    stopped = Unchecked(f"the limit of {max_requests} requests was reached: run again to go on")
                while (
                    waiting and not stopped and len(in_flight) < workers and waiting[0].not_before <= time.monotonic()
                ):
                    request = heapq.heappop(waiting)
                    pace(request.tokens)
                    future = pool.submit(send, ask, request, together)
                    in_flight[future] = request
                    future.add_done_callback(done.put)
                    sent += 1
                    if sent == max_requests or not done.empty():
                        break
                if stopped:
                    for request in waiting:
                        yield from (((claim, request.section), stopped) for claim in request.claims)
                    waiting.clear()
                pause = (
                    max(waiting[0].not_before - time.monotonic(), 0) if waiting and len(in_flight) < workers else None
                )
                if in_flight or waiting:
                    with suppress(queue.Empty):
                        yield from settled(done.get(timeout=pause))
        finally:  # interrupted: what is on its way was paid for
            for future in [future for future in in_flight if not future.cancel()]:
                for _ in settled(future):
                    pass
