"""Patterns written in a query: of dates and times, of numbers, of binaries.

Spark finds out only when a row is formatted that a pattern is none, and then the query fails; a pattern that
is written out can be read before. `tests/sql/test_patterns_spark.py` asks Spark about every letter.
"""

from __future__ import annotations

import re
from itertools import groupby

from penstock.sql.typing.functions.function import Call, Refusal, Rule
from penstock.sql.typing.functions.rules import literal_text
from penstock.sql.typing.types import BINARY, DATE, STRING, TIMESTAMPS, Type, is_numeric

#: How often each letter may be repeated; not all numbers up to the most for `O`, `V` and `v`.
_MOST = {
    **dict.fromkeys("dhHkKms", 2),
    **dict.fromkeys("aF", 1),
    "D": 3,
    **dict.fromkeys("ELMGQqz", 4),
    **dict.fromkeys("xXZ", 5),
    "y": 6,
    "S": 9,
    "V": 2,
    **dict.fromkeys("Ov", 4),
}
_EXACTLY = {"V": (2,), "O": (1, 4), "v": (1, 4)}
#: Letters that a value can be written with but not read by.
_WRITTEN_ONLY = "EFQq"
#: What people mean by letters that other systems or an older Java had, and Spark has not.
_INSTEAD = {
    "Y": "write yyyy for the year",
    "u": "write E for the day of the week",
    "W": "take the week with extract(WEEK FROM …)",
    "w": "take the week with extract(WEEK FROM …)",
    "e": "write E for the day of the week",
    "c": "write E for the day of the week",
    "I": "write mm for minutes",
    "T": "put letters that mean themselves in quotes: ''T''",
    "n": "write SSS for fractions of a second",
    "N": "write SSS for fractions of a second",
    "A": "write a for AM and PM",
    "P": "write a for AM and PM",
    "f": "write SSS for fractions of a second",
}
_QUOTED = re.compile(r"'[^']*'")


def date_pattern_problem(pattern: str, *, reading: bool) -> str | None:
    """What is wrong with a pattern for dates and times; `reading`: it is for parsing, not for formatting."""
    if pattern.count("'") % 2:
        return "a quote in it is not closed"
    depth = 0
    for letter, run in groupby(_QUOTED.sub(" ", pattern)):
        times = len(list(run))
        if letter in "{}#":
            return f"{letter} is reserved; put it in quotes"
        depth += {"[": times, "]": -times}.get(letter, 0)
        if depth < 0:
            return "] closes nothing"
        if not (letter.isascii() and letter.isalpha()) or letter == "g":
            continue
        if letter not in _MOST or (reading and letter in _WRITTEN_ONLY):
            instead = _INSTEAD.get(letter)
            return f"there is no letter {letter}{' to read by' if letter in _MOST else ''}" + (
                f"; {instead}" if instead else ""
            )
        if times > _MOST[letter] or times not in _EXACTLY.get(letter, (times,)):
            wanted = _EXACTLY.get(letter)
            allowed = (
                " or ".join(letter * n for n in wanted) if wanted else f"at most {letter * _MOST[letter]}"
            )
            return f"{letter * times} is not possible; write {allowed}"
    return None


_GUIDE = "such as 'yyyy-MM-dd HH:mm:ss'"


def dated(result: Rule, *, reading: bool) -> Rule:
    """The rule of a function with a pattern for dates, which only matters for strings if it reads them."""

    def rule(call: Call) -> Type:
        text = literal_text(call.trees[1]) if len(call.trees) > 1 else None
        if text is not None and (not reading or call.types[0] == STRING):
            _refuse_date_pattern(call.name, text, reading=reading)
        return result(call)

    return rule


def _refuse_date_pattern(name: str, text: str, *, reading: bool) -> None:
    problem = date_pattern_problem(text, reading=reading)
    if problem is not None:
        raise Refusal(f"{name} cannot use the pattern '{text}': {problem}; patterns are Spark's, {_GUIDE}", 1)


_NUMBER = re.compile(
    r"(MI|S)?\$?(?P<whole>[09][09G,]*)?(?:[.D](?P<fraction>[09]*))?(PR|MI|S)?", re.IGNORECASE
)


def number_pattern_problem(pattern: str) -> str | None:
    """What is wrong with the format of a number, as `to_number` and `to_char` take it."""
    match = _NUMBER.fullmatch(pattern)
    if match is None or not (match["whole"] or match["fraction"]):
        return "it is written with 0 and 9 for digits, one . or D, and , or G between digits"
    if match[1] and match[4] and match[1].upper() == match[4].upper():
        return f"it has {match[1]} twice; keep one"
    if re.search(r"[G,]([G,]|$)", match["whole"] or "", re.IGNORECASE):
        return "there must be digits on both sides of , and G"
    return None


def numbered(result: Rule) -> Rule:
    """The rule of a function with the format of a number."""

    def rule(call: Call) -> Type:
        text = literal_text(call.trees[1])
        problem = number_pattern_problem(text) if text is not None else None
        if problem is not None:
            raise Refusal(f"{call.name} cannot use the format '{text}': {problem}, such as '999,990.00'", 1)
        return result(call)

    return rule


def to_characters(call: Call) -> Type:
    """`to_char`: the pattern is of what the first argument is."""
    given, text = call.types[0], literal_text(call.trees[1])
    if given in (DATE, *TIMESTAMPS):
        return dated(lambda _: STRING, reading=False)(call)
    if is_numeric(given):
        return numbered(lambda _: STRING)(call)
    if given == BINARY and text is not None and text.lower() not in ("base64", "hex", "utf-8"):
        raise Refusal(f"{call.name} writes a binary as 'base64', 'hex' or 'utf-8', not as '{text}'", 1)
    return STRING


def to_binary(call: Call) -> Type:
    """`to_binary`: how the string is written."""
    text = literal_text(call.trees[1]) if len(call.trees) > 1 else None
    if text is not None and text.lower() not in ("base64", "hex", "utf-8", "utf8"):
        raise Refusal(f"{call.name} reads 'base64', 'hex' or 'utf-8', not '{text}'", 1)
    return BINARY
