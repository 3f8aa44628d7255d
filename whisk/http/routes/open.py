"""The page that a link in a notice opens: which command shows the thing. It knows nothing but what the link says."""

from __future__ import annotations

import html
import re

from whisk.errors import NotFoundError
from whisk.http.api import Api
from whisk.http.reply import Text
from whisk.http.route import Request, Route
from whisk.matters.matter import NOUNS, command_for

_ID = re.compile(r"[a-z]{1,12}_[0-9A-HJKMNP-TV-Z]{26}")
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>whisk: {noun}</title>
<body style="font: 1rem/1.5 system-ui; max-width: 40rem; margin: 3rem auto; padding: 0 1rem">
<p>{noun} <code>{id}</code></p>
<pre style="padding: 1rem; border: 1px solid; overflow-x: auto">{command}</pre>
"""


def open_thing(_api: Api, request: Request[None, None]) -> Text:
    noun, id = request.path["noun"], request.path["thing_id"]
    if noun not in NOUNS or not _ID.fullmatch(id):
        raise NotFoundError("there is nothing of that name", id=id)
    command = command_for(noun, id)
    page = _PAGE.format(noun=html.escape(noun), id=html.escape(id), command=html.escape(command))
    return Text(page.encode(), "text/html; charset=utf-8")


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/open/{noun}/{thing_id}",
        open_thing,
        "Say which command shows a thing; for links in notices",
        reply=Text,
        auth="none",
        operation="openThing",
        media="text/html",
    ),
)
