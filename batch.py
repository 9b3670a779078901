"""Many questions: what they will cost, and asking them within a server's limits, each paid for once."""

import heapq
import math
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
BELOW_LIMIT = 0.97  # requests do not arrive as evenly as they are sent
RETRIES = 4  # after 0.5, 1, 2 and 4 s, or after as long as the server says
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 120.0  # a server that says more is given up: limits are counted by the minute
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
    chinese = len(text) - len(text.encode("ascii", "ignore"))
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
    """The requests that ask all the questions, those of one section together.

    A section's claims are spread evenly over the number of requests that comes nearest to ``claims_per_request`` each
    (18 claims at 16 a request are one request, not one of 16 and one of 2), within the limit of tokens.
    """
    by_section: dict[str, list[str]] = {}
    for claim, section in questions:
        by_section.setdefault(section, []).append(claim)
    requests: list[Request] = []
    for section, claims in by_section.items():
        state, request = estimated_tokens(section), None
        most = math.ceil(len(claims) / max(round(len(claims) / claims_per_request), 1))
        for claim in claims:
            tokens = TOKENS_OF_A_QUESTION + estimated_tokens(claim)
            if request is None or len(request.claims) == most or request.tokens + tokens > TOKENS_PER_REQUEST:
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
            rate = Rate(max(int(limit * BELOW_LIMIT), 1), Duration.MINUTE, burst=burst)
            bucket = StateBucket([rate], GCRA())
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
    """The answers of one request, kept at once; by an ask of the reader's own, of its claims one by one."""
    if not isinstance(ask, Ask):
        return [ask(claim, request.section) for claim in request.claims]
    answers = ask.request(request.claims, request.section, together, retry=NO_RETRIES)
    keep(ask, request, answers, together)
    return answers


def keep(ask: Ask, request: Request, answers: list[dict | Unchecked], together: bool) -> None:
    """Keep the answers among them; a copy of ask in another process has no store and keeps none."""
    for claim, answer in zip(request.claims, answers, strict=True):
        if not isinstance(answer, Unchecked):
            ask.keep(claim, request.section, answer, together)


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
    of the limits (None: no limit), ``max_requests`` at the most. An answer is kept before it is given out, so that a
    run that is killed goes on where it was. A busy server is asked again after as long as it says; one that is gone, or
    that refuses the key, ends the asking. ``executor`` takes the place of threads: Dask's, or any of
    ``concurrent.futures``. With ``claims_per_request`` over 1, claims about one section go out together, about so many
    in a request, in the wording of ``Ask.questions``: measure it on labelled rows first.
    """
    together = claims_per_request > 1
    live = isinstance(ask, Ask)
    unanswered = []
    for claim, section in dict.fromkeys(questions):
        try:
            answer = (ask.recall(claim, section, together) or too_long(claim, section)) if live else None
        except Unchecked as reason:
            answer = reason
        if answer is None:
            unanswered.append((claim, section))
        else:
            yield (claim, section), answer
    if live and not ask.key:
        yield from ((question, Unchecked(ask.no_key)) for question in unanswered)
        return
    limits = (requests_per_minute, tokens_per_minute) if live else (None, None)
    with nullcontext(executor) if executor else ThreadPoolExecutor(workers) as pool:
        run = Run(ask, pool, together, pacer(*limits), max_requests)
        # Without a limit to keep, a thread that is done finds its next request ready, however busy this one is.
        run.under_way = workers if any(limits) else 2 * workers
        yield from run.answers(requests_for(unanswered, claims_per_request))


class Run:
    """The requests of one run: those that wait, those under way, and what has put an end to it, if anything has."""

    def __init__(self, ask: Callable, pool: Executor, together: bool, pace: Callable, max_requests: int | None):
        self.ask, self.pool, self.together, self.pace = ask, pool, together, pace
        self.left = math.inf if max_requests is None else max_requests
        self.at_most = Unchecked(f"the limit of {max_requests} requests was reached: run again to go on")
        self.under_way = 1
        self.waiting: list[Request] = []  # a heap: the one that may go first is first
        self.sent: dict[Future, Request] = {}
        self.done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self.given_up = 0
        self.stopped: Unchecked | None = None

    def answers(self, requests: list[Request]) -> Iterator[tuple[Question, dict | Unchecked]]:
        self.waiting = sorted(requests)
        try:
            while self.waiting or self.sent:
                self.send_what_may_go()
                if self.stopped:
                    for request in self.waiting:
                        yield from self.each(request, [self.stopped] * len(request.claims))
                    self.waiting.clear()
                if self.sent or self.waiting:
                    with suppress(queue.Empty):
                        yield from self.settled(self.done.get(timeout=self.pause()))
        finally:  # interrupted: what is on its way was paid for
            for future in [future for future in self.sent if not future.cancel()]:
                self.settled(future)

    def send_what_may_go(self) -> None:
        """Send requests until none may go yet, enough are under way, or an answer is in."""
        while self.pause() == 0 and not self.stopped:
            if self.left <= 0:
                self.stopped = self.at_most
                return
            request = heapq.heappop(self.waiting)
            self.pace(request.tokens)
            future = self.pool.submit(send, self.ask, request, self.together)
            self.sent[future] = request
            future.add_done_callback(self.done.put)
            self.left -= 1
            if not self.done.empty():
                return

    def pause(self) -> float | None:
        """Seconds until the next request may go; None where only an answer makes room for one."""
        if not self.waiting or len(self.sent) >= self.under_way:
            return None
        return max(self.waiting[0].not_before - time.monotonic(), 0)

    def settled(self, future: Future) -> list[tuple[Question, dict | Unchecked]]:
        """What a finished request brings; nothing where it is to be tried again."""
        request = self.sent.pop(future)
        try:
            answers = future.result()
            self.given_up = 0
            if isinstance(self.ask, Ask) and not isinstance(self.pool, ThreadPoolExecutor):
                keep(self.ask, request, answers, self.together)
        except Unchecked as reason:
            answers = [reason] * len(request.claims)
            if reason.again is not None and reason.again <= LONGEST_PAUSE and request.tries < RETRIES:
                request.not_before = time.monotonic() + max(reason.again, FIRST_PAUSE * 2**request.tries)
                request.tries += 1
                heapq.heappush(self.waiting, request)
                return []
            self.given_up += reason.again is not None
            if reason.everywhere or self.given_up == FAILURES_IN_A_ROW:
                self.stopped = reason
        except Exception as fault:  # an ask of the reader's own: its fault is this question's, not the others'
            answers = [Unchecked(f"ask failed: {type(fault).__name__}: {fault}")] * len(request.claims)
        return self.each(request, answers)

    @staticmethod
    def each(request: Request, answers: list) -> list[tuple[Question, dict | Unchecked]]:
        """The questions of a request, each with its answer."""
        return [((claim, request.section), answer) for claim, answer in zip(request.claims, answers, strict=True)]
