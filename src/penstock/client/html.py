"""How notebooks show things: small tables that carry their own style, on light and dark ground.

Everything that comes from outside is escaped; what is HTML already is `Html`.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows and characters of a cell that a notebook shows.
MOST_ROWS, MOST_LETTERS = 20, 240

#: Text has the notebook's colour; the others are legible on white and on black.
GREEN, RED, AMBER, BLUE, GREY = "#2da44e", "#e5534b", "#c69026", "#4184e4", "#848d97"

_STYLE = f"""<style>
.penstock {{ font: 13px/1.45 system-ui, sans-serif; color: inherit; max-width: 100%; overflow-x: auto; }}
.penstock table {{ border-collapse: collapse; margin: 4px 0 8px; background: transparent;
  font: inherit; color: inherit; }}
.penstock th, .penstock td {{ padding: 2px 14px 2px 0; text-align: left; vertical-align: top;
  border: 0; border-bottom: 1px solid rgba(128, 128, 128, .28); background: transparent; color: inherit;
  white-space: nowrap; }}
.penstock td.why {{ white-space: normal; max-width: 32em; }}
.penstock th {{ font-weight: 600; opacity: .72; }}
.penstock .n {{ text-align: right; font-variant-numeric: tabular-nums; }}
.penstock p {{ margin: 2px 0; }}
.penstock .title {{ font-weight: 600; }}
.penstock .pale {{ opacity: .65; }}
.penstock pre {{ font: 12px/1.4 ui-monospace, monospace; margin: 4px 0; background: transparent;
  color: inherit; white-space: pre; }}
.penstock .good {{ color: {GREEN}; }} .penstock .bad {{ color: {RED}; font-weight: 600; }}
.penstock .soso {{ color: {AMBER}; }}
.penstock svg {{ vertical-align: middle; overflow: visible; }}
.penstock svg text {{ fill: currentColor; font: 11px system-ui, sans-serif; }}
</style>"""


class Html(str):
    """Text that is HTML and is not escaped again."""

    __slots__ = ()


def shown(value: Any) -> Html:
    """A value as HTML."""
    if isinstance(value, Html):
        return value
    if value is None:
        return Html('<span class="pale">NULL</span>')
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return Html(html.escape(text))


def _cut(value: Any) -> Any:
    """A cell that is no page."""
    if isinstance(value, Html | int | None):
        return value
    text = str(value)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def tag(name: str, content: Any, css: str = "") -> Html:
    """An element."""
    attribute = f' class="{css}"' if css else ""
    return Html(f"<{name}{attribute}>{shown(content)}</{name}>")


def document(*parts: str) -> str:
    """What `_repr_html_` gives: the parts, with their style."""
    return f'<div class="penstock">{_STYLE}{"".join(parts)}</div>'


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    numbers: Collection[str] = (),
    wide: Collection[str] = (),
) -> Html:
    """A table; `numbers` are the columns with figures, `wide` those whose text may take several lines."""
    css = ["n" if name in numbers else "why" if name in wide else "" for name in columns]
    head = "".join(tag("th", name, one) for name, one in zip(columns, css, strict=True))
    body = "".join(
        f"<tr>{''.join(tag('td', _cut(cell), one) for cell, one in zip(row, css, strict=True))}</tr>"
        for row in rows
    )
    return Html(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def table_html(found: pa.Table, title: str = "") -> str:
    """A table of Arrow's: its first rows, and how many there are."""
    import pyarrow as pa

    first = found.slice(0, MOST_ROWS)
    numbers = [field.name for field in found.schema if _is_number(pa, field.type)]
    rows = zip(*(column.to_pylist() for column in first.columns), strict=True)
    rest = found.num_rows - first.num_rows
    return document(
        tag("p", title or f"{found.num_rows:,} rows", "title"),
        table(found.column_names, rows, numbers),
        tag("p", f"… and {rest:,} more rows", "pale") if rest > 0 else "",
    )


def _is_number(pa: Any, type_: Any) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_))
