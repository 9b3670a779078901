"""Any document as Sections: an RFC, a Chinese statute, Markdown, HTML, a PDF or plain text; and several at once."""

import io
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import helpers
from helpers import Sections
from plain import InputError, printable
from statutes import longest_rise

KINDS = ("rfc", "statute", "markdown", "html", "pdf", "text")


# --- Load -----------------------------------------------------------------------------------------------------------


def load_document(path: str | Path, kind: str | None = None) -> Sections:
    """The sections of a document of any of the KINDS; the kind is told from the content unless it is named.

    Labels are an RFC's section numbers, a statute's 第一条, a heading of Markdown or HTML, "Page 3" of a PDF, and
    "Paragraph 3" of plain text. Raises InputError for a file that cannot be read, or that holds no text.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"{kind!r} is no kind of document: name one of {', '.join(KINDS)}, or none")
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if kind == "pdf" or (kind is None and b"%PDF-" in data[:1024]):
        sections = split_pdf(data, str(path))
        sections.name = Path(path).name
        return sections
    source = decoded(data, str(path))
    split = {
        "rfc": split_rfc,
        "statute": helpers.split_articles,
        "markdown": split_markdown,
        "html": split_html,
        "text": split_paragraphs,
    }
    sections = split[kind or text_kind(source)](source)
    if not sections.order:
        what = (
            f"no section of the kind {kind or text_kind(source)!r}: name another kind, or none"
            if source.strip()
            else "no text"
        )
        raise InputError(f"{path}: holds {what}")
    sections.name = Path(path).name
    return sections


def load_documents(paths: Iterable[str | Path], kind: str | None = None) -> dict[str, Sections]:
    """Several documents: name -> sections, the name being the file's, or its whole path where two would share it."""
    paths = [Path(path) for path in paths]
    shared = Counter(path.name for path in paths)
    return {path.name if shared[path.name] == 1 else str(path): load_document(path, kind) for path in paths}


def decoded(data: bytes, name: str) -> str:
    """The text of a file in UTF-8, with or without byte-order mark, or in GB18030; line ends become \\n.

    Raises InputError for anything else. GB18030 accepts most bytes, so that its text must look Chinese as well.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        try:
            text = data.decode("gb18030")
        except UnicodeDecodeError:
            text = ""
        foreign = [character for character in text if not character.isascii()]
        if sum(character in "，。、；：“”（）《》的一是不在有" for character in foreign) < 0.02 * max(len(foreign), 50):
            where = f"not UTF-8 at byte {error.start:,}, nor GB18030"
            raise InputError(f"{name}: {where}: save it as UTF-8 and run again") from None
    if "\0" in text:
        raise InputError(f"{name}: binary data, not text: convert it to text, Markdown, HTML or PDF first")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def text_kind(source: str) -> str:
    """Which of the KINDS a text is, by its content."""
    if re.match(r"\s*(?:<!--|<\?xml|<!doctype html|<(?:html|head|body)\b)", source[:4000], re.IGNORECASE):
        return "html"
    if re.search(r"^Request for Comments: *\d+|^Internet-Draft\b", source[:4000], re.MULTILINE):
        return "rfc" if split_rfc(source) else "text"
    articles = helpers.split_articles(source)
    if len(articles) >= 3 and 2 * sum(map(len, articles.values())) > len(source):
        return "statute"
    if re.search(r"<(?:h[1-6]|p|div|table|ul|ol)\b[^>]{0,200}>", source[:4000], re.IGNORECASE):
        return "markdown" if markdown_headings(source) else "html"
    return "markdown" if markdown_headings(source) else "text"


# --- RFC, Markdown, HTML, plain text --------------------------------------------------------------------------------


PAGE_LINES = re.compile(
    r"^.*\[Page (?:\d+|[ivxlc]+)\][^\S\n]*\n|^\f?(?:RFC \d+|Internet-Draft) .*\d{4}\n|\f", re.MULTILINE
)
UNDOTTED_HEADING = re.compile(r"^(\d{1,3}(?:\.\d{1,3}){0,5})[ \t]+(?=[A-Z])", re.MULTILINE)


def split_rfc(source: str) -> Sections:
    """The numbered sections of an RFC, paginated or not; front matter and appendices are outside.

    Old ones number their headings without a full stop ("3.1 Scope"): there the numbers that rise are the headings.
    """
    source = re.sub(r"\n{3,}", "\n\n", PAGE_LINES.sub("", source))
    if sections := helpers.split_sections(source):
        return sections
    found = list(UNDOTTED_HEADING.finditer(source))
    rising = longest_rise([tuple(map(int, heading[1].split("."))) for heading in found])
    heads = [(found[place].start(), found[place][1]) for place in rising]
    if not heads:
        return Sections()
    ends = [start for start, _ in heads[1:]] + [len(source)]
    texts = {label: source[start:end].strip() for (start, label), end in zip(heads, ends, strict=True)}
    front = source[: heads[0][0]].strip()
    return Sections(texts, {"Front page": front} if front else {}, ["Front page"] * bool(front) + [*texts])


def split_markdown(source: str) -> Sections:
    """A section for every heading, label -> text as the source has it. What stands in a code block is no heading."""
    lines = source.split("\n")
    headings = markdown_headings(source)
    starts = [line for line, *_ in headings] + [len(lines)]
    parts = [
        (level, title, "\n".join(lines[start:end]))
        for (start, level, title), end in zip(headings, starts[1:], strict=True)
    ]
    return headed_sections("\n".join(lines[: starts[0]]), parts)


def markdown_headings(source: str) -> list[tuple[int, int, str]]:
    """(line from 0, level 1 to 6, title without its markup) of every heading that is not in a list or a quotation."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    front = re.match(r"---\n(?:.*\n){0,200}?(?:---|\.\.\.)\n", source)
    skipped = front[0].count("\n") if front else 0
    blocks = MarkdownIt("commonmark").disable("inline").parse("\n".join(source.split("\n")[skipped:]))
    headings = []
    for token, inline in zip(blocks, blocks[1:], strict=False):
        if token.type == "heading_open" and token.level == 0:
            spans = parser.parseInline(inline.content[:500])[0].children
            title = "".join(" " if span.type.endswith("break") else span.content for span in spans)
            headings.append((token.map[0] + skipped, int(token.tag[1]), title))
    return headings


DROPPED = {"button", "head", "iframe", "nav", "noscript", "object", "script", "style", "svg", "template"}
DROPPED_ROLES = {"banner", "contentinfo", "navigation", "search"}
BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html",
    "li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul",
}  # fmt: skip
RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
PERMALINKS = {"¶", "#", "§", "🔗"}


def split_html(source: str) -> Sections:
    """A section for every heading of an HTML page, label -> readable text: no scripts, styles or navigation."""
    beginning, parts = [], []
    for level, text in html_blocks(source):
        if level:
            parts.append((level, text, [text]))
        elif parts:
            parts[-1][2].append(text)
        else:
            beginning.append(text)
    sections = headed_sections(
        "\n\n".join(beginning), [(level, title, "\n\n".join(texts)) for level, title, texts in parts]
    )
    beyond = "\n\n".join(text for _, text in html_blocks(source, beyond=True))
    if not beyond:
        return sections
    outside = sections.outside | {BEYOND: beyond}  # what a page says there is not made up
    return Sections(dict(sections), outside, [*sections.order, BEYOND])


BEYOND = "Beyond the main part"


def html_blocks(source: str, beyond: bool = False) -> Iterator[tuple[int, str]]:
    """(level of the heading, or 0; text) of every block of text, in order. One pass over the elements.

    Of a page with a main part those in it, or with ``beyond`` those that are not.
    """
    from bs4 import BeautifulSoup, NavigableString, Tag
    from bs4.element import PreformattedString

    soup = BeautifulSoup(closed(source), "html.parser")
    main = soup.find("main") or soup.find(attrs={"role": "main"})
    if beyond and main is None:
        return
    root = soup if beyond or main is None else main
    block_of: dict[int, Tag | None] = {id(root): root}  # the innermost block that holds an element; None if dropped
    block, pieces = root, []

    def finished() -> Iterator[tuple[int, str]]:
        kept = block.name == "pre"
        text = "".join(pieces).strip("\n") if kept else re.sub(r"[^\S\n]*\n[^\S\n]*", "\n", "".join(pieces)).strip()
        if text.strip():
            level = re.fullmatch(r"h([1-6])", block.name)
            yield (int(level[1]), " ".join(text.split())) if level else (0, text)

    for node in root.descendants:
        owner = block_of[id(node.parent)]
        if isinstance(node, Tag):
            if owner is not None and (is_dropped(node) or (beyond and node is main)):
                owner = None
            elif owner is not None and node.name in BLOCKS and not re.fullmatch(r"h[1-6]|pre", owner.name):
                owner = node
            block_of[id(node)] = owner
        if owner is None or isinstance(node, PreformattedString):  # a comment, a doctype
            continue
        if owner is not block:
            yield from finished()
            block, pieces = owner, []
        if isinstance(node, NavigableString):
            if node.parent.name == "sup" and re.fullmatch(r"[-+−]?\d{1,4}", node.strip()):
                node = node.strip().translate(RAISED)  # 10⁵ is not 105, and a note's number is no part of a word
            if not (node.strip() in PERMALINKS and node.parent.name == "a"):
                pieces.append(str(node) if owner.name == "pre" else re.sub(r"\s+", " ", node))
        elif node.name in ("br", "td", "th"):
            pieces.append("\n" if node.name == "br" else " ")
    yield from finished()


def closed(source: str) -> str:
    """HTML in which no tag or comment is left open at the end: html.parser reads such a rest again and again."""
    for opening, closing in (("<", ">"), ("<!--", "-->")):
        head, mark, rest = source.rpartition(closing)
        source = head + mark + rest.replace(opening, "&lt;" + opening[1:])
    return source


def is_dropped(tag) -> bool:
    """Whether an element of HTML holds nothing that a reader reads as the page's text."""
    if tag.name == "button" and re.fullmatch(r"h[1-6]", tag.parent.name):
        return False  # a heading that opens what is under it
    return (
        tag.name in DROPPED
        or tag.get("role") in DROPPED_ROLES
        or tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
    )


def headed_sections(beginning: str, parts: Sequence[tuple[int, str, str]]) -> Sections:
    """Sections from (level, title, text) in order; what precedes the first heading is outside, as Beginning.

    A title that comes twice is told apart by those above it (Install > Options), and if need be by a number.
    """
    paths: list[tuple[str, ...]] = []
    above: list[tuple[int, str]] = []
    for level, title, _ in parts:
        above = [(depth, name) for depth, name in above if depth < level] + [(level, label_text(title))]
        paths.append(tuple(name for _, name in above))
    shared = Counter(path[-size:] for path in paths for size in range(1, len(path) + 1))
    texts: dict[str, str] = {}
    taken: Counter = Counter()
    for (_, _, text), path in zip(parts, paths, strict=True):
        size = next((size for size in range(1, len(path)) if shared[path[-size:]] == 1), len(path))
        name = label = " > ".join(path[-size:])
        while label in texts:
            taken[name] += 1
            label = f"{name} ({taken[name] + 1})"
        texts[label] = text.strip()
    outside = {"Beginning": beginning.strip()} if beginning.strip() else {}
    numbered = {label: re.match(r"\d+(?:\.\d+)*[.)]?\s+(\S.*)", label) for label in texts}
    chapters = helpers.by_title({label: found[1] for label, found in numbered.items() if found})
    return Sections(texts, outside, [*outside, *texts], chapters)


def label_text(title: str) -> str:
    """A heading as a label: one line, 200 characters at most, never empty."""
    return " ".join(title.split())[:200] or "Untitled"


def split_paragraphs(source: str) -> Sections:
    """The paragraphs of a plain text, "Paragraph 1" onward; of lines, where no blank line parts them."""
    paragraphs = re.split(r"\n(?:[^\S\n]*\n)+", source.strip())
    if len(paragraphs) == 1:
        paragraphs = source.strip().split("\n")
    texts = [text.strip("\n") for text in paragraphs if text.strip()]
    return Sections({f"Paragraph {n}": text for n, text in enumerate(texts, 1)})


# --- PDF ------------------------------------------------------------------------------------------------------------


def split_pdf(data: bytes, name: str = "the PDF") -> Sections:
    """The text of a PDF, "Page 1" onward (pages as a reader counts them), without running headers and footers.

    Raises InputError where no page has text, as in a scan. Warns of single pages that are pictures.
    """
    from pypdf import PdfReader

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError(f"{name}: locked with a password: save it without one and run again")
        pages = [page.extract_text().split("\n") for page in reader.pages]
        pictures = [
            number
            for number, (page, lines) in enumerate(zip(reader.pages, pages, strict=True), 1)
            if not any(map(str.strip, lines)) and "/XObject" in page.get("/Resources", {})
        ]
    except InputError:
        raise
    except Exception as error:  # a broken file may raise anything from within the parser
        raise InputError(f"{name}: cannot be read as PDF: {printable(str(error), 200)}") from None
    texts = {f"Page {n}": text for n, text in enumerate(without_running_lines(pages), 1) if text}
    if not texts:
        raise InputError(f"{name}: its {len(pages)} pages hold no text (a scan?): run OCR over it first")
    if pictures:
        numbers = ", ".join(map(str, pictures))
        warnings.warn(f"{name}: no text on page {numbers} (a scan?): a quote from it cannot be found", stacklevel=3)
    return Sections(texts, unread=[f"Page {number}" for number in pictures])


def without_running_lines(pages: Sequence[Sequence[str]]) -> list[str]:
    """The text of each page without running headers and footers: the first and last lines that come again and again.

    Such a line is the same on four of five pages in a row, or on three of five but for a number that counts pages, or
    on half of all. What comes again by chance (a table's head, "Possible return values:") is text, and stays.
    """
    pages = [[line.rstrip() for line in page if line.strip()] for page in pages]
    half = max(3, sum(map(bool, pages)) / 2)
    for edge, inner in ((0, slice(1, None)), (-1, slice(None, -1))):
        for line in range(3):  # a running header may have a few lines
            keys = [running_keys(page[edge], number) if page else [] for number, page in enumerate(pages)]
            places: dict[str, list[int]] = {}
            for number, found in enumerate(keys):
                for key in found:
                    places.setdefault(key, []).append(number)
            runs = set()
            for key, at in places.items():
                need = 3 if "\0" in key else 4
                in_a_row = any(last - first <= 4 for first, last in zip(at, at[need - 1 :], strict=False))
                if len(at) >= half or (in_a_row and line == 0):
                    runs.add(key)
            pages = [page[inner] if runs & set(found) else page for page, found in zip(pages, keys, strict=True)]
    return ["\n".join(page) for page in pages]


ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
ROMAN = {"x" * tens + ones: 10 * tens + value for tens in range(4) for value, ones in enumerate(ONES)}


def running_keys(line: str, page: int) -> list[str]:
    """What a line has in common with itself on other pages: its text, or that with one number counted from the page."""
    text = " ".join(line.split())
    keys = [text] if sum(map(str.isalnum, text)) >= 3 else []
    for number in islice(re.finditer(r"\d{1,4}|(?<!\w)[ivx]+(?!\w)", text), 4):
        value = int(number[0]) if number[0].isdecimal() else ROMAN.get(number[0])
        if value is not None:
            keys.append(f"{text[: number.start()]}\0{value - page}\0{text[number.end() :]}")
    return keys
