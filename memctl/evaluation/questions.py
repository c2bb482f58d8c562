"""Files of questions with expected results, one JSON object per line, for `memctl eval`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memctl.core.models import Memory, Problem
from memctl.feedback.rules import Feedback
from memctl.transfer import jsontext

FORM = """One JSON object a line:

  {"question": "what does Alice drink?", "gold": ["mem_20250210_1d6cc2404c12"]}
  {"question": "what does Alice drink?", "expect": "Assam tea", "category": "taste"}

question   the words of the query
gold       ids of the memories with the answer: memctl's own, or those they were imported under
expect     instead of gold: a text, or several, that a hit must contain
category   optional, for figures by category"""


@dataclass(frozen=True)
class Question:
    """A question and its expected results: memories by id (`gold`), or any with a text (`expect`).

    `line` is its line in the file; 0 without a file.
    """

    text: str
    gold: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()
    category: str = ""
    line: int = 0


@dataclass(frozen=True)
class Questions:
    """The content of a file: questions, malformed lines, and the number of questions without evidence."""

    questions: tuple[Question, ...]
    problems: tuple[Problem, ...]
    without_evidence: int = 0


def read(data: bytes, path: str) -> Questions:
    """The questions of a file; unknown fields are ignored."""
    questions, problems, empty = [], [], 0
    for entry in jsontext.lines(jsontext.without_mark(data)):
        try:
            question = _question(entry)
        except ValueError as problem:
            problems.append(Problem(path, str(problem), entry.line))
            continue
        if question.gold or question.expect:
            questions.append(question)
        else:
            empty += 1
    return Questions(tuple(questions), tuple(problems), empty)


def _question(entry: jsontext.Entry) -> Question:
    value = entry.value
    if entry.problem:
        raise ValueError(entry.problem)
    if not isinstance(value, dict):
        raise ValueError("must be a JSON object")
    text = value.get("question")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no text in `question`")
    if "gold" not in value and "expect" not in value:
        raise ValueError("has neither `gold` nor `expect`")
    gold, expect = _texts(value, "gold"), _texts(value, "expect")
    if gold and expect:
        raise ValueError("has both `gold` and `expect`: give only one")
    category = value.get("category", "")
    return Question(text, gold, expect, category if isinstance(category, str) else str(category), entry.line)


def _texts(value: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A field that is a text or a list of texts; a number is an imported id."""
    given = value.get(name, [])
    items = given if isinstance(given, list) else [given]
    if not all(isinstance(item, str | int) and not isinstance(item, bool) and str(item).strip() for item in items):
        raise ValueError(f"`{name}` must be a text or a list of texts")
    return tuple(dict.fromkeys(str(item) for item in items))


def judged_good(judgements: Iterable[Feedback], memories: Mapping[str, Memory]) -> list[Question]:
    """Past questions, each with the memories that were judged useful, by the last judgement of each.

    Args:
        judgements: oldest first.
        memories: memories that an answer can contain today, by id.
    """
    scores: dict[str, dict[str, float]] = {}
    for judgement in judgements:
        if judgement.query.strip():
            ratings = scores.setdefault(judgement.query, {})
            ratings.update({memory_id: judgement.score for memory_id in judgement.ids if memory_id in memories})
    good = {text: tuple(name for name, score in ratings.items() if score > 0) for text, ratings in scores.items()}
    return [Question(text, gold, (), memories[gold[0]].category) for text, gold in good.items() if gold]


def written(questions: Sequence[Question]) -> str:
    """The text of a file."""
    lines = [{"question": q.text, "gold": list(q.gold), "category": q.category} for q in questions]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
