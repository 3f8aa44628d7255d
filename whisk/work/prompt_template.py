"""Prompt templates: what an agent is told at the start of a run, with the work item filled in.

A placeholder is replaced once, and what replaces it is never looked at again: `{{project.name}}` in a title stays.
"""

from __future__ import annotations

import re
from typing import Literal

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.values import Record
from whisk.work.attachment import Attachment
from whisk.work.item import WorkItem
from whisk.work.project import Project
from whisk.work.run import PROMPT_LIMIT

# With a work item's own text beside it, still a prompt that a process can be given as an argument.
PLAN_LIMIT = 49_152
_PLACEHOLDER = re.compile(r"\{\{\s*([a-z_A-Z.]+)\s*\}\}")


class PromptTemplate(Record, frozen=True):
    id: str
    name: str
    source: Literal["builtin", "file"]
    body: str
    created_at: Instant
    updated_at: Instant


def _builtin(id: str, name: str, body: str) -> PromptTemplate:
    return PromptTemplate(id=id, name=name, source="builtin", body=body, created_at=Instant(0), updated_at=Instant(0))


_SUBJECT = """\
Project: {{project.name}} ({{project.rootDir}})
Work item #{{work_item.number}}: {{work_item.title}}

{{work_item.bodyMarkdown}}

{{attachments}}"""

_ASKING = """\
When you need a decision from a person, ask and wait for the answer:
  ${WHISK_CLI:-whisk} question ask -prompt "Your question" -wait"""

_DONE = """\
When you are done, say so once:
  ${WHISK_CLI:-whisk} mail send -from run:$WHISK_RUN_ID -to work-item:$WHISK_WORK_ITEM_ID -type worker_done \\
    -subject "Done" -body "What you did"""

BUILTIN_TEMPLATES = (
    _builtin(
        id="plan",
        name="Plan",
        body=f"""Plan this work. Do not change any file and do not implement anything.

{_SUBJECT}

Read what you need, then present the plan by leaving plan mode (ExitPlanMode). Where that is not possible, submit it:
  ${{WHISK_CLI:-whisk}} workflow submit-plan -body 'The plan'

{_ASKING}
""",
    ),
    _builtin(
        id="implement",
        name="Implement",
        body=f"""Implement this work, following the approved plan where there is one.

{_SUBJECT}

{{{{plan}}}}

Worktree: {{{{worktree.path}}}} (branch {{{{worktree.branch}}}})

{_ASKING}

{_DONE}
""",
    ),
    _builtin(
        id="review",
        name="Review",
        body=f"""Review the work that was done for this item. Change nothing; report what you find, the worst first.

{_SUBJECT}

Worktree: {{{{worktree.path}}}} (branch {{{{worktree.branch}}}})

{_ASKING}

{_DONE}
""",
    ),
)


def find_template(template_id: str) -> PromptTemplate:
    for template in BUILTIN_TEMPLATES:
        if template.id == template_id:
            return template
    known = [template.id for template in BUILTIN_TEMPLATES]
    raise InvalidError(f"prompt template {template_id} not found", field="promptTemplateId", known=known)


def render(template: PromptTemplate, project: Project, item: WorkItem, plan: str = "") -> str:
    """The text for one item. A placeholder that nothing is known for becomes empty; an unknown one stays as it is.

    So do those of the worktree while the item has none: it may get one when the run is launched, see `place`.
    """
    values = {
        "project.name": project.name,
        "project.rootDir": project.root_dir,
        "work_item.id": item.id,
        "work_item.number": str(item.number),
        "work_item.title": item.title,
        "work_item.bodyMarkdown": item.body_markdown,
        "work_item.stageId": item.stage_id,
        "attachments": _attachments((*project.attachments, *item.attachments)),
        "plan": f"The approved plan:\n\n{_cut(plan, PLAN_LIMIT)}" if plan.strip() else "",
    }
    if item.worktree is not None:
        values |= _worktree(project, item)
    # The gap that an empty value leaves is closed before anybody's own text, with its own blank lines, is put in.
    body = _PLACEHOLDER.sub(lambda match: match[0] if values.get(match[1], "?") else "", template.body)
    body = re.sub(r"\n{3,}", "\n\n", body).strip() + "\n"
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), body)


def place(prompt: str, project: Project, item: WorkItem) -> str:
    """The prompt of a run that is about to start: now it is known where it will work."""
    values = _worktree(project, item)
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), prompt)


def with_feedback(prompt: str, feedback: str) -> str:
    """The prompt of a run that is to go on after a review. What was said last comes last, and is never left out."""
    said = f"\n\nYour work was reviewed. Go on with this feedback:\n\n{feedback.strip()}\n"
    kept = _cut(prompt.rstrip(), max(PROMPT_LIMIT - len(said.encode()), 0))
    return kept + said


def _worktree(project: Project, item: WorkItem) -> dict[str, str]:
    bound = item.worktree
    return {
        "worktree.branch": bound.branch if bound is not None else "the project's own",
        "worktree.path": bound.worktree_path if bound is not None else project.root_dir,
    }


def _cut(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8, saying so where something is missing."""
    data = text.encode()
    if len(data) <= limit:
        return text
    rest = "\n(cut here; whisk workflow artifacts -json has all of it)"
    return data[: max(limit - len(rest), 0)].decode("utf-8", "ignore") + rest


def _attachments(attachments: tuple[Attachment, ...]) -> str:
    lines = [f"- {each.title or each.kind}: {_subject(each)}" for each in attachments]
    return "Attachments:\n" + "\n".join(lines) if lines else ""


def _subject(attachment: Attachment) -> str:
    where = attachment.path or attachment.url or attachment.note
    return where or f"{attachment.target} ({attachment.provider})"
