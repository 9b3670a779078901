"""Evidence bound to sentences: three layers, states, versions, readers, rendering."""

import html
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbconvert.filters import markdown2html

import evidence
import helpers
from evidence import Evidence, check_answer, feedback, footnotes, paragraphs, read_mark, revise, validate_answer

E1 = Evidence("E1", "退款申请应在订单完成后七天内提交。", "policy-v3")
E2 = Evidence("E2", "人工复核在工作日处理，不承诺固定完成时间。", "service-v2")
SOUND = "退款申请应在订单完成后七天内提交 [E1]\n人工复核不承诺固定完成时间 [E2]"
BROKEN = "会员可以免费获得全部服务 [E1]\n处理一定会在两小时内完成 [E2]\n无需提交材料"


# --- Layers 1 and 2


def test_the_two_published_samples():
    assert validate_answer(SOUND, [E1, E2]) == ([(1, ["E1"], 1.0), (2, ["E2"], 0.92)], [])
    assert validate_answer(BROKEN, {"E1": E1, "E2": E2}) == (
        [(1, ["E1"], 0.0), (2, ["E2"], 0.18)],
        ["L1: weak_alignment=0.00", "L2: weak_alignment=0.18", "L3: missing_citation"],
    )


@pytest.mark.parametrize(
    "line, ids, problem",
    [
        ("退款【E1】。", ["E1"], None),
        ("退款［Ｅ１， E2 、E3］．", ["E1", "E2", "E3"], None),
        ("退款 [E1][E2] [E1]", ["E1", "E2"], None),
        ("【退款】须申请 [E1]", ["E1"], None),
        ("退款", [], "missing_citation"),
        ("退款 (E1)", [], "missing_citation"),
        ("退款 []", [], "malformed_citation"),
        ("退款 [E1,]", [], "malformed_citation"),
        ("退款 [E1 E2]", [], "malformed_citation"),
        ("退款 [E1", [], "malformed_citation"),
        ("退款 E1]", [], "malformed_citation"),
        ("退款 [E1] 七天 [E2]", [], "malformed_citation"),
        ("退款 ［Ｅ９］ 七天 [E2]", [], "malformed_citation"),
        ("退款 [sic] 七天 [E1]", ["E1"], None),
        ("退款 [人工复核在工作日处理]", [], "malformed_citation"),
    ],
)
def test_marks_as_models_write_them(line, ids, problem):
    assert read_mark(line, {"E1", "E2"})[1:] == (ids, problem)


def test_each_fault_of_a_line_has_its_name_and_its_number_in_the_text():
    errors = validate_answer("退款 [E9]\n\n。 [E1]\n退款申请 [E1", [E1])[1]
    assert errors == ["L1: unknown_evidence=['E9']", "L3: empty_claim", "L4: malformed_citation"]


@given(st.text(alphabet="[]【】E1, ，退款。\n\u2028\ud800", max_size=40))
def test_no_answer_makes_the_layers_raise(answer):
    checked, errors = validate_answer(answer, [E1])
    lines = {number for number, _, _ in checked} | {int(error[1:].partition(":")[0]) for error in errors}
    assert len(lines) == sum(bool(line.strip()) for line in answer.splitlines())


# --- Layer 3 and the states


def test_the_opposite_in_the_same_words_goes_to_a_person_without_a_model():
    (line,) = check_answer("退款申请不需要在七天内提交，已核对无误 [E1]", [E1])
    values = {name: state.value for name, state in line.states.items()}
    assert line.problem is None and "negation" in line.flags and not line.passed
    assert values == {
        "citation_format": "ok",
        "evidence_exists": "ok",
        "lexical_alignment": "ok",
        "semantic_relation": "not checked",
        "source_version": "not checked",
        "human_review": "needed",
    }
    assert all(state.reason for state in line.states.values())


def test_three_relations_come_back_for_one_request_a_line(serve, tmp_path):
    server = serve()
    passages = [Evidence(f"E{n}", f"退款申请应在订单完成后{n}天内提交。", "policy-v3") for n in range(1, 21)]
    answer = "\n".join(f"退款申请应在{item.evidence_id[1:]}天内提交 [{item.evidence_id}]" for item in passages)
    answer += "\n无需提交材料\n处理一定会在两小时内完成 [E1]\n退款申请应在1天或2天内提交 [E1,E2]"
    options = {"model": "jev-latest", "endpoint": server.url, "cache": tmp_path / "c.json"}

    lines = check_answer(answer, passages, helpers.make_ask(api_key=server.key, **options), {"policy": "policy-v3"})
    relations = [line.states["semantic_relation"].value for line in lines]
    assert server.requests == 21
    assert set(relations) == {"supported", "contradicted", "insufficient", "not checked"}
    assert [n for n, value in enumerate(relations, 1) if value == "not checked"] == [21, 22]
    for line in lines:
        sure = line.answer and line.answer["confidence"] >= 0.8
        assert line.passed == (line.states["semantic_relation"].value == "supported" and sure and not line.flags)

    # The next version changes one passage: only the lines that cite it cost a request.
    newer = [replace(item, source="policy-v4") for item in passages]
    newer[4] = replace(newer[4], text="退款申请应在订单完成后五个工作日内提交。")
    check_answer(answer, newer, helpers.make_ask(api_key=server.key, **options))
    assert server.requests == 22

    # Without key, what is in the cache replays and the rest is not checked.
    replayed = check_answer("退款申请在1天内提交 [E1]\n" + answer, passages, helpers.make_ask(api_key="", **options))
    assert replayed[0].states["semantic_relation"].value == "not checked"
    assert "no key" in replayed[0].states["semantic_relation"].reason
    assert [line.states["semantic_relation"].value for line in replayed[1:]] == relations
    assert server.requests == 22


def test_an_outdated_source_needs_a_person():
    (line,) = check_answer(SOUND.partition("\n")[0], [E1], current={"policy": "policy-v4"})
    assert line.states["source_version"].value == "outdated"
    assert [note.reason for note in feedback([line])] == ["outdated"]


def test_a_person_can_let_a_line_pass_but_not_one_without_evidence():
    bound, unbound = check_answer("退款申请应在七天内提交 [E1]\n退款申请 [E9]", [E1])
    assert evidence.reviewed(bound, True, "lin").passed
    assert not evidence.reviewed(bound, False, "lin").passed
    with pytest.raises(ValueError, match="L2 .*E9"):
        evidence.reviewed(unbound, True, "lin")


# --- Feedback


def test_feedback_names_line_reason_and_mend():
    notes = feedback(check_answer(BROKEN, [E1, E2]))
    assert [(note.number, note.reason) for note in notes] == [
        (1, "weak_alignment=0.00"),
        (1, "absolute (全部, 免费)"),
        (2, "weak_alignment=0.18"),
        (2, "numbers (两小时)"),
        (2, "absolute (一定)"),
        (3, "missing_citation"),
    ]
    assert str(notes[1]) == "L1: absolute (全部, 免费): drop the promise, or find evidence for it"
    assert str(notes[5]).startswith("L3: missing_citation: end the line")


def test_rewriting_ends_after_the_rounds_and_then_a_person_gets_it():
    told = []

    def stubborn(answer, notes):
        told.append([note.number for note in notes])
        return answer

    answer, lines = revise(f"{SOUND}\n无需提交材料", [E1, E2], stubborn, rounds=2)
    assert told == [[3], [3]]
    assert lines[2].states["human_review"].reason == "still failing after 2 rounds; missing_citation"
    assert revise(f"{SOUND}\n无需提交材料", [E1, E2], lambda answer, notes: SOUND)[0] == SOUND


# --- Versions


def test_a_new_version_names_exactly_the_affected_lines_of_1000_answers():
    old = [Evidence(f"P{n}", f"规定第{n}项的内容。", "policy-v3", position=n) for n in range(50)]
    other = [Evidence(f"S{n}", f"服务第{n}项的内容。", "service-v2") for n in range(50)]
    new = [replace(item, source="policy-v4", position=item.position + 1) for item in old if item.evidence_id != "P7"]
    new[3] = replace(new[3], text="规定第3项改了。")
    new[4] = replace(new[4], evidence_id="P400")  # the same words under another ID
    stored = []
    for n in range(1000):
        cited = [old[n % 50], other[n % 50], old[(n + 1) % 50]]
        answer = "\n".join(f"{item.text[:-1]} [{item.evidence_id}]" for item in cited)
        lines = check_answer(answer, old + other)
        stored += evidence.records(f"A{n}", lines, old + other, "2026-10-01")
    made_from_v4 = evidence.records("A-new", check_answer("规定第3项改了 [P3]", new), new, "2026-10-02")

    affected = evidence.to_recheck(stored + made_from_v4, "policy", old + other, new)
    assert evidence.changed_evidence("policy", old, new) == {"P3": "changed", "P7": "removed"}
    expected = {(f"A{n}", 1) for n in range(1000) if n % 50 in (3, 7)}
    expected |= {(f"A{n}", 3) for n in range(1000) if (n + 1) % 50 in (3, 7)}
    assert {(record.answer_id, record.line) for record in affected} == expected and len(affected) == 80
    assert {record.review_status for record in affected} == {"to be re-checked"}
    assert evidence.from_jsonl(evidence.to_jsonl(stored[:5]), evidence.Record) == stored[:5]


# --- JSON Lines


@given(
    st.lists(
        st.builds(Evidence, st.just("E1"), st.text(), st.just("a-v1"), readers=st.none() | st.frozensets(st.text()))
    )
)
def test_evidence_survives_json_lines(items):
    assert evidence.from_jsonl(evidence.to_jsonl(items)) == items


def test_evidence_that_cannot_be_used_says_why():
    with pytest.raises(ValueError, match="line 2 .*E 1"):
        evidence.from_jsonl('\n{"evidence_id": "E 1", "text": "", "source": "a-v1"}')
    with pytest.raises(ValueError, match="line 1 is no Evidence"):
        evidence.from_jsonl("[1]")
    with pytest.raises(ValueError, match="E1 comes twice"):
        validate_answer("a [E1]", [E1, replace(E1, source="policy-v4")])
    with pytest.raises(ValueError, match="readers"):
        Evidence("E1", "", "a-v1", readers="anna")


# --- Readers


def test_a_reader_without_rights_sees_and_logs_nothing_of_the_protected_text():
    protected = replace(E2, readers=frozenset({"service"}))
    passages = [E1, protected]
    answer = "\n".join(
        [
            SOUND,
            "人工复核在工作日处理 [人工复核在工作日处理]",
            "退款申请应在订单完成后提交，人工复核不承诺固定完成时间 [E1]",  # the words of E2 under the mark of E1
            "退款申请应在订单完成后提交，人工复核 不承诺 固定完成 时间 [E1]",
            "退款申请应在订单完成后提交，人工复核不承\u200b诺固\u200b定完\u200b成时间 [E1]",
        ]
    )
    lines = check_answer(answer, passages)
    approved = [evidence.reviewed(line, line.problem is None, "lin") for line in lines]
    log = json.dumps([evidence.log_entry("A1", line, passages) for line in lines], ensure_ascii=False)

    def leaks(text):
        seen = text + "".join(text.split())
        return [protected.text[i : i + 6] for i in range(len(protected.text) - 5) if protected.text[i : i + 6] in seen]

    for reader in ("", "anna", ["anna", "sales"]):
        for written in (footnotes(approved, passages, reader), paragraphs(approved, passages, reader)):
            assert "退款申请应在订单完成后七天内提交" in written and written.count("[…") == 4
            assert not leaks(html.unescape(written).replace("\\", "")) and "service" not in written
    assert not leaks(log) and "E2" in log and "service-v2" in log
    assert not leaks("".join(validate_answer(answer, passages)[1]))
    assert leaks(footnotes(approved, passages, ["anna", "service"]))


# --- Rendering


def test_footnotes_number_the_sources_and_hold_only_what_passed():
    lines = check_answer(f"{SOUND}\n{BROKEN}\n退款申请应在七天内提交，人工复核在工作日处理 [E2,E1]", [E1, E2])
    lines = [evidence.reviewed(line, line.number != 2 and line.problem is None, "lin") for line in lines]
    assert footnotes(lines, [E1, E2]) == (
        "退款申请应在订单完成后七天内提交 \\[1\\]\n\n"
        "退款申请应在七天内提交，人工复核在工作日处理 \\[2\\]\\[1\\]\n\n---\n\n"
        "\\[1\\] policy-v3, E1\n\n\\[2\\] service-v2, E2\n"
    )
    assert paragraphs(lines, [E1, E2]) == (
        "退款申请应在订单完成后七天内提交\n\n退款申请应在七天内提交，人工复核在工作日处理\n"
    )


MARKUP = st.sampled_from(
    list("<>&$\\`*_{}[]()#+-.!|~:@=1a 退\n\t\x1b\u202e") + ["www.", "http://", "&#36;", "1. ", "```"]
)


@given(st.lists(MARKUP, max_size=12).map("".join))
def test_a_notebook_shows_rendered_text_as_it_is(text):
    rendered = markdown2html(evidence.as_text(text))
    shown = "".join(c for c in " ".join(text.split()) if c.isprintable()).strip()
    assert rendered.count("<") == (2 if shown else 0) and "math" not in rendered
    assert html.unescape(re.sub(r"</?p>", "", rendered)).strip() == shown
