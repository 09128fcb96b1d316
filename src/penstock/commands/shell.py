"""`penstock sql`: statements typed at a prompt, given with -c, or from standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from penstock.commands.console import err, out, print_json
from penstock.commands.remote import Remote, connected, print_table
from penstock.commands.results import ResultsFormat, write
from penstock.commands.top import screen
from penstock.errors import PenstockError
from penstock.sql.completing import Names, candidates, split_statements, without_comments

if TYPE_CHECKING:
    from penstock.client.answers import Answer

HELP = """\
Statements end with ;    CREATE STREAM …   CREATE CONTINUOUS QUERY … AS SELECT …   SHOW QUERIES   docs/sql.md
\\d          all streams, tables, views and queries
\\d NAME     its columns
\\r QUERY    its last results
\\s          how everything stands
\\?          this
\\q          leave (or Ctrl-D); Ctrl-C drops what is being typed"""
#: What people type who do not know the others yet.
_WORDS = {"quit": "\\q", "exit": "\\q", "help": "\\?"}
#: Rows that `\r` shows.
_RESULTS = 20


@connected
def sql(
    remote: Remote,
    command: Annotated[
        str | None, typer.Option("--command", "-c", metavar="TEXT", help="Statements to run instead.")
    ] = None,
) -> None:
    """Runs statements: typed at a prompt, given with -c, or from standard input.

    All statements of -c or of standard input run, or none if one is wrong. A mistake exits with status 2.
    """
    if command is not None:
        _run(remote, command)
    elif not sys.stdin.isatty():
        _run(remote, sys.stdin.read())
    else:
        Shell(remote).run()


def _run(remote: Remote, text: str) -> None:
    if not without_comments(text):
        return
    answers = remote.client.execute(text)
    if remote.as_json:
        keys = ("text", "columns", "rows", "about")
        print_json([{key: getattr(one, key) for key in keys} for one in answers])
    else:
        show(answers)


def show(answers: Iterable[Answer]) -> None:
    """Prints what statements say back."""
    for one in answers:
        if one.columns == ("plan",):
            out.print(str(one), markup=False, highlight=False, soft_wrap=True)
        elif one.columns:
            print_table(one.columns, one.rows)
            out.print(f"({one.text})", style="dim", markup=False, highlight=False)
        else:
            out.print(one.text, markup=False, highlight=False)


def history_file() -> Path:
    """Where what was typed is remembered."""
    root = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(root) / "penstock" / "sql-history"


class Shell:
    """The prompt."""

    def __init__(self, remote: Remote, session: Any = None) -> None:
        self._remote = remote
        self._names: Names | None = None
        self._session = session if session is not None else self._prompt()

    @property
    def names(self) -> Names:
        """What there is, as far as the server says; asked again after each statement."""
        if self._names is None:
            client = self._remote.client
            try:
                queries = tuple(str(one["name"]) for one in client.queries())
                columns = {name: tuple(those) for name, those in client.columns().items()}
                functions = tuple(str(one["name"]) for one in client.functions())
                self._names = Names(queries, columns, functions)
            except PenstockError:
                self._names = Names()
        return self._names

    def run(self) -> None:
        """Until somebody leaves."""
        self._remote.client.scheduling()  # nobody there, or a wrong token, is said before anything is typed
        where = self._remote.client.url
        out.print(f"Connected to {where}. \\? helps, \\q leaves.", markup=False, highlight=False)
        while True:
            try:
                text = self._session.prompt("penstock> ")
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if self.take(text):
                return

    def take(self, text: str) -> bool:
        """What was typed; whether that was to leave."""
        try:
            if is_command(text):
                return self._meta(_WORDS.get(_word(text), text.strip()))
            statements, rest = split_statements(text)
            for one in [*statements, *([rest] if without_comments(rest) else [])]:
                if without_comments(one).strip(";").strip():
                    show(self._remote.client.execute(one))
        except PenstockError as error:
            err.print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        except KeyboardInterrupt:
            err.print("stopped waiting; the server may have done it all the same")
        self._names = None
        return False

    def _meta(self, text: str) -> bool:
        word, _, name = text.rstrip(";").partition(" ")
        client, name = self._remote.client, name.strip()
        match word, name:
            case ("\\q" | "\\quit" | "\\exit", _):
                return True
            case "\\d", "":
                print_table(("name", "what", "columns"), self._everything())
            case "\\d", _:
                show(client.execute(f"DESCRIBE `{name.replace('`', '``')}`;"))
            case "\\r", name if name:
                write([client.last_results(name, _RESULTS)], ResultsFormat.table)
            case "\\s", _:
                out.print(screen(client.status(), streams=True), highlight=False)
            case "\\?" | "\\h" | "\\help", _:
                out.print(HELP, markup=False, highlight=False)
            case _:
                raise PenstockError(f"there is no {text.split()[0]} here; \\? says what there is")
        return False

    def _everything(self) -> list[tuple[str, str, str]]:
        from penstock.client.documents import columns_text

        client = self._remote.client
        kinds = {
            "stream": client.streams(),
            "table": client.tables(),
            "view": client.views(),
            "query": client.queries(),
        }
        return [
            (str(one["name"]), kind, columns_text(one.get("columns")))
            for kind, found in kinds.items()
            for one in found
        ]

    def _prompt(self) -> Any:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import Completer, Completion
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.history import FileHistory, InMemoryHistory

        shell = self

        class Names_(Completer):  # noqa: N801
            """The names that fit."""

            def get_completions(self, document: Any, _: Any) -> Iterable[Completion]:
                word, found = candidates(document.text, document.cursor_position, shell.names)
                return [Completion(one, start_position=-len(word)) for one in found]

        file = history_file()
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.touch(mode=0o600)
            history: Any = FileHistory(str(file))
        except OSError:  # a home that cannot be written to is no reason not to run
            history = InMemoryHistory()
        made: Any = None
        unfinished = Condition(lambda: is_unfinished(made.default_buffer.text))
        made = PromptSession(
            history=history,
            completer=Names_(),
            complete_in_thread=True,
            complete_while_typing=False,
            multiline=unfinished,
            prompt_continuation="      … ",
        )
        return made


def is_command(text: str) -> bool:
    """Whether a line is for the prompt itself."""
    return text.strip().startswith("\\") or _word(text) in _WORDS


def _word(text: str) -> str:
    return text.strip().rstrip("; ").lower()


def is_unfinished(text: str) -> bool:
    """Whether Enter begins another line: a statement has no `;` yet."""
    if not without_comments(text) or is_command(text):
        return False
    return bool(without_comments(split_statements(text)[1]))
