"""What components share in the browser, under the name `penstock-ui`: `js/index.js`."""

from __future__ import annotations

from pathlib import Path

from nicegui.dependencies import register_esm

JS = Path(__file__).parents[1] / "js"
register_esm("penstock-ui", JS, max_time=max(one.stat().st_mtime for one in JS.glob("*.js")))
