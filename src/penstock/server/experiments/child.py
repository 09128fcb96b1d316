"""The process that runs one experiment: `python -m penstock.server.experiments.child ID DIRECTORY`.

It says how far it is in lines of JSON on standard output, and leaves the report and its picture in that
directory. When its standard input ends, whoever started it is gone, and it ends with all that it has started.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from penstock.errors import ExperimentError
from penstock.server.experiments.outcome import DOCUMENT, PICTURE

#: As little of the machine as others leave.
_NICE = 19
#: The exit status of an experiment that cannot run as asked: the last line says why.
REFUSED = 3


def main() -> None:
    """Runs it, quickly: fewer rows, points and seeds."""
    id_, directory = sys.argv[1], Path(sys.argv[2])
    os.nice(_NICE)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    # What draws is not needed by whoever only wants to know the exit status.
    from penstock.experiments.catalogue import find
    from penstock.experiments.figures import save
    from penstock.experiments.report import Settings

    def progress(done: int, total: int) -> None:
        _say({"done": done, "total": total})

    try:
        settings = Settings(quick=True, progress=progress)
        report = find(id_)(settings)
    except ExperimentError as error:
        _say({"refused": str(error)})
        sys.exit(REFUSED)
    os.replace(save(report, directory), directory / PICTURE)
    told = {**report.as_json(), "quick": settings.quick}
    (directory / DOCUMENT).write_text(json.dumps(told, default=str), "utf-8")


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def _end_with_the_server() -> None:
    while os.read(0, 1):  # a buffer would be locked at the interpreter's end
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
