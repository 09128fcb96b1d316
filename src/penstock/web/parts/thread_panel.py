"""How the graph is divided among threads, and the partitions that have threads of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from penstock.web.access.visitor import RefusedError, Visitor, named
from penstock.web.parts.confirming import confirmation
from penstock.web.parts.elements import Choice, Sheet, TextField, box, button, panel, say, sentence, text
from penstock.web.parts.permits import disable
from penstock.web.parts.policy_panel import nothing_to_do
from penstock.web.scheduler.policy_forms import THREADS, names_in

Done = Callable[[], Awaitable[None]]


class ThreadPanel:
    """The thread plan and its partitions; `set_now` says what holds."""

    def __init__(self, visitor: Visitor, now: str, why: str, done: Done) -> None:
        self._visitor, self._why, self._done = visitor, why, done
        self._now = ""
        self._shown: tuple[str, Any] | None = None
        with panel("Threads and partitions", "what runs at once"), box("stack"):
            self._said = text("p")
            choices = {name: f"{name}: {words}" for name, words in THREADS.items()}
            self._choice = Choice("thread plan", choices, now, changed=self._chosen)
            with box("line"):
                self._change = disable(button("Change threads", self._set), why)
                if why:
                    text("span", f"To change it, {why}.", "muted small")
            self._wrong = text("p", "", "wrong").props("role=alert")
            text("h3", "Partitions")
            self._partitions = box("stack")
            with box("line"):
                disable(button("New partition", lambda: self._edit({})), why)
        self._sheet = PartitionSheet(visitor, self._reload)
        self.set_now(now)

    def set_now(self, now: str) -> None:
        """The thread plan that holds."""
        if now != self._now:
            self._now = now
            self._said.text = f"Set now: {now}, {THREADS.get(now, '')}"
            self._chosen()

    async def reload(self) -> None:
        """Partitions as they are now."""
        try:
            found = await self._visitor.get("/partitions")
        except RefusedError:
            return
        shown = (self._now, found)
        if shown == self._shown:
            return
        self._shown = shown
        self._partitions.clear()
        with self._partitions:
            if self._now != "hmts":
                text("p", "Partitions have threads of their own under hmts.", "muted small")
            if not found:
                words = (
                    "None is named: what keeps a thread busy is found and gets one to itself."
                    if self._now == "hmts"
                    else "No partition is named."
                )
                text("p", words, "muted")
            for one in found:
                self._draw(one)

    def _draw(self, one: dict[str, Any]) -> None:
        name = str(one["name"])
        drop = confirmation(
            f"Drop partition {name}?",
            "What it runs goes back to the rest, while rows flow.",
            "Drop it",
            lambda: self._drop(name),
        )
        with box("partition"):
            with box("grow"):
                text("strong", name)
                what = [*one["queries"], *one.get("operators", ())]
                text("p", ", ".join(what) or "what no other partition names", "small")
                policy = one.get("policy") or "the policy of all"
                text("p", f"priority {one.get('priority', 1):g} · {policy}", "muted small")
            disable(button("Change", lambda: self._edit(one)), self._why)
            disable(button("Drop", drop.open, "danger"), self._why)

    def _chosen(self) -> None:
        self._wrong.text = ""
        is_set = self._choice.value == self._now
        if not self._why:
            nothing_to_do(self._change, "this is how threads are divided" if is_set else "")

    async def _set(self) -> None:
        if self._choice.value == self._now:
            return
        try:
            await self._visitor.ask("PUT", "/scheduling", {"scheduling": self._choice.value})
            say(f"Threads: {self._choice.value}")
        except RefusedError as error:
            self._wrong.text = str(error)
            return
        await self._done()

    def _edit(self, one: dict[str, Any]) -> None:
        self._sheet.open(one)

    async def _drop(self, name: str) -> None:
        try:
            await self._visitor.ask("DELETE", f"/partitions/{named(name)}")
        except RefusedError as error:
            say(sentence(error), bad=True)
        await self._reload()

    async def _reload(self) -> None:
        await self.reload()
        await self._done()


class PartitionSheet:
    """A dialog to create a partition, or to change one."""

    def __init__(self, visitor: Visitor, done: Done) -> None:
        self._visitor, self._done = visitor, done
        self._sheet = Sheet("Partition")
        with self._sheet.inside:
            self._name = TextField("name", placeholder="such as slow", hint="rest is what no other names")
            self._queries = TextField("queries", hint="with commas between")
            self._operators = TextField("operators", hint="by the names that EXPLAIN shows")
            self._policy = TextField(
                "policy of its own", placeholder="the policy of all", hint="such as chain"
            )
            self._priority = TextField("priority", "1", hint="its share of the workers, while it has work")
            self._wrong = text("p", "", "wrong").props("role=alert")
            with box("line"):
                button("Save the partition", self._save, "primary")
                button("Cancel", self._sheet.close)

    def open(self, one: dict[str, Any]) -> None:
        """Shows it with what there is."""
        self._name.value = str(one.get("name", ""))
        self._queries.value = ", ".join(one.get("queries", ()))
        self._operators.value = ", ".join(one.get("operators", ()))
        self._policy.value = one.get("policy") or ""
        self._priority.value = f"{one.get('priority', 1):g}"
        self._wrong.text = ""
        self._sheet.open()

    async def _save(self) -> None:
        name = self._name.value.strip()
        if not name:
            self._name.wrong = "give it a name"
            return
        try:
            body: dict[str, Any] = {"priority": float(self._priority.value or 1)}
        except ValueError:
            self._priority.wrong = "write a number"
            return
        for key, field in (("queries", self._queries), ("operators", self._operators)):
            if names := names_in(field.value):
                body[key] = names
        if self._policy.value.strip():
            body["policy"] = self._policy.value.strip()
        try:
            await self._visitor.ask("PUT", f"/partitions/{named(name)}", body)
        except RefusedError as error:
            self._wrong.text = str(error)
            return
        self._sheet.close()
        await self._done()
