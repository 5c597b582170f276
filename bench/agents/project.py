"""The project that an agent works on: a git repository with some files of this one, and questions about it."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = "app/prompts"
RULES: Final = "STYLE.md"
"""Rules of the project, which each agent reads under its own name."""
QUESTIONS: Final = (
    "What is this project about? Answer in two sentences.",
    "Which module should I read first, and why?",
    "How are the volatile lines of a system prompt found?",
    "Why does the time to find them have to be linear?",
    "What happens to a line that means something to a model?",
    "Which of these functions would you split, and where?",
    "What would you test first?",
    "How does the server recognize an answer that is sent back?",
    "Name the riskiest assumption in this code.",
    "Summarize what we have said so far.",
)


NEXT_QUESTION: Final = "Where would you add a new kind of line?"
"""First question of a second conversation."""


class Project:
    """The repository in `folder`, which this class creates."""

    def __init__(self, folder: Path, rules_name: str) -> None:
        """Create the repository.

        rules_name: name of the file from which the agent reads the rules.
        """
        self.folder = folder
        shutil.copytree(ROOT / SOURCES, folder, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / RULES, folder / rules_name)
        self._git("init", "--quiet", "--initial-branch=main")
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", "Add the prompts")

    @property
    def modules(self) -> list[str]:
        """Names of the modules, in order."""
        return sorted(path.name for path in self.folder.glob("*.py"))

    def edit(self, number: int) -> None:
        """Change a file, as the user does between turn `number` and the next one. The git status changes with it."""
        with (self.folder / f"notes-{number}.md").open("w") as notes:
            notes.write(f"Notes after turn {number}.\n")

    def _git(self, *arguments: str) -> None:
        author = ("-c", "user.name=User", "-c", "user.email=user@example.com")
        subprocess.run(["git", *author, *arguments], cwd=self.folder, check=True, capture_output=True)
