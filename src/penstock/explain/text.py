"""An explanation for people: plans as trees with their estimates beside, everything within 100 columns."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from penstock.explain.describing import OperatorExplained, QueryExplained
from penstock.explain.explanation import Explanation
from penstock.explain.quantities import cpu_text, micros_text, rate_text, ratio_text
from penstock.explain.wishes import life, wishes
from penstock.plan.text import plan_text
from penstock.sql.session import Answer
from penstock.sql.text.quantities import shown_bytes

WIDTH = 100
#: Plans of a query that are shown.
ALTERNATES = 5

_HEADINGS = ("rows/s in", "µs/row", "out/in", "memory", "shared with")
_WIDTHS = (10, 8, 10, 9, 14)


def explanation_text(explanation: Explanation, most: int = ALTERNATES) -> RenderableType:
    """All that was said, in order, then the graph and its units; `most` plans per query."""
    parts: list[RenderableType] = []
    lines: list[str] = []
    for one in explanation.said:
        if isinstance(one, Answer) and not one.columns:
            lines.append(one.text)
            continue
        parts += _lines(lines)
        lines = []
        parts.append(query_text(one, most) if isinstance(one, QueryExplained) else _answer(one))
    return Group(*parts, *_lines(lines), _graph(explanation))


def _lines(lines: Sequence[str]) -> list[RenderableType]:
    if not lines:
        return []
    return [Text("\n".join(textwrap.wrap(" · ".join(lines), WIDTH)), "dim"), Text()]


def _answer(answer: Answer) -> RenderableType:
    table = Table(*answer.columns, box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for row in answer.rows:
        table.add_row(*(Text(cell) for cell in row))
    return Group(_heading(answer.text), Padding(table, (0, 0, 1, 2), expand=False))


def query_text(one: QueryExplained, most: int = ALTERNATES) -> RenderableType:
    """One query: what it asks for, what it gives, how it runs."""
    times = [*life(one.written)]
    parts: list[RenderableType] = [
        _rule(one.written.name, "" if one.registered else "not registered"),
        *([_fact("runs", ", ".join(times))] if times else []),
        _fact("wishes", wishes(one.written.qos)),
        _fact("result", str(one.schema)),
        _fact("cost", _cost(one)),
        *([_fact("runs as", _together(one))] if one.together else []),
        Text(),
        *_plan(one),
        Text(),
        *_schemas(one),
    ]
    if one.considered[0].rules:
        parts += [Text(), _heading("plan as written"), _indented(plan_text(one.written.root))]
    if len(one.considered) > 1:
        parts += [Text(), *_considered(one, most)]
    return Group(*parts, Text())


def _cost(one: QueryExplained) -> str:
    memory = f", {shown_bytes(one.memory_bytes)} in windows" if one.memory_bytes else ""
    shared = len(one.work) - len(one.added)
    whole = f"{cpu_text(one.cpu_s_per_s)} of a processor{memory}"
    if not shared:
        return f"{whole}; nothing shared"
    if not one.added:
        return f"{whole}; all of it runs already"
    return f"{whole}; {shared} of {len(one.work)} operators run already, adds {cpu_text(one.new_cpu_s_per_s)}"


def _together(one: QueryExplained) -> str:
    others = len(one.together) - 1
    with_whom = f"{others} other{'s' if others > 1 else ''} that differ{'' if others > 1 else 's'}"
    return f"one job with {with_whom} in constants only ('{one.runs_as}'), and costs about as much as one"


def _plan(one: QueryExplained) -> Iterator[Text]:
    title = "plan, as written" if not one.considered[0].rules else "plan"
    header = Text(title.ljust(_tree_width()), "bold")
    header.append("".join(head.rjust(width) for head, width in zip(_HEADINGS[:4], _WIDTHS, strict=False)))
    header.append("  " + _HEADINGS[4])
    yield header
    known = {operator.name: operator for operator in one.operators}
    numbers = _numbers(one)
    written: set[str] = set()
    waiting: list[tuple[str, int, str, str]] = [(one.operators[-1].name, 0, "", "")]
    while waiting:
        name, port, lead, below = waiting.pop()
        operator = known[name]
        number = f"{numbers[name]} " if name in numbers else ""
        start = f"port {port} of " if operator.kind == "split" else ""
        if name in written and operator.inputs:
            yield Text(f"{lead}{number}{start}(as above)", "dim")
            continue
        written.add(name)
        yield from _operator(operator, number + start, lead, below)
        for slot, child in reversed([*enumerate(operator.inputs)]):
            last = slot == len(operator.inputs) - 1
            corner, line = ("└─ ", "   ") if last else ("├─ ", "│  ")
            waiting.append((child, operator.ports[slot], below + corner, below + line))


def _operator(operator: OperatorExplained, start: str, lead: str, below: str) -> Iterator[Text]:
    """The operator's text in as many lines as it needs, its numbers beside the first."""
    room = max(_tree_width() - len(lead) - 1, 24)
    hang = "│   " if operator.inputs else "    "
    pieces = textwrap.wrap(start + operator.text, room, subsequent_indent=hang) or [start]
    style = "dim" if operator.shared_with else ""
    first = Text(lead, "dim").append(pieces[0].ljust(_tree_width() - len(lead)), style)
    costed = operator.costed
    cells = [rate_text(costed.rate_in)]
    if operator.is_work:
        memory = shown_bytes(costed.memory_bytes) if costed.memory_bytes else ""
        passing = operator.rate_out / costed.rate_in if costed.rate_in else 0.0
        cells += [micros_text(costed.estimate.cost_s), ratio_text(passing), memory]
    cells += [""] * (4 - len(cells))
    first.append("".join(cell.rjust(width) for cell, width in zip(cells, _WIDTHS, strict=False)), style)
    if operator.is_work and operator.shared_with:
        first.append(f"  {_some(operator.shared_with)}", "green")
    first.rstrip()
    yield first
    for piece in pieces[1:]:
        yield Text(below, "dim").append(piece, style)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names)
    if len(shown) <= _WIDTHS[4]:
        return shown
    return f"{len(names)} queries" if len(names) > 1 else f"{shown[: _WIDTHS[4] - 1]}…"


def _schemas(one: QueryExplained) -> Iterator[Text]:
    known = {operator.name: operator for operator in one.operators}
    numbers = _numbers(one)
    yield _heading("what each operator puts out")
    for operator in one.operators:
        if operator is one.operators[-1]:
            continue  # the sink's are the result
        title = str(numbers.get(operator.name, operator.text.removeprefix("source ")))
        inputs = [known[name] for name in operator.inputs]
        if inputs and operator.schema == inputs[0].schema:
            shown = f"as {numbers.get(inputs[0].name, inputs[0].text.removeprefix('source '))}"
        else:
            shown = str(operator.schema)
        yield from _hanging(f"  {title}", shown)


def _hanging(title: str, text: str) -> Iterator[Text]:
    indent = max(9, len(title) + 2)
    pieces = textwrap.wrap(text, WIDTH - indent) or [""]
    yield Text(title.ljust(indent), "cyan").append(pieces[0], "default")
    for piece in pieces[1:]:
        yield Text(" " * indent + piece)


def _considered(one: QueryExplained, most: int) -> Iterator[RenderableType]:
    """The cheapest plans, and always the one as written."""
    kept = [*one.considered[:most]]
    if most > 1 and all(way.rules for way in kept):
        kept[-1] = next(way for way in one.considered if not way.rules)
    of = f"{len(kept)} of {len(one.considered)}" if len(kept) < len(one.considered) else f"{len(kept)}"
    yield _heading(f"plans considered: {of}, the first is chosen")
    table = Table(box=None, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("processor", "adds", "memory", "shares"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("made by", overflow="fold")
    for place, way in enumerate(kept):
        table.add_row(
            cpu_text(way.cpu_s_per_s),
            cpu_text(way.new_cpu_s_per_s),
            shown_bytes(way.memory_bytes) if way.memory_bytes else "",
            f"{way.shared} of {way.operators}",
            rules_text(way.rules),
            style="bold" if place == 0 else "",
        )
    yield Padding(table, (0, 0, 0, 2), expand=False)


def rules_text(rules: Sequence[str]) -> str:
    """`push select through join ×2, order joins`."""
    counted = Counter(rule.replace("_", " ") for rule in rules)
    return ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in counted.items()) or "as written"


def _graph(explanation: Explanation) -> RenderableType:
    graph = explanation.graph
    if not graph.queries:
        return Group(_rule("graph", ""), Text("no query is registered"))
    merged, separate = len(graph.operators), explanation.separate
    saved = f", {separate - merged} fewer than apart" if separate > merged else ""
    parts: list[RenderableType] = [
        _rule("graph", ""),
        _fact("queries", _queries(explanation)),
        _fact("operators", f"{merged}{saved}"),
        _fact(
            "cost",
            f"{cpu_text(explanation.cpu_s_per_s)} of a processor, "
            f"{shown_bytes(explanation.memory_bytes)} in windows",
        ),
        Text(),
        *_shared(explanation),
        _heading(f"units under {explanation.policy}"),
        _units(explanation),
    ]
    return Group(*parts)


def _queries(explanation: Explanation) -> str:
    graph = explanation.graph
    members = sum(len(whom) for whom in explanation.members.values())
    alone = len(graph.queries) - len(explanation.members)
    said = f"{alone + members} over {len(graph.sources)} streams"
    return f"{said}; {members} of them run as {len(explanation.members)}" if members else said


def _shared(explanation: Explanation) -> Iterator[Text]:
    graph = explanation.graph
    shared = [name for name in graph.operators if len(graph.users[name]) > 1]
    if not shared:
        return
    yield _heading("shared operators")
    for name in sorted(shared, key=lambda one: -len(graph.users[one])):
        users = textwrap.shorten(", ".join(graph.users[name]), 40, placeholder=" …")
        text = textwrap.shorten(explanation.texts[name], WIDTH - 9 - 2 - len(users), placeholder=" …")
        yield (
            Text(f"  ×{len(graph.users[name])}".ljust(9), "bold")
            .append(text, "default")
            .append(f"  {users}", "green")
        )
    yield Text()


def _units(explanation: Explanation) -> RenderableType:
    table = Table(box=None, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("unit", "rows/s in", "µs/row", "out/in", "processor"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("operators")
    for number, unit in enumerate(explanation.units, start=1):
        texts = (textwrap.shorten(explanation.texts[name], 42, placeholder=" …") for name in unit.operators)
        table.add_row(
            str(number),
            rate_text(unit.rate_in),
            micros_text(unit.row_s),
            ratio_text(unit.selectivity),
            cpu_text(unit.cpu_s_per_s),
            Text("\n→ ".join(texts)),
        )
    return Padding(table, (0, 0, 0, 2), expand=False)


def _numbers(one: QueryExplained) -> dict[str, int]:
    return {operator.name: number for number, operator in enumerate(one.work, start=1)}


def _rule(title: str, more: str) -> Text:
    tail = f" ({more}) " if more else " "
    line = "─" * max(WIDTH - len(title) - len(tail) - 3, 2)
    return Text("── ", "cyan").append(title, "bold cyan").append(f"{tail}{line}", "cyan")


def _fact(title: str, text: str) -> Text:
    pieces = textwrap.wrap(text, WIDTH - 11) or [""]
    return Text(title.ljust(11), "dim").append(("\n" + " " * 11).join(pieces), "default")


def _heading(title: str) -> Text:
    return Text(title, "bold")


def _indented(text: str) -> Text:
    lines = []
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        lines += textwrap.wrap(
            line, WIDTH - 2, initial_indent="  ", subsequent_indent=" " * (depth + 8), drop_whitespace=True
        )
    return Text("\n".join(lines), "dim")


def _tree_width() -> int:
    return WIDTH - sum(_WIDTHS) - 2
