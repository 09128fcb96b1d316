"""The event log of control as a file, asked for with the rights of whoever downloads it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import JSONResponse

from penstock.web.access.visitor import RefusedError, Visitors


def router_for(visitors: Visitors) -> APIRouter:
    """Where it is downloaded from."""
    router = APIRouter()

    @router.get("/scheduler/control-log.jsonl")
    async def download(request: Request, minutes: Annotated[float, Query(gt=0, le=1440)] = 5.0) -> Response:
        """The last minutes, as the API has them."""
        visitor = visitors.of(request)
        if visitor is None:
            return JSONResponse({"detail": "sign in with a token"}, 401)
        try:
            found = await visitor.respond("GET", "/control-log", parameters={"minutes": minutes})
        except RefusedError as error:
            return JSONResponse({"detail": str(error)}, error.status)
        headers = {
            "Content-Disposition": 'attachment; filename="control-log.jsonl"',
            "Cache-Control": "no-store",
        }
        return Response(found.content, media_type="application/x-ndjson", headers=headers)

    return router
