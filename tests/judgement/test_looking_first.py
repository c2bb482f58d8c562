"""What is looked at first, so that less is tried: it must change no result."""

import json
from pathlib import Path

from memctl.judgement import lexicon
from memctl.judgement.claims import claims
from memctl.judgement.contradiction import clash
from memctl.judgement.looking import Looking, points
from memctl.judgement.rewriting import Rewritings

CASES = Path(__file__).parents[2] / "bench/judgement/cases/dev/contradictions_en.jsonl"
PAIRS = [(each["a"], each["b"]) for each in map(json.loads, CASES.read_text("utf-8").splitlines())]


def test_a_text_is_rewritten_as_if_every_pattern_were_tried() -> None:
    every, some = (Rewritings(lexicon.rewritings("en"), by_words=each) for each in (False, True))
    texts = [*(text for pair in PAIRS for text in pair), "I never take the train.", "He's 41.", "I can't swim."]
    changed = [text for text in texts if every.rewritten(text) != text]
    assert changed, "no pattern matches anything"
    assert [some.rewritten(text) for text in texts] == [every.rewritten(text) for text in texts]


def test_what_stands_instead_is_rewritten_in_its_turn() -> None:
    two = Rewritings([(r"\bcar\b", "goes by car"), (r"\bgoes by\b", "drives a")], by_words=True)
    assert two.rewritten("she prefers the car") == "she prefers the drives a car"


def test_pairs_that_clash_are_looked_at() -> None:
    """Apart from the few that share too little, where a look forbids a comparison."""
    clashing = passed = 0
    for one, other in ((a, b) for pair in PAIRS for a in claims(pair[0]) for b in claims(pair[1])):
        if clash(one, other):
            clashing += 1
            passed += Looking(points(one)).may_clash(points(other))
    assert clashing > 40
    assert passed / clashing > 0.95
