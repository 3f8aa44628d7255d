"""What new projects and runs are made from."""

from __future__ import annotations

from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.work.prompt_template import BUILTIN_TEMPLATES, PromptTemplate
from whisk.work.workflow import DEFAULT_TEMPLATE, WorkflowTemplate


def list_workflow_templates(api: Api, request: Request[None, None]) -> list[WorkflowTemplate]:
    return [DEFAULT_TEMPLATE]


def list_prompt_templates(api: Api, request: Request[None, None]) -> list[PromptTemplate]:
    """Placeholders such as `{{work_item.title}}` are filled in when a run is started."""
    return list(BUILTIN_TEMPLATES)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/workflow-templates",
        list_workflow_templates,
        "List what a new project may start with",
        reply=list[WorkflowTemplate],
        operation="listWorkflowTemplates",
    ),
    Route(
        "GET",
        "/v1/prompt-templates",
        list_prompt_templates,
        "List what agents are told at the start of a run",
        reply=list[PromptTemplate],
        operation="listPromptTemplates",
    ),
)
