"""What is where in the state directory of a server."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

#: The longest path that a Unix socket may have; some systems allow 104 bytes.
_LONGEST_SOCKET = 100


@dataclass(frozen=True, slots=True)
class StateLayout:
    """The engine's own files are beside these."""

    state: Path

    @property
    def results(self) -> Path:
        """Committed results: a directory for each query, and `.shared`."""
        return self.state / "results"

    @property
    def experiments(self) -> Path:
        """What came of the last run of each of the papers' experiments."""
        return self.state / "experiments"

    @property
    def registry(self) -> Path:
        """Namespaces, grants, subscriptions' positions."""
        return self.state / "server.db"

    @property
    def tokens(self) -> Path:
        """The tokens' file, unless the settings name another."""
        return self.state / "tokens.json"

    @property
    def audit(self) -> Path:
        """The audit log."""
        return self.state / "audit.jsonl"

    @property
    def address(self) -> Path:
        """Where the server that runs on this state can be reached."""
        return self.state / "server.json"

    @property
    def lock(self) -> Path:
        """Locked by the server that runs on this state."""
        return self.state / "server.lock"

    @property
    def supervision(self) -> Path:
        """How the server's processes fare, for those that are asked."""
        return self.state / "supervision.json"

    @property
    def taken_up(self) -> Path:
        """What the engine process took up of settings, while one server runs."""
        return self.state / "taken-up.json"

    @property
    def socket(self) -> Path:
        """The socket of the engine process; elsewhere if the state's path is too long for one."""
        path = self.state.resolve() / "engine.sock"
        if len(os.fsencode(path)) <= _LONGEST_SOCKET:
            return path
        digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        directory = Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
        directory.mkdir(mode=0o700, exist_ok=True)
        if directory.stat().st_uid != os.getuid():
            raise PermissionError(f"{directory} is somebody else's")
        return directory / f"{digest}.sock"
