"""`ebb doctor`: what was found on this machine, and what to do about what was not."""

from collections.abc import Iterable

from app.checks import CHECKS, Finding
from app.config import Settings


def doctor(settings: Settings) -> int:
    """Print one line per check; 1 if the server would not start, else 0."""
    findings = []
    for check in CHECKS:
        finding = check(settings)
        print(line(finding), flush=True)
        findings.append(finding)
    print(summary(findings))
    return 1 if any(finding.level == "fail" for finding in findings) else 0


def line(finding: Finding) -> str:
    """`warn  redis      no server found` and, below it, what to do."""
    text = f"{finding.level:<5} {finding.subject:<10} {finding.text}"
    return f"{text}\n{'':<17}-> {finding.advice}" if finding.advice else text


def summary(findings: Iterable[Finding]) -> str:
    """The last line."""
    levels = [finding.level for finding in findings]
    if "fail" in levels:
        return "\nThe server will not start like this: see the lines that begin with fail."
    if "warn" in levels:
        return "\nThe server will start; the lines that begin with warn say what is missing."
    return "\nAll is well: ebb serve"
