"""Files that somebody brings to a page: they come in parts, are looked at, and are gone with the page.

A page expects a file and gives its browser the address: only who may change things, and knows it, can send.
"""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response

from penstock.errors import AccessError
from penstock.server.http.problems import NotThereError, response_of
from penstock.server.security.roles import Role

if TYPE_CHECKING:
    from penstock.web.access.visitor import Visitor, Visitors

#: The largest file, files that are expected at once, and the largest part of one.
MOST_BYTES, MOST_FILES, PART_BYTES = 256_000_000, 100, 4_000_000


@dataclass(slots=True)
class Upload:
    """One file that is expected; `path` has what came of it."""

    id: str
    path: Path
    _directory: tempfile.TemporaryDirectory[str] = field(repr=False)

    def write(self, offset: int, content: bytes) -> None:
        """A part; one at 0 begins anew."""
        size = self.path.stat().st_size if self.path.exists() and offset else 0
        if offset != size:
            raise AccessError(f"{size} bytes of the file are here; send what is behind them", status=409)
        if offset + len(content) > MOST_BYTES:
            raise AccessError(
                f"a file may have {MOST_BYTES // 1_000_000} MB here; put larger ones where it reads them",
                status=413,
            )
        with self.path.open("ab" if offset else "wb") as file:
            file.write(content)

    def close(self) -> None:
        """Deletes what came."""
        self._directory.cleanup()


class Uploads:
    """All files that pages expect."""

    def __init__(self) -> None:
        self._expected: dict[str, Upload] = {}

    def expect(self) -> Upload:
        """A file to come; `forget` it when its page is gone."""
        if len(self._expected) >= MOST_FILES:
            raise AccessError("too many files are on their way; try again in a while", status=429)
        directory = tempfile.TemporaryDirectory(prefix="penstock-upload-")
        made = Upload(secrets.token_urlsafe(18), Path(directory.name) / "file", directory)
        self._expected[made.id] = made
        return made

    def find(self, id_: str) -> Upload:
        """The file of that address."""
        found = self._expected.get(id_)
        if found is None:
            raise NotThereError("this page has been left; load it again and choose the file anew")
        return found

    def forget(self, upload: Upload) -> None:
        """Its page is gone."""
        if self._expected.pop(upload.id, None) is not None:
            upload.close()


def part_bytes(visitor: Visitor) -> int:
    """How much a browser may send at once."""
    return min(PART_BYTES, visitor.visitors.backend.settings.server.body_bytes)


def router_for(visitors: Visitors) -> APIRouter:
    """Where browsers send files to."""
    router = APIRouter()

    @router.put("/uploads/{upload}")
    async def send(upload: str, offset: Annotated[int, Query(ge=0)], request: Request) -> Response:
        """A part of a file."""
        request.scope["state"]["is_push"] = (
            True  # parts are too many for the audit log; what they become is in it
        )
        try:
            visitor = visitors.of(request)
            if visitor is None:
                raise AccessError("sign in with a token", status=401)
            if visitor.caller().identity.role < Role.OPERATOR:
                raise AccessError("files are taken of those with the role operator", status=403)
            content = await request.body()
            await anyio.to_thread.run_sync(visitors.uploads.find(upload).write, offset, content)
        except (AccessError, NotThereError) as error:
            request.scope["state"]["refusal"] = str(error)
            return response_of(error)
        return Response(status_code=204)

    return router
