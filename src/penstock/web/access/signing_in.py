"""Signing in and out: a token goes into a cookie that scripts cannot read and other sites cannot send."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from penstock.errors import AccessError
from penstock.server.http.guard import address_of
from penstock.server.http.problems import response_of
from penstock.web.access.visitor import NAMESPACE, TOKEN, Visitors


class SignIn(BaseModel):
    """A token, as it was made."""

    model_config = ConfigDict(extra="forbid")
    token: Annotated[str, Field(min_length=1, max_length=200)]


class Choice(BaseModel):
    """The namespace that an administrator looks at."""

    model_config = ConfigDict(extra="forbid")
    namespace: Annotated[str, Field(max_length=32)]


def router_for(visitors: Visitors) -> APIRouter:
    """What the page's scripts ask by themselves."""
    router = APIRouter()

    def cookie(response: Response, name: str, value: str) -> Response:
        response.set_cookie(
            name,
            value,
            httponly=True,
            samesite="strict",
            secure=visitors.backend.settings.server.tls,
            path="/",
        )
        return response

    @router.post("/session")
    async def sign_in(body: SignIn, request: Request) -> Response:
        """A guess is a guess, here as at the API: too many of an address have to wait."""
        try:
            text = body.token.strip()
            identity = visitors.backend.identify(f"Bearer {text}", address_of(request.scope))
        except AccessError as error:
            request.scope["state"]["refusal"] = str(error)
            return response_of(error)
        request.scope["state"]["identity"] = identity
        return cookie(Response(status_code=204), TOKEN, text)

    @router.delete("/session")
    async def sign_out() -> Response:
        response = Response(status_code=204)
        response.delete_cookie(TOKEN, path="/")
        response.delete_cookie(NAMESPACE, path="/")
        return response

    @router.put("/session/namespace")
    async def look_at(body: Choice) -> Response:
        return cookie(Response(status_code=204), NAMESPACE, body.namespace)

    return router
