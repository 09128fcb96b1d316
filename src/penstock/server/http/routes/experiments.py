"""The papers' experiments: what each claims, what came out, and running one; the same for all teams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, Request, Response

from penstock.errors import AccessError, closest
from penstock.experiments.claims import tally
from penstock.experiments.known import KNOWN, MEASURED_WITH, Known, measured
from penstock.server.experiments.laboratory import Laboratory
from penstock.server.http.caller import Caller
from penstock.server.http.experiment_models import Detail, Ended, Experiment, Experiments, Progress, Tally
from penstock.server.http.problems import NotThereError
from penstock.server.http.routes.shared import CallerOf
from penstock.server.security.roles import Role

router = APIRouter(tags=["experiments"])


def laboratory_of(request: Request) -> Laboratory:
    """What the application was made with."""
    found: Laboratory = request.app.state.laboratory
    return found


LaboratoryOf = Annotated[Laboratory, Depends(laboratory_of)]


@router.get("/experiments")
async def list_experiments(caller: CallerOf, laboratory: LaboratoryOf) -> Experiments:
    """Every experiment: the paper's figure, what came of its claims, and the last run here."""
    return Experiments(
        missing=laboratory.missing,
        running=_progress(caller, laboratory),
        experiments=[Experiment(**_shown(one, laboratory)) for one in KNOWN.values()],
    )


@router.get("/experiments/{id}")
async def show_experiment(id: str, caller: CallerOf, laboratory: LaboratoryOf) -> Detail:
    """One experiment: each published claim beside what was measured, and the rows of the last run here."""
    one = _find(id)
    last, ours = laboratory.outcomes.last(one.id), measured()[one.id]
    return Detail.model_validate(
        {
            **_shown(one, laboratory),
            "running": _progress(caller, laboratory),
            "missing": laboratory.missing,
            "measured": list(last.claims) if last is not None else ours["claims"],
            "notes": list(last.notes) if last is not None else ours["notes"],
            "rows": list(last.rows) if last is not None else [],
            "picture": last is not None,
        }
    )


@router.get(
    "/experiments/{id}/picture",
    response_class=Response,
    responses={200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def show_picture(id: str, _: CallerOf, laboratory: LaboratoryOf) -> Response:
    """The figure that the last run here drew."""
    one = _find(id)
    found = await anyio.to_thread.run_sync(laboratory.outcomes.picture, one.id)
    if found is None:
        raise NotThereError(f"experiment '{one.id}' has no picture yet; run it")
    return Response(found, media_type="image/png")


@router.post("/experiments/{id}/run", status_code=202)
async def run_experiment(id: str, caller: CallerOf, laboratory: LaboratoryOf) -> Progress:
    """Runs it with fewer rows, points and seeds, at the lowest priority; one runs at a time."""
    one = _find(id)
    await anyio.to_thread.run_sync(laboratory.start, one.id, caller.namespace)
    found = _progress(caller, laboratory)
    return found if found is not None else Progress(id=one.id, since_s=0.0, done=0, total=0, mine=True)


@router.delete("/experiments/{id}/run", status_code=204)
async def cancel_experiment(id: str, caller: CallerOf, laboratory: LaboratoryOf) -> None:
    """Ends its run; what came of the one before stays."""
    one, running = _find(id), laboratory.running
    if running is None or running.id != one.id:
        raise NotThereError(f"experiment '{one.id}' does not run")
    if not _may_cancel(caller, running.namespace):
        raise AccessError("another team runs it; ask them, or an administrator")
    await anyio.to_thread.run_sync(laboratory.cancel)


def _find(id_: str) -> Known:
    if id_ not in KNOWN:
        raise NotThereError(f"there is no experiment '{id_}'.{closest(id_, KNOWN)}")
    return KNOWN[id_]


def _may_cancel(caller: Caller, namespace: str) -> bool:
    """Operators cancel what their team has begun."""
    return caller.identity.role is Role.ADMIN or (
        caller.identity.role is Role.OPERATOR and caller.namespace == namespace
    )


def _progress(caller: Caller, laboratory: Laboratory) -> Progress | None:
    run = laboratory.running
    if run is None:
        return None
    mine = _may_cancel(caller, run.namespace)
    return Progress(id=run.id, since_s=run.since_s, done=run.done, total=run.total, mine=mine)


def _tally(claims: Sequence[Mapping[str, Any]]) -> Tally:
    return Tally(**tally(claims)._asdict())


def _shown(one: Known, laboratory: Laboratory) -> dict[str, object]:
    last = laboratory.outcomes.last(one.id)
    ended = None
    if last is not None:
        ended = Ended(
            at_s=last.at_s,
            seconds=last.seconds,
            version=last.version,
            quick=last.quick,
            seed=last.seed,
            tally=_tally(last.claims),
        )
    return {
        "id": one.id,
        "paper": one.paper,
        "figure": one.figure,
        "about": one.about,
        "shortfall": one.shortfall,
        "version": MEASURED_WITH,
        "tally": _tally(measured()[one.id]["claims"]),
        "last": ended,
        "trouble": laboratory.trouble(one.id),
    }
