"""Text into statements: what stands around a SELECT is read here, the SELECT itself by sqlglot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType

from penstock.errors import SqlError, closest
from penstock.model.qos import QoS
from penstock.model.schema import Field, Schema
from penstock.sql.cursor import Cursor, parsed
from penstock.sql.dialect import tokenize
from penstock.sql.places import Span, error, of_token
from penstock.sql.quantities import per_second, seconds, share, size_bytes
from penstock.sql.statements import (
    AlterQuery,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Kind,
    Moment,
    SetPolicy,
    Show,
    SplitStream,
    Statement,
    StopQuery,
)

_KINDS: Mapping[str, Kind] = {
    "STREAM": "stream",
    "TABLE": "table",
    "VIEW": "view",
    "QUERY": "query",
    "SINK": "sink",
}
SHOWN = ("STREAMS", "TABLES", "VIEWS", "QUERIES", "SINKS", "POLICIES")

#: The options of a query: the QoS field each sets, how its text is read, and what it may be.
_WISHES: Mapping[str, tuple[str, Callable[[str], float], Callable[[float], bool], str]] = {
    "latency": ("latency_s", seconds, lambda value: value > 0, "more than 0"),
    "tolerance": ("tolerance", share, lambda value: 0 <= value < 1, "at least 0% and less than 100%"),
    "memory": ("memory_bytes", size_bytes, lambda value: value > 0, "more than 0"),
    "throughput": ("throughput_per_s", per_second, lambda value: value > 0, "more than 0"),
    "freshness": ("freshness", share, lambda value: 0 < value <= 1, "more than 0% and at most 100%"),
    "weight": ("weight", share, lambda value: 0 < value <= 1, "more than 0 and at most 1"),
}
_MOMENTS = ("start", "stop")


def read(sql: str) -> Iterator[Statement]:
    """The statements of a text, one after the other; SqlError at the first that cannot be read."""
    for tokens in _statements(sql):
        yield _statement(Cursor(sql, tokens))


def read_one(sql: str) -> Statement:
    """The one statement of a text."""
    found = _statements(sql)
    if len(found) != 1:
        what = "there is no statement" if not found else "there are several statements; give one at a time"
        raise error(sql, Span(0, 1) if not found else of_token(found[1][0]), what)
    return _statement(Cursor(sql, found[0]))


def _statements(sql: str) -> list[list[Token]]:
    try:
        tokens = tokenize(sql)
    except (TokenError, ParseError) as problem:
        raise _token_error(sql, problem) from None
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def _token_error(sql: str, problem: Exception) -> SqlError:
    words = str(problem)
    if "Missing" in words:
        sign = words.split("Missing ", 1)[1].split(" ", 1)[0]
        # sqlglot names the line the text begins in; the opening sign is more help.
        place = max(sql.rfind(sign), 0)
        return error(sql, Span(place, place + 1), f"{sign} is never closed")
    return error(sql, Span(len(sql), len(sql) + 1), "the text ends inside a string, a name or a comment")


def _statement(at: Cursor) -> Statement:
    first = at.peek()
    match first:
        case "CREATE":
            at.take("CREATE")
            return _create(at)
        case "SELECT" | "WITH" | "FROM" | "(":
            raise at.error(
                "a SELECT needs a name to run under; write CREATE CONTINUOUS QUERY name AS SELECT …, "
                "or EXPLAIN SELECT … to see its plan"
            )
        case "SPLIT":
            at.take("SPLIT")
            return _split(at)
        case "ALTER":
            at.take("ALTER")
            return _alter(at)
        case "STOP":
            at.expect("STOP", "QUERY")
            stop = StopQuery(at.span, at.name("the query"), at.take("AND", "DRAIN"))
            at.end()
            return stop
        case "DROP":
            at.take("DROP")
            return _drop(at)
        case "SHOW":
            at.take("SHOW")
            show = Show(at.span, at.one_of("what to show", SHOWN).lower())
            at.end()
            return show
        case "DESCRIBE" | "DESC":
            at.take(first)
            for kind in _KINDS:
                if at.peek(1):
                    at.take(kind)
            describe = Describe(at.span, at.name("what to describe"))
            at.end()
            return describe
        case "EXPLAIN":
            at.take("EXPLAIN")
            return _explain(at)
        case "SET":
            at.take("SET")
            return _set(at)
    known = ("CREATE", "ALTER", "STOP", "DROP", "SHOW", "DESCRIBE", "EXPLAIN", "SET", "SPLIT")
    raise at.error(
        f"no statement begins with '{first}'; use one of {', '.join(known)}.{closest(first, known)}"
    )


def _create(at: Cursor) -> Statement:
    if at.take("OR", "REPLACE"):
        raise at.error("OR REPLACE is not supported; DROP it first, so that nothing that uses it is lost unseen")
    match at.peek():
        case "STREAM":
            at.take("STREAM")
            return _create_stream(at)
        case "TABLE":
            at.take("TABLE")
            return _create_table(at)
        case "VIEW":
            at.take("VIEW")
            return _create_view(at)
        case "SINK":
            at.take("SINK")
            return _create_sink(at)
        case "CONTINUOUS" | "ONE":
            return _create_query(at)
        case "QUERY":
            raise at.error("say which: CREATE CONTINUOUS QUERY or CREATE ONE-TIME QUERY")
    words = ("STREAM", "TABLE", "VIEW", "SINK", "CONTINUOUS QUERY", "ONE-TIME QUERY")
    raise at.error(f"CREATE takes {', '.join(words)}, not '{at.peek()}'.{closest(at.peek(), words)}")


def _if_not_exists(at: Cursor) -> bool:
    return at.take("IF", "NOT", "EXISTS")


def _create_stream(at: Cursor) -> CreateStream:
    quiet, name = _if_not_exists(at), at.name("the stream")
    fields, watermark = _columns(at, "stream", name)
    format_, options = _format(at)
    at.end()
    time, delay_s = watermark or (None, 0.0)
    return CreateStream(at.span, name, Schema(fields), time, delay_s, format_, options, quiet)


def _create_table(at: Cursor) -> CreateTable:
    quiet, name = _if_not_exists(at), at.name("the table")
    here = at.here
    fields, watermark = _columns(at, "table", name)
    if watermark is not None:
        raise at.error("a stored table has no watermark; only a stream has one", here)
    format_, options = _format(at)
    at.end()
    return CreateTable(at.span, name, Schema(fields), format_, options, quiet)


def _columns(at: Cursor, kind: str, name: str) -> tuple[tuple[Field, ...], tuple[str, float] | None]:
    if not at.take("("):
        raise at.error(f"{kind} '{name}' has no columns; write CREATE {kind.upper()} {name} (column TYPE, …)")
    fields: list[Field] = []
    watermark: tuple[str, float] | None = None
    while True:
        here = at.here
        if at.take("WATERMARK"):
            if watermark is not None:
                raise at.error("there is a watermark already; a stream has one", here)
            watermark = _watermark(at, fields)
        else:
            column = at.name("a column")
            if any(column.lower() == field.name.lower() for field in fields):
                raise at.error(f"there are two columns named '{column}'; rename one", here)
            fields.append(Field(column, _type(at)))
        if not at.take(","):
            break
    if not at.take(")"):
        raise at.unexpected("',' or ')'")
    if not fields:
        raise at.error(f"{kind} '{name}' has no columns; name at least one")
    return tuple(fields), watermark


def _type(at: Cursor) -> str:
    tokens = at.tokens_until(",")
    while sum(token.text.count("<") - token.text.count(">") for token in tokens) > 0 and at.take(","):
        tokens += [*tokens[-1:], *at.tokens_until(",")]  # a comma inside map<…>
    if not tokens:
        raise at.unexpected("a type")
    comment = next((i for i, t in enumerate(tokens) if t.text.upper() in ("COMMENT", "NOT")), len(tokens))
    text = at.sql[tokens[0].start : tokens[max(comment, 1) - 1].end + 1]
    span = Span(tokens[0].start, tokens[max(comment, 1) - 1].end + 1)
    try:
        data_type = exp.DataType.build(text, dialect="spark")
    except (ParseError, ValueError):
        data_type = None
    shown = data_type.sql("spark").lower().replace(", ", ",").replace(": ", ":") if data_type else ""
    if data_type is None or any(part.this in _NO_TYPES for part in data_type.find_all(exp.DataType)):
        near = closest(text.lower(), _TYPES)
        raise error(at.sql, span, f"'{text}' is no type; use one of {', '.join(_TYPES)}.{near}")
    return "decimal(10,0)" if shown == "decimal" else shown


_TYPES = (
    "boolean tinyint smallint int bigint float double decimal(p,s) string binary date timestamp "
    "timestamp_ntz array<…> map<…> struct<…>"
).split()
_NO_TYPES = {
    kind
    for kind in exp.DataType.Type
    if kind.value.lower()
    not in {
        *(name.split("<")[0].split("(")[0] for name in _TYPES),
        *("varchar", "text", "char", "timestamptz", "timestampltz", "timestampntz", "list", "object", "varbinary"),
    }
}


def _watermark(at: Cursor, fields: list[Field]) -> tuple[str, float]:
    at.expect("FOR")
    here = at.here
    column = at.name("the column with the time")
    field = next((one for one in fields if one.name.lower() == column.lower()), None)
    if field is None:
        known = [one.name for one in fields]
        raise at.error(
            f"there is no column '{column}' before the watermark; name the column with the time."
            f"{closest(column, known)}",
            here,
        )
    if field.type not in ("timestamp", "timestamp_ntz"):
        raise at.error(f"column '{column}' is a {field.type}; a watermark needs a timestamp", here)
    if not at.take("AS"):
        return field.name, 0.0
    here = at.here
    tree = at.tree("the watermark", ",")
    wrong = at.error(
        f"a watermark is the time less a constant: {column} - INTERVAL 5 SECONDS, or {column}", here
    )
    while isinstance(tree, exp.Paren):
        tree = tree.this
    delay: exp.Expr | None = None
    if isinstance(tree, exp.Sub):
        tree, delay = tree.this, tree.expression
    if not isinstance(tree, exp.Column) or tree.name.lower() != column.lower():
        raise wrong
    if delay is None:
        return field.name, 0.0
    if not isinstance(delay, exp.Interval):
        raise wrong
    try:
        return field.name, interval_seconds(delay)
    except ValueError as problem:
        raise at.error(str(problem), here) from None


def interval_seconds(interval: exp.Interval) -> float:
    """The length of an INTERVAL literal; ValueError if it has no fixed one."""
    unit = interval.args.get("unit")
    value = interval.this.name if interval.this is not None else ""
    return seconds(f"{value} {unit.name if unit is not None else ''}")


def _format(at: Cursor) -> tuple[str, Mapping[str, str]]:
    if not at.take("USING"):
        raise at.unexpected("USING and a format, such as USING csv")
    format_ = at.name("the format").lower()
    return format_, _options(at) if at.take("OPTIONS") else {}


def _options(at: Cursor) -> Mapping[str, str]:
    """`(path 'x', rate = 100)`, both ways."""
    options: dict[str, str] = {}
    for name, here in _names_in_parentheses(at, "an option"):
        if name in options:
            raise at.error(f"option '{name}' is given twice", here)
        at.take("=")
        value, _ = at.raw(",")
        if not value:
            raise at.unexpected(f"a value for '{name}'")
        options[name] = value
    return options


def _names_in_parentheses(at: Cursor, what: str) -> Iterator[tuple[str, Span]]:
    at.expect("(")
    if at.take(")"):
        return
    while True:
        here = at.here
        name = at.name(what).lower()
        yield name, here
        if not at.take(","):
            break
    if not at.take(")"):
        raise at.unexpected("',' or ')'")


def _create_query(at: Cursor) -> CreateQuery:
    one_time = at.peek() == "ONE"
    at.expect(*(("ONE", "-", "TIME", "QUERY") if one_time else ("CONTINUOUS", "QUERY")))
    quiet, name = _if_not_exists(at), at.name("the query")
    wishes: dict[str, float | None] = {}
    moments: dict[str, Moment] = {}
    if at.take("WITH"):
        for option, here in _names_in_parentheses(at, "an option"):
            if option in moments or (option in _WISHES and _WISHES[option][0] in wishes):
                raise at.error(f"'{option}' is given twice", here)
            if option in _MOMENTS:
                moments[option] = _moment(at, option)
            else:
                field, value = _wish(at, option, here, (*_WISHES, *_MOMENTS))
                wishes[field] = value
    at.expect("AS")
    select = _select(at)
    qos = QoS(**{field: value for field, value in wishes.items() if value is not None})
    _check_moments(at, moments)
    return CreateQuery(
        at.span, name, select, qos, moments.get("start"), moments.get("stop"), one_time, quiet
    )


def _wish(at: Cursor, option: str, here: Span, known: tuple[str, ...]) -> tuple[str, float | None]:
    if option not in _WISHES:
        raise at.error(
            f"a query has no option '{option}'; use {', '.join(known)}.{closest(option, known)}", here
        )
    at.expect("=")
    field, read_value, holds, words = _WISHES[option]
    text, span = at.raw(",")
    if not text:
        raise at.unexpected(f"a value for '{option}'")
    if text.upper() in ("NULL", "NONE") and field not in ("weight", "tolerance"):
        return field, None
    try:
        value = read_value(text)
    except ValueError as problem:
        raise at.error(f"{option}: {problem}", span) from None
    if not holds(value):
        raise at.error(f"{option} is {text}; it must be {words}", span)
    return field, value


def _moment(at: Cursor, option: str) -> Moment:
    at.expect("=")
    text, span = at.raw(",")
    stripped = text.strip().removeprefix("'").removesuffix("'").strip()
    sign = -1.0 if stripped.startswith("-") else 1.0
    try:
        return Moment(sign * seconds(stripped.lstrip("+- ").strip()), relative=True)
    except ValueError:
        pass
    try:
        when = datetime.fromisoformat(stripped)
    except ValueError:
        raise at.error(
            f"{option}: '{stripped}' is no time; write one like '-10 min', '5 min' or '2026-11-16 08:00:00'", span
        ) from None
    return Moment((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp(), relative=False)


def _check_moments(at: Cursor, moments: Mapping[str, Moment]) -> None:
    start, stop = moments.get("start"), moments.get("stop")
    if stop is not None and stop.relative and stop.seconds <= 0:
        raise at.error("stop lies in the past; write how long the query shall run, such as stop = '1 hour'", at.span)
    if start and stop and start.relative == stop.relative and stop.seconds <= start.seconds:
        raise at.error("the query stops before it starts; let stop be later than start", at.span)


def _select(at: Cursor) -> exp.Expr:
    here = at.here
    tree = at.tree("SELECT")
    at.end()
    if not isinstance(tree, exp.Query):
        raise at.error("expected SELECT", here)
    return tree


def _create_view(at: Cursor) -> CreateView:
    quiet, name = _if_not_exists(at), at.name("the view")
    at.expect("AS")
    return CreateView(at.span, name, _select(at), quiet)


def _create_sink(at: Cursor) -> CreateSink:
    quiet, name = _if_not_exists(at), at.name("the sink")
    at.expect("FROM")
    query = at.name("the query")
    format_, options = _format(at)
    at.end()
    return CreateSink(at.span, name, query, format_, options, quiet)


def _split(at: Cursor) -> SplitStream:
    at.expect("STREAM")
    source = at.name("the stream")
    at.expect("INTO")
    outputs: list[tuple[str, exp.Expr | None]] = []
    while True:
        here = at.here
        name = at.name("a part")
        if any(name.lower() == other.lower() for other, _ in outputs):
            raise at.error(f"there are two parts named '{name}'; rename one", here)
        if outputs and outputs[-1][1] is None:
            raise at.error("OTHERWISE must come last", here)
        if at.take("OTHERWISE"):
            outputs.append((name, None))
        elif at.take("WHERE"):
            outputs.append((name, at.tree("a condition", ",")))
        else:
            raise at.unexpected("WHERE and a condition, or OTHERWISE")
        if not at.take(","):
            break
    at.end()
    if outputs[0][1] is None:
        raise at.error("OTHERWISE needs parts with conditions before it", at.span)
    return SplitStream(at.span, source, tuple(outputs))


def _alter(at: Cursor) -> AlterQuery:
    if at.peek() in ("STREAM", "TABLE", "VIEW", "SINK"):
        raise at.error("only a query can be altered; drop this and create it anew")
    at.expect("QUERY")
    name = at.name("the query")
    at.expect("SET")
    changes: dict[str, float | None] = {}
    for option, here in _names_in_parentheses(at, "an option"):
        if option in _MOMENTS:
            raise at.error(f"'{option}' is settled when a query is created; stop it and create another", here)
        field, value = _wish(at, option, here, tuple(_WISHES))
        if field in changes:
            raise at.error(f"'{option}' is given twice", here)
        changes[field] = value
    at.end()
    if not changes:
        raise at.error("nothing to set; write SET (weight = 0.5)", at.span)
    return AlterQuery(at.span, name, changes)


def _drop(at: Cursor) -> Drop:
    kind = _KINDS[at.one_of("what to drop", tuple(_KINDS))]
    quiet = at.take("IF", "EXISTS")
    drop = Drop(at.span, kind, at.name(f"the {kind}"), quiet)
    at.end()
    return drop


def _explain(at: Cursor) -> Explain:
    span = at.span
    match at.peek():
        case "CREATE":
            at.take("CREATE")
            return Explain(span, _create_query(at))
        case "SELECT" | "WITH" | "FROM" | "(":
            return Explain(span, CreateQuery(span, "explained", _select(at)))
    name = at.name("a query, or SELECT")
    at.end()
    return Explain(span, name)


def _set(at: Cursor) -> SetPolicy:
    here = at.here
    name = at.name("what to set").lower()
    if name != "policy":
        raise at.error(f"there is no setting '{name}'; set policy.{closest(name, ('policy',))}", here)
    at.expect("=")
    policy = at.string("a policy")
    at.end()
    return SetPolicy(at.span, policy)


def read_expression(sql: str) -> exp.Expr:
    """One expression, or one `expression AS name`, of a Python program."""
    found = _statements(sql)
    if len(found) != 1:
        raise error(sql, Span(0, 1), "expected one expression")
    return parsed(sql, [*tokenize("SELECT"), *found[0]]).expressions[0]  # type: ignore[no-any-return]
