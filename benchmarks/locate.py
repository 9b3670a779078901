"""How fast quotations are located: tables of ratios, all measured in one run.

    python benchmarks/locate.py [MB]              the largest grown text, 100 unless told

Every row is one text, and every figure an average over quotations from all its sections. `published` normalises
and searches every section for every quotation; `RapidFuzz` aligns the folded quotation with the whole folded
text; `floor` is a bare str.find of the folded quotation in the whole folded text.
"""

# ruff: noqa: E501 (one row of the table in one line)

import random
import re
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

import china_laws  # noqa: E402
from rapidfuzz import fuzz  # noqa: E402

import helpers  # noqa: E402
import quotes  # noqa: E402

STRAIGHT = str.maketrans("“”‘’", "\"\"''")
Quotation = tuple[str, str]  # the text and the label that it is cited from


def published(sections: dict[str, str], quote: str) -> list[str]:
    wanted = " ".join(quote.split()).translate(STRAIGHT)
    return [label for label, text in sections.items() if wanted in " ".join(text.split()).translate(STRAIGHT)]


def quotations(sections: dict[str, str], count: int, dice: random.Random) -> list[Quotation]:
    """Runs of 8 to 25 words from sections chosen evenly."""
    found = []
    labels = [label for label, text in sections.items() if len(text.split()) > 30]
    step = max(1, len(labels) // count)
    for label in (labels[dice.randrange(step) :: step] * count)[:count]:
        words = sections[label].split()
        first = dice.randrange(len(words) - 26)
        found.append((" ".join(words[first : first + dice.randrange(8, 25)]), label))
    return [(quote, label) for quote, label in found if re.search(r"\w{3}.*\w{3}", quote)]


def altered(quotations: Sequence[Quotation], dice: random.Random) -> list[Quotation]:
    """The same quotations with one word exchanged for another word of the text: they stand nowhere."""
    words = [word for quote, _ in quotations for word in re.findall(r"[a-z]{4,}", quote)]
    changed = []
    for quote, label in quotations:
        places = list(re.finditer(r"\b[a-z]{4,}\b", quote))
        if places:
            m = dice.choice(places)
            other = dice.choice([word for word in words if word != m[0]])
            changed.append((quote[: m.start()] + other + quote[m.end() :], label))
    return changed


def seconds_each(call: Callable[[str, str], object], quotations: Sequence[Quotation], enough: float = 0.3) -> float:
    """Seconds a call, the best of up to five rounds over all quotations, or fewer where they take long."""
    best, spent = float("inf"), 0.0
    for _ in range(5):
        start = time.perf_counter()
        for quote, label in quotations:
            call(quote, label)
        took = time.perf_counter() - start
        best, spent = min(best, took / len(quotations)), spent + took
        if spent > enough:
            break
    return best


def grown(sections: dict[str, str], size: int, dice: random.Random) -> dict[str, str]:
    """Sections of the document's own words, shuffled anew, until they hold `size` characters."""
    pool = [(label, text.split()) for label, text in sections.items()]
    texts, total = dict(sections), sum(map(len, sections.values()))
    while total < size:
        label, words = pool[len(texts) % len(pool)]
        shuffled = dice.sample(words, len(words))
        text = "\n   ".join(" ".join(shuffled[i : i + 11]) for i in range(0, len(words), 11))
        texts[f"{len(texts)}.{label}"] = text
        total += len(text)
    return texts


def row(name: str, sections: dict[str, str], dice: random.Random) -> dict[str, float]:
    """Measure one text and print its row."""
    size = sum(map(len, sections.values()))
    start = time.perf_counter()
    index = quotes.Index(sections)
    built = time.perf_counter() - start
    right = [(q, label) for q, label in quotations(sections, 300, dice) if quotes.locate(index, q, label).match]
    wrong = [(q, label) for q, label in altered(right, dice) if quotes.locate(index, q, label).status == "missing"]
    folded = {quote: quotes.fold(quote).text.casefold() for quote, _ in right + wrong}
    few = max(3, min(300, 30_000_000 // size))
    result = {"size": size, "build": built}
    for kind, all_of_kind in (("cited", right), ("missing", wrong)):
        some = all_of_kind[:: max(1, len(all_of_kind) // few)]
        ours = seconds_each(lambda quote, label: quotes.locate(index, quote, label), all_of_kind)
        theirs = seconds_each(lambda quote, label: published(sections, quote), some)
        fuzzy = seconds_each(
            lambda quote, label: fuzz.partial_ratio_alignment(folded[quote], index.text),
            all_of_kind[:: max(1, len(all_of_kind) // max(1, few // 30))] if size < 20_000_000 else all_of_kind[:1],
        )
        floor = seconds_each(lambda quote, label: index.text.find(folded[quote]), all_of_kind)
        result[kind] = ours
        print(
            f"{name:>9} {size / 1e6:8.2f} {built:8.3f}  {kind:8}{1 / ours:10,.0f}{1 / theirs:11,.1f}{1 / fuzzy:11,.1f}"
            f"{1 / floor:11,.0f}{theirs / ours:12,.0f}x{fuzzy / ours:11,.0f}x{ours / floor:9.1f}x"
        )
    return result


def laws() -> dict[str, dict[str, str]]:
    """The articles of each of 378 Chinese laws, or nothing where they cannot be had."""
    try:
        rows = china_laws.articles()
    except RuntimeError as reason:
        print(reason)
        return {}
    # a label comes twice where a law quotes another's articles: its text is one more article
    return {
        f"{law} {name}": {f"{label} {place}" if place else label: text for place, label, text in numbered(articles)}
        for (law, name), articles in rows.items()
    }


def numbered(articles: Sequence[tuple]) -> list[tuple[int, str, str]]:
    """(how often the label was there before, label, text) of each article."""
    seen: Counter = Counter()
    found = []
    for *_, label, text in articles:
        found.append((seen[label], label, text))
        seen[label] += 1
    return found


def ten_thousand(texts: dict[str, dict[str, str]], dice: random.Random) -> None:
    """Ten thousand citations, each against its own law, with the indexes built on the way."""
    size = sum(len(text) for articles in texts.values() for text in articles.values())
    citations = []
    for i in range(10_000):
        law = list(texts)[i % len(texts)]
        article, text = dice.choice(list(texts[law].items()))
        first = dice.randrange(max(1, len(text) - 40))
        citations.append((law, text[first : first + dice.randrange(20, 40)] + ("之外" if i % 4 == 0 else ""), article))
    start = time.perf_counter()
    indexes = {law: quotes.Index(articles) for law, articles in texts.items()}
    built = time.perf_counter() - start
    statuses = []
    for law, quote, article in citations:
        try:
            statuses.append(quotes.locate(indexes[law], quote, article).status)
        except ValueError:
            statuses.append("blank")
    took = time.perf_counter() - start
    print(f"\n{len(texts)} laws, {size / 1e6:.1f} million characters, 10,000 citations (a quarter of them made up):")
    print(f"  {took:.1f} s in all, {built:.1f} s of it for building the indexes")
    print(f"  found {statuses.count('found')}, missing {statuses.count('missing')}")
    del indexes
    tracemalloc.start()
    indexes = {law: quotes.Index(articles) for law, articles in texts.items()}
    kept, peak = tracemalloc.get_traced_memory()
    del indexes
    tracemalloc.stop()
    bytes_of_text = sum(sys.getsizeof(text) for articles in texts.values() for text in articles.values())
    print(f"  memory: {kept / 1e6:.0f} MB kept, {peak / 1e6:.0f} MB at most, for {bytes_of_text / 1e6:.0f} MB of text")
    print(f"  = {kept / bytes_of_text:.1f} times the text")


def main() -> None:
    largest = float(sys.argv[1]) if len(sys.argv) > 1 else 100
    dice = random.Random(7519)
    sections = helpers.split_sections(helpers.load_source())
    document = {label: sections.text(label) for label in sections.order}
    print(f"{'':9} {'':8} {'':8}  {'':8}{'citations a second':^43}{'locate is faster than':>25}{'slower':>9}")
    print(
        f"{'text':>9} {'MB':>8} {'build s':>8}  {'quote':8}{'locate':>10}{'published':>11}{'RapidFuzz':>11}{'floor':>11}"
        f"{'published':>13}{'RapidFuzz':>12}{'than floor':>11}"
    )
    results = [row("RFC 7519", document, dice)]
    for megabytes in (1, 10, 100):
        if megabytes <= largest:
            results.append(row("grown", grown(document, megabytes * 1_000_000, dice), dice))
    if texts := laws():
        joined = {f"{law}.{article}": text for law, articles in texts.items() for article, text in articles.items()}
        chinese = {label: re.sub(r"(?<=[，。；])", " ", text) for label, text in joined.items()}
        row("378 laws", chinese, dice)
    print("\ngrowth from size to size (text, cited, missing):")
    for small, large in zip(results, results[1:], strict=False):
        print("  " + ", ".join(f"{large[key] / small[key]:.1f}x" for key in ("size", "cited", "missing")))
    if texts:
        ten_thousand(texts, dice)


if __name__ == "__main__":
    main()
