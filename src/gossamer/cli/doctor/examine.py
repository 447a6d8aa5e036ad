"""Run all checks of `gossamer doctor` and print what they found. An error in one check is its finding."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import typer

from gossamer.cli.doctor import CheckResult, Level, fail, machine, ok, services, warn
from gossamer.cli.main import FAILED
from gossamer.cli.runtime import say, say_json
from gossamer.errors import UserError
from gossamer.settings import Settings, idle_variables, not_a_setting, read_settings

Check = Callable[[Settings], Awaitable[list[CheckResult]]]

NextStep = str | Callable[[Settings], str]

# The name of a check, its function, and the next step for errors that name none.
_CHECKS: tuple[tuple[str, Check, NextStep], ...] = (
    ("version", machine.check_version, ""),
    ("home", machine.check_home, "Point GOSSAMER_HOME at a folder of your own."),
    ("disk", machine.check_disk, "Point GOSSAMER_HOME at a folder of your own."),
    ("log", machine.check_log, "Change the permissions of the log, or set GOSSAMER_LOG_FILE."),
    ("database", services.check_database, services.next_step_for_database),
    ("redis", services.check_redis, "Check GOSSAMER_REDIS_URL."),
    ("storage", services.check_storage, "Check GOSSAMER_STORAGE_URL and its keys."),
    ("clock", machine.check_clock, ""),
    ("limits", machine.check_limits, ""),
    ("rules", services.check_rules, "Correct the file or the setting."),
    ("proxy", services.check_proxy, "Check GOSSAMER_PROXY."),
    ("names", services.check_names, "Check GOSSAMER_DNS_SERVERS."),
    ("browser", machine.check_browser, ""),
    ("providers", services.check_providers, "Check the settings of the provider."),
)

_WIDTH = 14  # columns for the name of a check


def show_health(*, as_json: bool) -> None:
    findings = asyncio.run(examine())
    counted = Counter(finding.level for finding in findings)
    if as_json:
        checks = [
            {"check": one.check, "level": str(one.level), "sentence": one.sentence, "next": one.next_step}
            for one in findings
        ]
        say_json({"healthy": not counted[Level.FAIL], "warnings": counted[Level.WARN], "checks": checks})
    else:
        for finding in findings:
            say(f"{finding.level:<5} {finding.check:<{_WIDTH}} {finding.sentence}")
            if finding.next_step:
                say(f"{'':<6}{'':<{_WIDTH}} -> {finding.next_step}")
        say(_summary(counted[Level.FAIL], counted[Level.WARN]))
    if counted[Level.FAIL]:
        raise typer.Exit(FAILED)


async def examine() -> list[CheckResult]:
    try:
        settings, unknown = read_settings()
    except UserError as error:
        # No check can run without settings.
        return [_trouble("settings", error, "Correct it.")]
    findings = [warn("settings", not_a_setting(name), "Correct its name.") for name in unknown]
    findings += [warn("settings", sentence, "Unset it, or leave it.") for sentence in idle_variables(settings)]
    if not findings:
        findings = [ok("settings", "Every setting is known and has a usable value.")]
    for name, check, next_step in _CHECKS:
        try:
            findings += await check(settings)
        except Exception as error:  # noqa: BLE001 - any error of a driver or the system is a finding
            step = next_step if isinstance(next_step, str) else next_step(settings)
            findings.append(_trouble(name, error, step))
    return findings


def _trouble(name: str, error: Exception, next_step: str) -> CheckResult:
    if isinstance(error, UserError):
        return fail(name, error.message, error.hint or next_step)
    said = next(iter(str(error).splitlines()), "") or type(error).__name__
    said = said.removesuffix(" 'gossamer doctor' says more.")  # this is the doctor
    return fail(name, said if said.endswith(".") else f"{said}.", next_step or "Report this, please.")


def _summary(failures: int, warnings: int) -> str:
    if not failures and not warnings:
        return "Everything is as it should be."
    counts = [(failures, "problem"), (warnings, "warning")]
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count) + "."
