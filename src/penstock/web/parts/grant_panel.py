"""Grants: which other namespaces may read a stream."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.parts.elements import Choice, attributes, box, button, panel, say, sentence, text


class GrantPanel:
    """The streams of the namespace that is looked at, and the others that there are."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor, self._namespaces = visitor, [""]
        with panel("Grants", "which other namespaces may read a stream of yours"), box("stack"):
            self._none = text("p", "", "muted")
            with box("stack") as self._some:
                with box("fields"):
                    self._stream = Choice("stream to be read", [], changed=self._turn)
                    self._reader = Choice("by namespace", [])
                with box("line"):
                    button("Let it read", self._grant, "primary")
                self._list = box("line")

    async def show(self, streams: Sequence[str], namespaces: Sequence[str]) -> None:
        """What there is to grant, and to whom."""
        mine = self._visitor.caller().namespace
        others = [one for one in namespaces if one != mine]
        self._none.text = (
            f"Namespace {mine} has no stream to grant."
            if not streams
            else "There is no other namespace that could read them."
            if not others
            else ""
        )
        self._none.set_visibility(bool(self._none.text))
        self._some.set_visibility(not self._none.text)
        if self._none.text:
            return
        chosen = self._stream.value if self._stream.value in streams else streams[0]
        self._stream.offer(list(streams), chosen)
        self._reader.offer(others)
        await self._turn()

    async def _turn(self) -> None:
        stream = str(self._stream.value)
        found = await self._visitor.get(f"/streams/{named(stream)}/grants")
        self._list.clear()
        with self._list:
            text(
                "span",
                f"{stream} is read by" if found else f"{stream} is read by no other namespace",
                "muted",
            )
            for one in found:
                self._reader_of(stream, one["namespace"])

    def _reader_of(self, stream: str, reader: str) -> None:
        with box("line"):
            text("strong", reader)
            attributes(
                button("Take back", lambda: self._ask("DELETE", stream, reader), "quiet"),
                aria_label=f"Take the grant of {stream} back from {reader}",
            )

    async def _grant(self) -> None:
        await self._ask("PUT", str(self._stream.value), str(self._reader.value))

    async def _ask(self, method: str, stream: str, reader: str) -> None:
        try:
            await self._visitor.ask(method, f"/streams/{named(stream)}/grants/{named(reader)}")
        except RefusedError as error:
            say(sentence(error), bad=True)
            return
        words = (
            f"may read {stream}"
            if method == "PUT"
            else f"cannot read {stream} any more; what runs already goes on"
        )
        say(f"{reader} {words}")
        await self._turn()
