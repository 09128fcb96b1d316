"""`penstock bench transport`: what handing a batch to another thread costs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from penstock.commands.console import Json, out, print_json, progress_of
from penstock.commands.scheduling_benches import Earlier, Markdown, claims_table, markdown_table
from penstock.errors import PenstockError


def transport(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer batches and repeats: seconds.")] = False,
    costs_file: Annotated[
        Path | None,
        typer.Option("--costs", dir_okay=False, help="Write the medians there, as simulations read them."),
    ] = None,
    earlier: Earlier = None,
    as_json: Json = False,
    markdown: Markdown = False,
) -> None:
    """What it costs threads to hand each other batches: buffers, transport layers, signals, ready queues."""
    from penstock.bench.transport.measuring import Settings, costs, measure

    if earlier is not None:
        measured: Mapping[str, Any] = json.loads(earlier.read_text("utf-8"))
    else:
        with progress_of("transport") as progress:
            measured = measure(Settings.quick() if quick else Settings(), progress)
    if costs_file is not None:
        _write(json.dumps(costs(measured), indent=1), costs_file)
    if as_json:
        print_json(dict(measured))
        return
    for title, columns, lines in _tables(measured):
        if markdown:
            print("\n".join([*markdown_table(columns, lines), ""]))
            continue
        table = Table(*columns, title=title)
        for line in lines:
            table.add_row(*line)
        out.print(table)


def _write(text: str, path: Path) -> None:
    try:
        path.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise PenstockError(
            f"cannot write costs to {path}: {error.strerror}; choose another --costs"
        ) from None


def _tables(measured: Mapping[str, Any]) -> list[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    columns, claims = claims_table(measured)
    return [
        (
            f"microseconds; {measured['measured_on']}",
            ("what", "µs"),
            [[line["name"], f"{line['us']:.2f} ± {line['us_std']:.2f}"] for line in measured["table"]],
        ),
        ("what is said of them", ("claim", "here", *columns[2:]), claims),
        (
            "a batch from one thread to another, beside a step on Spark",
            ("way", "µs", "of a step"),
            [
                [line["way"], f"{line['us']:.1f}", f"{line['share_of_step'] * 100:.3f} %"]
                for line in measured["handles"]
            ],
        ),
    ]
