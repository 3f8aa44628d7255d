"""Gates: decisions about work items that a person takes."""

from __future__ import annotations

from whisk.actors.future import get
from whisk.http.api import Api
from whisk.http.page import Paged
from whisk.http.route import Request, Route
from whisk.storage import gate as gate_storage
from whisk.work.gate import CompleteGate, GateReport


class GateFilter(Paged, frozen=True):
    work_item_id: str | None = None


def list_gates(api: Api, request: Request[None, GateFilter]) -> list[GateReport]:
    return api.store.read(
        lambda db: gate_storage.select(db, work_item_id=request.query.work_item_id, page=request.query.page)
    )


def complete_gate(api: Api, request: Request[CompleteGate, None]) -> GateReport:
    gate_id = request.path["gate_report_id"]
    return get(api.work.item_of_gate(gate_id).complete_gate.remote(gate_id, request.body))


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/gate-reports",
        list_gates,
        "List gates",
        query=GateFilter,
        reply=list[GateReport],
        operation="listGateReports",
    ),
    Route(
        "POST",
        "/v1/gate-reports/{gate_report_id}/complete",
        complete_gate,
        "Pass, fail or override a gate; for people only",
        body=CompleteGate,
        reply=GateReport,
        operation="completeGate",
    ),
)
