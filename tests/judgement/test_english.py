"""English sentences: which say the same, which exclude each other, and that nothing that counts is ever taken for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.judgement.claims import claims
from memctl.judgement.contradiction import clash
from memctl.judgement.sameness import covers, joined


def same(one: str, other: str) -> bool:
    return covers(one, other) and covers(other, one)


def exclude(one: str, other: str) -> bool:
    return any(clash(a, b) for a in claims(one) for b in claims(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She's at the office on Mondays.", "On Mondays she is at the office"),
        ("The gate doesn't open.", "The gate does not open!"),
        ("Rent is $900.", "The rent is 900 dollars."),
        ("The train leaves at 6 pm.", "The train leaves at 18:00"),
        ("It holds twelve eggs.", "It holds 12 eggs."),
        ("Due on 4 May 2026.", "Due May 4, 2026"),
        ("Tom brings bread and cheese.", "Tom brings cheese and bread."),
        ("The sack weighs 3 kg.", "The sack weighs three kilograms."),
        ("Lunch starts at half past twelve.", "Lunch starts at 12:30."),
        ("Ada purchased a bike.", "Ada bought a bike."),
    ],
)
def test_what_says_the_same(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The ward may have visitors.", "The ward may not have visitors."),
        ("Children over 20 kg get 40 mg.", "Children under 20 kg get 25 mg."),
        ("Nurse Adams works nights.", "Nurse Brown works nights."),
        ("Ann lent Bob money.", "Bob lent Ann money."),
        ("Send it from Oslo to Rome.", "Send it from Rome to Oslo."),
        ("Deploy to eu-1.", "Deploy to eu-2."),
        ("He has a cat.", "He has cats."),
        ("She works there.", "She worked there."),
        ("They moved to the US.", "They moved to us."),
        ("Tea and cake.", "Tea or cake."),
        ("Tom's a teacher.", "Tom's teacher."),
        ("Take it before meals.", "Take it after meals."),
        ("Is Bob home?", "Bob is home."),
        ("He lives there.", "He lives."),
        ("The market is on Saturday.", "The market is every Saturday."),
        ("He was ill.", "He's been ill."),
        ("How was it?", "How was it being there?"),
        ("The import job failed.", "The important job failed."),
        ("Agreed, John.", "Agree, John."),
        ("The user keeps a 🐶.", "The user keeps a 🐱."),
        ("A load ≥ 5 is fine.", "A load ≤ 5 is fine."),
        ("The scale reads -5 kg.", "The scale reads 5 kg."),
        ("मैं की किताब", "मैं का किताब"),
        (f"Notes: {'word ' * 90}may", f"Notes: {'word ' * 90}may not"),
    ],
)
def test_what_does_not_say_the_same(one: str, other: str) -> None:
    assert not covers(one, other)
    assert not covers(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Maria trusts her accountant.", "Maria does not trust her accountant."),
        ("Oskar was born in 1984.", "Oskar was born in 1986."),
        ("The web server runs Ubuntu.", "The web server runs Debian."),
        ("Refunds are possible within 14 days.", "Refunds are possible within 30 days."),
        ("Paul smokes.", "Paul does not smoke."),
        ("Paul smokes a pipe.", "Paul gave up smoking."),
        ("The front door is white.", "The front door is green."),
        ("The customer database is encrypted.", "The customer database is not encrypted."),
        ("Ben is left-handed.", "Ben is right-handed."),
        ("The flat has two bedrooms.", "The flat has three bedrooms."),
        ("The user is a vegetarian.", "The user eats steak every Friday."),
        ("Alice prefers tea to coffee.", "Alice prefers coffee to tea."),
        ("Theo is older than Ann.", "Ann is older than Theo."),
        ("The files are kept on tape, not in the cloud.", "The files are in the cloud."),
        ("Dan has no siblings.", "Dan has a brother."),
    ],
)
def test_what_excludes_each_other(one: str, other: str) -> None:
    assert exclude(one, other)
    assert exclude(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice's brother is a doctor.", "Alice's sister is a nurse."),
        ("The staging server runs Debian.", "The production server runs Ubuntu."),
        ("He visited Rome in 2019.", "He visited Oslo in 2023."),
        ("On Monday she swims.", "On Friday she runs."),
        ("The user speaks German.", "The user speaks French."),
        ("Tea is served at 4 pm.", "Dinner is served at 7 pm."),
        ("The old key was brass.", "The new key is steel."),
        ("Stella is older than Marco.", "Marco is younger than Stella."),
        ("If it rains, the door is locked.", "The door is open."),
        ("Bob plans to move to Rome.", "Bob lives in Oslo."),
        ("I smoke.", "Bob does not smoke."),
        ("Ticket 12 is open.", "Ticket 13 is closed."),
    ],
)
def test_what_may_both_be_true(one: str, other: str) -> None:
    assert not exclude(one, other)
    assert not exclude(other, one)


_SUBJECTS = st.sampled_from(["The nurse", "My sister Ann", "Omar", "The backup server", "Every visitor", "Room 12"])
_ACTS = st.sampled_from(["may enter the yard", "needs water", "takes 20 mg of the pill", "waits for the key"])
_ENDS = st.sampled_from(["before noon", "on Fridays", "with a badge", "at 7 pm", "in the old wing", "for Ben"])
_CHANGES = {
    "The nurse": "The doctor",
    "Ann": "Eva",
    "Omar": "Umar",
    "Every": "No",
    "12": "21",
    "may": "must",
    "enter": "leave",
    "needs": "needed",
    "20": "30",
    "mg": "g",
    "the key": "two keys",
    "before": "after",
    "Fridays": "Mondays",
    "with": "without",
    "7 pm": "7 am",
    "old": "new",
    "for": "against",
    "Ben": "Tim",
}


@given(_SUBJECTS, _ACTS, _ENDS, st.data())
def test_one_word_that_counts_keeps_sentences_apart(subject: str, act: str, end: str, data: st.DataObject) -> None:
    sentence = f"{subject} {act} {end}."
    word = data.draw(st.sampled_from([each for each in _CHANGES if each in sentence]))
    changed = sentence.replace(word, _CHANGES[word], 1)

    assert joined([sentence, changed]) == [[0], [1]]


@given(_SUBJECTS, _ACTS, _ENDS)
def test_a_phrase_may_move_and_articles_and_capitals_do_not_count(subject: str, act: str, end: str) -> None:
    sentence = f"{subject} {act} {end}."
    moved = f"{end[0].upper()}{end[1:]}, {subject[0].lower() + subject[1:] if subject[:3] in ('The', 'My ') else subject} {act}"

    assert joined([sentence, moved]) == [[0, 1]]


@given(st.lists(st.text(max_size=40), max_size=6))
def test_every_text_is_in_one_group(texts: list[str]) -> None:
    groups = joined(texts)

    assert sorted(at for group in groups for at in group) == list(range(len(texts)))
    assert joined([*texts, *texts])[: len(groups)] != [] or not texts


@given(st.text(max_size=60))
def test_nothing_excludes_itself(text: str) -> None:
    assert not exclude(text, text)
