"""Where real data lies: not part of the package, and no experiment but those on traces needs it."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.errors import ExperimentError

VARIABLE = "PENSTOCK_DATA"
_PLACES = (Path("data"), Path("../shared/data"))  # from the current directory


def data_file(name: str) -> Path:
    """A data file, from the directory that PENSTOCK_DATA names or from the usual places."""
    named = os.environ.get(VARIABLE)
    places = (Path(named),) if named else _PLACES
    for place in places:
        if (place / name).exists():
            return place / name
    looked = " and ".join(f"'{place}'" for place in places)
    raise ExperimentError(
        f"no data file '{name}' in {looked}; set {VARIABLE} to the directory that holds '{name}', "
        "or run the other experiments, which need no data"
    )
