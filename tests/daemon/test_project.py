"""Projects are told apart by their ids: neither a folder's name nor the way to it makes one out of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.daemon.conftest import Whiskd


def create(place: Whiskd, root: str) -> str:
    return place.cli("project", "create", "-root", root, check=0).stdout.strip()


def test_two_checkouts_of_one_name_are_two_projects_with_mail_of_their_own(daemon: Whiskd) -> None:
    roots = [daemon.home / where / "app" for where in ("one", "two")]
    for root in roots:
        root.mkdir(parents=True)
    first, second = (create(daemon, str(root)) for root in roots)
    assert [each["slug"] for each in daemon.json("project", "list")] == ["app", "app"]
    items = [daemon.json("work-item", "create", "-project", each, "-title", "Fix it") for each in (first, second)]
    assert [item["number"] for item in items] == [1, 1]
    runs = [daemon.json("run", "start", "-work-item", item["id"], "-launch=false") for item in items]
    basic = ("mail", "send", "-from", "run:a", "-type", "status", "-subject", "s")
    daemon.cli(*basic, "-to", f"project:{first}", check=0)
    sent = daemon.json(*basic, "-to", f"@project:{second}")
    assert [each["address"]["id"] for each in sent["recipients"]] == [runs[1]["id"]]
    assert daemon.cli("mail", "check", "-to", f"project:{second}", check=0).stdout == "no mail\n"
    assert daemon.json("mail", "check", "-to", f"project:{first}")["message"]["subject"] == "s"


def test_a_project_reached_by_a_link_is_the_one_that_was_named(daemon: Whiskd) -> None:
    """Its id is what counts from then on, so the way to it splits nothing and joins nothing."""
    real = daemon.home / "real"
    real.mkdir()
    link = daemon.home / "link"
    link.symlink_to(real)
    project = create(daemon, str(link))
    item = daemon.json("work-item", "create", "-project", project, "-title", "Fix it")
    runs = [daemon.json("run", "start", "-work-item", item["id"], "-agent-profile", "plain-shell") for _ in range(2)]
    for root in (link, real):
        daemon.json("session", "create", "-root", str(root), "-project", project, "-command", "pwd -P; echo do''ne")
    ptys = [each for each in daemon.get("/v1/ptys") if not each.get("runId")]
    for pty in ptys:
        daemon.cli("session", "pty", "expect", pty["id"], "done", "-from", "0", check=0)
        assert f"{real}\n" in daemon.cli("session", "pty", "output", "-plain", pty["id"], check=0).stdout
    basic = ("mail", "send", "-from", "project:p", "-type", "status", "-subject", "s")
    sent = daemon.json(*basic, "-to", f"@project:{project}")
    expected = {f"run:{run['id']}" for run in runs} | {f"pty:{pty['id']}" for pty in ptys}
    assert {f"{each['address']['kind']}:{each['address']['id']}" for each in sent["recipients"]} == expected
    assert len(daemon.json("project", "list")) == 1
