"""What sqlglot lets pass and Spark does not: clauses that are empty or out of order, lists without brackets.

It reads many dialects and makes the best of a text; here a slip of the pen would change what a query means.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.text.places import error, of_token

#: Clauses that need something behind them, in the order in which they must stand.
_CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING")
_JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "UNION", "EXCEPT", "INTERSECT")
_STATEMENTS = ("CREATE", "ALTER", "STOP", "DROP", "SPLIT")
_KINDS = ("STREAM", "TABLE", "VIEW", "SINK", "QUERY", "CONTINUOUS", "ONE")
_NEED_CONTENT = ("ON", "WHERE", "GROUP BY", "HAVING", "FROM")


#: Windows as tables, as SQL:2016 has them, and what stands for them here.
_WINDOW_TABLES = {
    "TUMBLE": "write FROM stream … GROUP BY window(time, '1 minute')",
    "HOP": "write FROM stream … GROUP BY window(time, '1 minute', '10 seconds'), the width first",
    "SESSION": "write FROM stream … GROUP BY session_window(time, '5 minutes')",
    "CUMULATE": "write one query for each width, with GROUP BY window(time, '1 hour')",
}


def check(sql: str, tokens: Sequence[Token]) -> None:
    """SqlError at the first clause that is empty or out of order."""
    reached: list[int] = [-1]
    for place, token in enumerate(tokens):
        word = _word(token)
        following = _word(tokens[place + 1]) if place + 1 < len(tokens) else ""
        if word in _STATEMENTS and following in _KINDS:
            raise error(sql, of_token(token), f"'{word}' begins another statement; put ';' before it")
        if word == "MATCH_RECOGNIZE" and following == "(":
            raise error(
                sql,
                of_token(token),
                "MATCH_RECOGNIZE is not supported; for one event behind another join the stream with itself "
                "over a window: s [RANGE 1 MINUTE] AS a JOIN s [RANGE 1 MINUTE] AS b ON … AND a.t < b.t",
            )
        if word in _WINDOW_TABLES and following == "(" and _words(tokens, place - 2, place) == ["TABLE", "("]:
            raise error(sql, of_token(token), f"{word} is no table here; {_WINDOW_TABLES[word]}")
        if token.token_type == TokenType.L_PAREN:
            reached.append(-1)
        elif token.token_type == TokenType.R_PAREN and len(reached) > 1:
            reached.pop()
        elif word in ("UNION", "EXCEPT", "INTERSECT"):
            reached[-1] = -1
        elif word in _CLAUSES and not (word == "FROM" and reached[-1] < 0):
            if _CLAUSES.index(word) < reached[-1]:
                before = _CLAUSES[reached[-1]]
                raise error(sql, of_token(token), f"{word} must stand before {before}")
            reached[-1] = _CLAUSES.index(word)
        if word in _NEED_CONTENT and _ends(tokens, place + 1, following):
            raise error(sql, of_token(token), f"there is nothing behind {word}; complete it or leave it out")
        if word == "GROUP BY" and _words(tokens, place + 1, place + 3) == ["(", ")"]:
            what = "GROUP BY () is not supported; leave it out: an aggregate without keys is over all rows"
            raise error(sql, of_token(token), what)
        if word == "USING" and following != "(":
            raise error(sql, of_token(token), "write the columns of USING in brackets: USING (id)")


def _words(tokens: Sequence[Token], first: int, end: int) -> list[str]:
    return [_word(token) for token in tokens[max(first, 0) : end]]


def _word(token: Token) -> str:
    quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
    return "" if quoted else token.text.upper()


def _ends(tokens: Sequence[Token], place: int, following: str) -> bool:
    """Whether the clause ends before it has begun; `LEFT(…)` is a function."""
    if place >= len(tokens) or tokens[place].token_type == TokenType.R_PAREN:
        return True
    if following in _JOINS:
        return not (place + 1 < len(tokens) and tokens[place + 1].token_type == TokenType.L_PAREN)
    return following in _CLAUSES[2:]
