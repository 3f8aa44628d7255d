"""Real git repositories for tests, with a home of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


class GitHouse:
    """`environ` is what a daemon would have here; repositories are made below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        home = self.folder / "home"
        home.mkdir()
        (home / ".gitconfig").write_text(
            "[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n"
            '[protocol "file"]\n\tallow = always\n'
        )
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(self, repo: Path, *words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(repo), *words], env=self.environ, capture_output=True, text=True, check=False
        )  # fmt: skip
        assert done.returncode == 0, f"git {words}: {done.stderr}"
        return done.stdout

    def repository(self, name: str = "app", *, commit: bool = True, bare: bool = False) -> Path:
        path = self.folder / name
        path.mkdir(parents=True)
        self.git(path, "init", "-q", *(["--bare"] if bare else []))
        if commit and not bare:
            self.commit(path, "readme", "hello\n")
        return path

    def commit(self, repo: Path, file: str, text: str) -> str:
        (repo / file).parent.mkdir(parents=True, exist_ok=True)
        (repo / file).write_text(text)
        self.git(repo, "add", "--", file)
        self.git(repo, "commit", "-q", "-m", f"write {file}")
        return self.git(repo, "rev-parse", "HEAD").strip()

    def branches(self, repo: Path) -> list[str]:
        return self.git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()

    def is_clean(self, repo: Path) -> bool:
        return self.git(repo, "status", "--porcelain") == ""
