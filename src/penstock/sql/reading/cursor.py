"""A walk over the tokens of one statement, with errors that say what was expected."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import SqlError, closest
from penstock.sql.reading.grammar import check
from penstock.sql.text.dialect import parse_tokens
from penstock.sql.text.places import Span, error, of_token

_OPEN = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSE = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


class Cursor:
    """The tokens of one statement in their text; `at` is the next one."""

    def __init__(self, sql: str, tokens: list[Token]) -> None:
        self.sql = sql
        self._tokens = tokens
        self._at = 0
        self._subject: Span | None = None

    @property
    def done(self) -> bool:
        """Whether all tokens were read."""
        return self._at >= len(self._tokens)

    @property
    def span(self) -> Span:
        """The whole statement."""
        return Span(self._tokens[0].start, self._tokens[-1].end + 1)

    @property
    def subject(self) -> Span:
        """The name of what the statement is about: the first that was read, or else the whole statement."""
        return self._subject or self.span

    @property
    def here(self) -> Span:
        """The next token, or the end of the statement."""
        if self.done:
            return Span(self._tokens[-1].end + 1, self._tokens[-1].end + 2)
        return of_token(self._tokens[self._at])

    def peek(self, ahead: int = 0) -> str:
        """The next word in upper case, without reading it; empty at the end."""
        place = self._at + ahead
        return self._tokens[place].text.upper() if place < len(self._tokens) else ""

    def take(self, *words: str) -> bool:
        """Reads these words if they come next."""
        if all(self.peek(ahead) == word for ahead, word in enumerate(words)):
            self._at += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        """Reads these words; an error if others come."""
        for word in words:
            if not self.take(word):
                raise self.unexpected(word)

    def one_of(self, what: str, words: tuple[str, ...]) -> str:
        """Reads one of these words."""
        word = self.peek()
        if word not in words:
            near = closest(word, words)
            raise self.error(f"{what} must be one of {', '.join(words)}, not {self._found()}.{near}")
        self._at += 1
        return word

    def name(self, what: str) -> str:
        """Reads a name, in backticks or not."""
        if self.done or not self._is_name(self._tokens[self._at]):
            raise self.unexpected(f"the name of {what}")
        self._subject = self._subject or self.here
        self._at += 1
        text = self._tokens[self._at - 1].text
        if self.peek() == "." and not self.done:
            raise self.error(f"names have one part here; leave out '{text}.'")
        return text

    def _is_name(self, token: Token) -> bool:
        if token.token_type == TokenType.IDENTIFIER:
            return bool(token.text.strip())
        return (
            token.token_type != TokenType.STRING
            and token.text.replace("_", "a").isalnum()
            and (not token.text[0].isdigit())
        )

    def option_name(self) -> str:
        """Reads the name of an option: in quotes, or with dots, as `kafka.bootstrap.servers`."""
        if not self.done and self._tokens[self._at].token_type == TokenType.STRING:
            return self.string("an option")
        if self.done or not self._is_name(self._tokens[self._at]):
            raise self.unexpected("the name of an option")
        parts = [self._tokens[self._at].text]
        self._at += 1
        while self.peek() == "." and self._at + 1 < len(self._tokens):
            parts.append(self._tokens[self._at + 1].text)
            self._at += 2
        return ".".join(parts) if len(parts) > 1 else parts[0].lower()

    def string(self, what: str) -> str:
        """Reads a string in quotes."""
        if self.done or self._tokens[self._at].token_type != TokenType.STRING:
            raise self.unexpected(f"{what} in quotes")
        self._at += 1
        return self._tokens[self._at - 1].text

    def raw(self, *stops: str) -> tuple[str, Span]:
        """Reads up to one of these words outside of brackets: the text and where it stands."""
        return self._text_of(self.tokens_until(*stops))

    def tokens_until(self, *stops: str) -> list[Token]:
        """Reads up to one of these words outside of brackets, or to the end."""
        depth, first = 0, self._at
        while not self.done:
            token = self._tokens[self._at]
            if depth == 0 and (token.text.upper() in stops and token.token_type != TokenType.STRING):
                break
            if token.token_type in _OPEN:
                depth += 1
            elif token.token_type in _CLOSE:
                if depth == 0:
                    break
                depth -= 1
            self._at += 1
        return self._tokens[first : self._at]

    def _text_of(self, tokens: list[Token]) -> tuple[str, Span]:
        if not tokens:
            return "", self.here
        span = Span(tokens[0].start, tokens[-1].end + 1)
        if len(tokens) == 1:
            return tokens[0].text, span
        return self.sql[span.start : span.end], span

    def tree(self, what: str, *stops: str) -> exp.Expr:
        """Reads SQL up to one of these words, or to the end, as a syntax tree."""
        here = self.here
        tokens = self.tokens_until(*stops)
        if not tokens:
            raise error(self.sql, here, f"expected {what}, found {self._found()}")
        return parsed(self.sql, tokens)

    def end(self) -> None:
        """An error if anything is left."""
        if not self.done:
            raise self.error(f"expected the end of the statement, found {self._found()}")

    def error(self, what: str, span: Span | None = None) -> SqlError:
        """An error at the next token."""
        return error(self.sql, span or self.here, what)

    def unexpected(self, wanted: str) -> SqlError:
        """What was wanted and what came."""
        return self.error(f"expected {wanted}, found {self._found()}")

    def _found(self) -> str:
        return "the end of the statement" if self.done else f"'{self._tokens[self._at].text}'"


def parsed(sql: str, tokens: list[Token]) -> exp.Expr:
    """The syntax tree of tokens of that text; SqlError if sqlglot cannot read them."""
    check(sql, tokens)
    try:
        trees = parse_tokens(tokens, sql)
    except ParseError as problem:
        raise _syntax_error(sql, tokens, problem) from None
    except RecursionError:
        raise error(sql, of_token(tokens[0]), "this nests too deeply; divide it with CREATE VIEW") from None
    except (ValueError, TypeError, AttributeError, IndexError, KeyError):
        # sqlglot trips over some texts that are no SQL instead of refusing them.
        raise error(sql, Span(tokens[0].start, tokens[-1].end + 1), "this cannot be read as SQL") from None
    if len(trees) != 1 or trees[0] is None:
        raise error(sql, of_token(tokens[0]), "this cannot be read as SQL")
    return trees[0]


def _syntax_error(sql: str, tokens: list[Token], problem: ParseError) -> SqlError:
    details = problem.errors[0] if problem.errors else {}
    words = str(details.get("description") or problem).rstrip(".")
    line, col = details.get("line"), details.get("col")
    found = next((t for t in tokens if (t.line, t.col) == (line, col)), tokens[-1])
    before = next((one for one, two in pairwise(tokens) if two is found), found)
    hint, meant = _hint(before, found)
    if words.startswith("Required keyword"):
        what = f"the SQL is not complete here: something is missing near '{found.text}'"
        return error(sql, of_token(found), f"{what}.{hint}" if hint else what)
    if words.startswith("Invalid expression / Unexpected token"):
        if meant is not None:
            found = meant
        return error(sql, of_token(found), f"'{found.text}' cannot stand here{'.' if hint else ''}{hint}")
    what = words[0].lower() + words[1:].split(" but got ")[0]
    return error(sql, of_token(found), f"{what.replace('expecting', 'expected')}, found '{found.text}'")


_STATEMENTS = ("CREATE", "ALTER", "STOP", "DROP", "SHOW", "DESCRIBE", "EXPLAIN", "SPLIT", "SET")
_KEYWORDS = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "JOIN", "UNION", "WINDOW", "BETWEEN", "LEFT")
#: What users of other stream databases write, and what stands for it here.
_ELSEWHERE = {
    "EMIT": "A result is emitted when its window closes; leave EMIT out.",
    "WITHIN": "Put a window behind each stream, such as [RANGE 1 HOUR], or bound the time in ON.",
    "TUMBLING": "Write GROUP BY window(time, '1 minute').",
    "HOPPING": "Write GROUP BY window(time, '1 minute', '10 seconds').",
    "WINDOW": "Named windows are not supported; use GROUP BY window(time, '1 minute').",
    "RANGE": "Put the window in brackets: [RANGE 10 SECONDS].",
    "ROWS": "Put the window in brackets: [ROWS 1000].",
    "TOP": "A stream has no first rows; filter with WHERE, or stop the query WITH (stop = '1 hour').",
    "#": "A comment begins with --.",
    "SESSION": "Write GROUP BY session_window(time, '1 minute').",
}


def _hint(before: Token, found: Token) -> tuple[str, Token | None]:
    """What may have been meant: a missing semicolon, another system's word, or a keyword misspelt as this."""
    for token in (found, before):
        word = token.text.upper()
        if word in _ELSEWHERE:
            return f" {_ELSEWHERE[word]}", None
        if word in _STATEMENTS and token is found:
            return " Is a ';' missing before it?", None
        near = [known for known in _KEYWORDS if sorted(known) == sorted(word) or _like(known, word)]
        if near and word not in _KEYWORDS:
            return f" Did you mean '{near[0]}'?", token
    return "", None


def _like(known: str, word: str) -> bool:
    return SequenceMatcher(None, known, word).ratio() > 0.8
