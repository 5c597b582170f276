"""Report of `ebb doctor`: the state of this machine, and a fix for each missing part."""

import os
from collections.abc import Callable, Iterable

from app.config.settings import Settings
from app.doctor.finding import Finding

WORDS = {"ok": "OK", "warn": "WARNING", "fail": "WARNING"}
"""Labels of the levels in the security report."""


def doctor(settings: Settings) -> int:
    """Print one line per check. Returns 1 if the server would not start, else 0."""
    from app.doctor.npu_checks import look_for_npu

    if look_for_npu().breaks_torch:
        # The other checks can still run.
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    from app.doctor.checks import CHECKS

    findings = _run(CHECKS, settings, line)
    print(summary(findings))
    return 1 if any(finding.level == "fail" for finding in findings) else 0


def security_doctor(settings: Settings) -> int:
    """Print one line per security check. Returns 1 if there is a warning, else 0."""
    from app.doctor.security_checks import SECURITY_CHECKS

    findings = _run(SECURITY_CHECKS, settings, security_line)
    warnings = sum(finding.level != "ok" for finding in findings)
    counted = "1 warning" if warnings == 1 else f"{warnings} warnings"
    print(
        f"\n{counted}: see the lines that begin with an arrow." if warnings else "\nNothing is open that should not be."
    )
    return 1 if warnings else 0


def _run(
    checks: Iterable[Callable[[Settings], Finding]], settings: Settings, shown: Callable[[Finding], str]
) -> list[Finding]:
    findings = []
    for check in checks:
        finding = check(settings)
        print(shown(finding), flush=True)
        findings.append(finding)
    return findings


def line(finding: Finding) -> str:
    """Format a finding: `warn  redis      no server found` and, below it, the advice."""
    text = f"{finding.level:<5} {finding.subject:<10} {finding.text}"
    return f"{text}\n{'':<17}-> {finding.advice}" if finding.advice else text


def security_line(finding: Finding) -> str:
    """Format a security finding: `WARNING  redis      no password` and, below it, the advice."""
    text = f"{WORDS[finding.level]:<8} {finding.subject:<10} {finding.text}"
    return f"{text}\n{'':<20}-> {finding.advice}" if finding.advice else text


def summary(findings: Iterable[Finding]) -> str:
    """Return the last line of the report."""
    levels = [finding.level for finding in findings]
    if "fail" in levels:
        return "\nThe server will not start like this: see the lines that begin with fail."
    if "warn" in levels:
        return "\nThe server will start; the lines that begin with warn say what is missing."
    return "\nNo problems found. Start the server with: ebb serve"
