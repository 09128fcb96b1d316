"""The dialect: Spark SQL as sqlglot reads it, with windows behind the streams of a FROM clause.

Functions are kept as they were written (`exp.Anonymous`, with name and arguments): what comes out as text
is what went in, and `functions` alone says what a function means. sqlglot would translate many of them to
functions of its own and back, which only one engine does not need.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.functions import is_identity

#: Functions with a syntax of their own; all others are `name(argument, …)`.
_OWN_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "TRIM")

#: Where the text of a window stands in a table or subquery of a FROM clause: a tuple of its first and its
#: last character, brackets included.
WINDOW_SUFFIX = "window_suffix"

#: Set for a string in double quotes, which other systems take for a name.
DOUBLE_QUOTED = "double_quoted"


_BITS = (
    (TokenType.PIPE, exp.BitwiseOr),
    (TokenType.CARET, exp.BitwiseXor),
    (TokenType.AMP, exp.BitwiseAnd),
)


_WITHOUT_PLACE = (
    exp.Null,
    exp.Boolean,
    exp.Interval,
    exp.HexString,
    exp.RawString,
    exp.Case,
    exp.Parameter,
    exp.Placeholder,
)


class Dialect(Spark):
    """Spark's dialect with our few extensions."""

    class Tokenizer(Spark.Tokenizer):
        """`window` is a function and a column here, not a clause; two quotes are one, as in Spark 4."""

        KEYWORDS = {word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if word != "WINDOW"}  # noqa: RUF012
        COMMANDS = set()  # noqa: RUF012 (SHOW and its kin are tokens like all others)
        STRING_ESCAPES = [*Spark.Tokenizer.STRING_ESCAPES, "'"]  # noqa: RUF012

    class Parser(SparkParser):
        """Reads SELECT and expressions; statements are read by `reader`."""

        STRICT_CAST = True
        ARRAY_CONSTRUCTORS: ClassVar = {}
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {
            **{name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name in _OWN_SYNTAX},
            "POSITION": lambda self: self._parse_worded("position", ("IN",)),
            "SUBSTRING": lambda self: self._parse_worded("substring", ("FROM", "FOR")),
            "SUBSTR": lambda self: self._parse_worded("substr", ("FROM", "FOR")),
            "OVERLAY": lambda self: self._parse_worded("overlay", ("PLACING", "FROM", "FOR")),
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")
        }

        TERM: ClassVar = {**SparkParser.TERM, TokenType.DPIPE: exp.DPipe}

        def _parse_unary(self) -> exp.Expr | None:
            """sqlglot does not say where these stand, and an error about one would have no place."""
            first = self._curr
            tree = super()._parse_unary()
            if isinstance(tree, exp.Literal) and tree.is_string and self.sql[first.start] == '"':
                tree.meta[DOUBLE_QUOTED] = True
            if isinstance(tree, _WITHOUT_PLACE) and "start" not in tree.meta:
                tree.meta["start"], tree.meta["end"] = first.start, self._prev.end
            return tree

        def _parse_worded(self, name: str, words: tuple[str, ...]) -> exp.Expr:
            """`substring(s FROM 2 FOR 3)`: words in the places of commas; commas do as well."""
            arguments = [self._parse_bitwise()]
            while self._match(TokenType.COMMA) or any(self._match_text_seq(word) for word in words):
                arguments.append(self._parse_bitwise())
            return self.expression(exp.Anonymous(this=name, expressions=arguments))

        def _parse_bitwise(self) -> exp.Expr | None:
            """Operators that bind less than `+`, in Spark's order: shifts, then `&`, then `^`, then `|`."""
            return self._parse_bits(0)

        def _parse_bits(self, level: int) -> exp.Expr | None:
            below = self._parse_shift if level + 1 == len(_BITS) else partial(self._parse_bits, level + 1)
            token, kind = _BITS[level]
            this = below()
            while self._match(token):
                this = self.expression(kind(this=this, expression=below()))
            return this

        def _parse_shift(self) -> exp.Expr | None:
            this = self._parse_term()
            while True:
                if self._match_pair(TokenType.LT, TokenType.LT):
                    this = self.expression(exp.BitwiseLeftShift(this=this, expression=self._parse_term()))
                elif self._match_pair(TokenType.GT, TokenType.GT):
                    this = self.expression(exp.BitwiseRightShift(this=this, expression=self._parse_term()))
                else:
                    return this

        def _parse_between(self, this: exp.Expr | None) -> exp.Between:
            low = self._parse_bitwise()
            if not self._match(TokenType.AND):
                self.raise_error("Expected AND")
            return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

        def _parse_csv(self, parse_method: Any, sep: TokenType = TokenType.COMMA) -> list[Any]:
            """A list in which nothing is missing between two commas; sqlglot would drop the comma."""
            items = [parse_method()]
            while self._match(sep):
                if items[-1] is None:
                    self.raise_error("Expected something before ','", self._prev)
                items.append(parse_method())
                if items[-1] is None:
                    self.raise_error("Expected something behind ','")
            return [item for item in items if item is not None]

        def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
            """A bracket behind a table is its window; elsewhere it picks an element, as in Spark."""
            if isinstance(this, exp.Table):
                return this
            return super()._parse_bracket(this)

        def _parse_table(self, *args: object, **options: object) -> exp.Expr | None:
            """A table or subquery, with a window before or behind its alias."""
            table = super()._parse_table(*args, **options)  # type: ignore[arg-type]
            if table is not None and self._window_suffix(table) and not table.args.get("alias"):
                alias = self._parse_table_alias()
                if alias:
                    table.set("alias", alias)
            if table is not None and options.get("joins"):
                for join in self._parse_joins():
                    table.append("joins", join)
            return table

        def _parse_subquery(self, this: exp.Expr | None, parse_alias: bool = True) -> exp.Subquery | None:
            subquery = super()._parse_subquery(this, parse_alias)
            windowed = subquery is not None and parse_alias and self._window_suffix(subquery)
            if subquery is not None and windowed and not subquery.args.get("alias"):
                subquery.set("alias", self._parse_table_alias())
            return subquery

        def _window_suffix(self, table: exp.Expr) -> bool:
            if not self._match(TokenType.L_BRACKET):
                return False
            first = self._prev.start
            while self._curr and not self._match(TokenType.R_BRACKET):
                self._advance()
            if self._prev.token_type != TokenType.R_BRACKET:
                self.raise_error("Expected ] behind the window")
            table.meta[WINDOW_SUFFIX] = (first, self._prev.end)
            return True

    class Generator(SparkGenerator):
        """The identity of a function in Python stays as it is: modules and fields have capital letters."""

        def normalize_func(self, name: str) -> str:
            return name if is_identity(name) else super().normalize_func(name)


_dialect = Dialect()


def tokenize(sql: str) -> list[Token]:
    """The tokens of a text, each with its place."""
    return _dialect.tokenize(sql)


def parse_tokens(tokens: list[Token], sql: str) -> list[exp.Expr | None]:
    """The syntax trees of tokens of that text; sqlglot's ParseError at the first mistake."""
    return _dialect.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, sql)


@lru_cache(maxsize=20_000)
def _parsed(text: str) -> exp.Expr:
    (tree,) = parse_tokens(tokenize(text), text)
    assert tree is not None
    return tree


def parse_expression(text: str) -> exp.Expr:
    """An expression that Penstock wrote itself, as a tree the caller may change."""
    return _parsed(text).copy()


def render(tree: exp.Expr) -> str:
    """Spark SQL on one line."""
    return _dialect.generate(tree, normalize_functions="lower", comments=False)
