"""The table of all commands: name, first sentence of the help, and the declaration to load when it is typed.

A test loads each declaration and compares. Groups have no declaration: their commands are listed here. Commands that
create jobs are added from the recipes, to a group of the table or next to `job`.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, TypeAlias

from gossamer.recipes.base import Recipe
from gossamer.recipes.registry import RECIPES


class Row(NamedTuple):
    """A command of a group, or a group inside a group."""

    name: str
    help: str
    target: str = ""  # "module:declaration", the module one of this package
    recipe: str = ""  # whose jobs it creates; the command is built from the recipe's declaration

    @property
    def is_group(self) -> bool:
        return not (self.target or self.recipe)


Commands: TypeAlias = Mapping[str, Mapping[str, tuple[Row, ...]]]

# By the words typed before the command, then by the section of the help.
_LISTED: Commands = {
    "": {
        "Jobs": (
            Row("job", "Run, watch and control jobs."),
            Row(
                "explain",
                "Explain what a job did about one address: where it was found, robots.txt, every try, the outcome.",
                "job_view:explain",
            ),
        ),
        "Servers": (
            Row("serve", "Start the HTTP API server, which also runs its jobs.", "server:run_server"),
            Row("worker", "Run a worker of a cluster until it is stopped.", "server:run_worker"),
            Row(
                "login",
                "Log in to a server, which 'job', 'system', 'scrape', 'webhook' and 'explain' use from then on.",
                "server:log_in",
            ),
            Row("logout", "Log out of the server, so that commands use this machine again.", "server:log_out"),
            Row("account", "Manage the server's accounts, their users and limits."),
            Row("webhook", "Manage webhooks, which notify other programs about jobs."),
        ),
        "This installation": (
            Row(
                "doctor",
                "Check the data folder, the database, the machine and the network, and suggest fixes.",
                "installation:run_doctor",
            ),
            Row("system", "Maintenance and administration."),
            Row("db", "Upgrade, back up and restore the database."),
            Row(
                "completion",
                "Print a script that completes commands, options, choices and jobs in your shell.",
                "installation:completion",
            ),
        ),
    },
    "job": {
        "Run and control": (
            Row(
                "estimate",
                "Estimate the cost of a job from similar jobs and what is known about its domains.",
                "job:estimate",
            ),
            Row("start", "Start a job that was created with --no-auto-start.", "job:start"),
            Row("pause", "Pause a job: requests in flight finish, nothing is lost.", "job:pause"),
            Row("resume", "Resume a paused, interrupted or cancelled job where it stopped.", "job:resume"),
            Row("cancel", "Cancel a job: requests in flight finish.", "job:cancel"),
            Row("retry-failed", "Retry domains and pages that failed and may work now.", "job:retry_failed"),
            Row("rerun", "Run a job again: a new job with the same domains or pages, options and limits.", "job:rerun"),
            Row("rename", "Rename a job.", "job:rename"),
        ),
        "Inspect": (
            Row("list", "List all jobs, newest first.", "job_view:list_jobs"),
            Row("status", "Show a job's progress, speed and costs, and when it will be done.", "job_view:status"),
            Row(
                "watch",
                "Watch a job that runs in another terminal or in the background, without running it.",
                "job_view:job_watch",
            ),
            Row(
                "sites", "List a job's domains: pages read, size, and why each ended as it did.", "job_view:list_sites"
            ),
            Row(
                "pages",
                "List a job's pages by domain: how each ended, why, and after how many tries.",
                "job_view:list_pages",
            ),
            Row("results", "List a job's results page by page, also while it runs.", "job_view:results"),
            Row(
                "summary",
                "Summarize a job on one screen: counts, the best prospects, why domains failed, costs, politeness.",
                "job_view:summary",
            ),
        ),
        "Analyze": (
            Row("errors", "List the domains of a job that failed, and why.", "job_view:errors"),
            Row(
                "history", "List what happened to a job and its domains: when, by whom and why.", "job_view:job_history"
            ),
            Row(
                "cost-report",
                "Show what each domain of a job has cost, and through which requests.",
                "job_view:cost_report",
            ),
            Row(
                "politeness",
                "Check that a job was polite, from its stored requests: gaps, Crawl-delay, robots.txt.",
                "job_view:politeness",
            ),
            Row(
                "audit",
                "Check that a job is complete: every page, domain and record is accounted for, without duplicates.",
                "job_view:audit",
            ),
        ),
        "Files": (
            Row(
                "export",
                "Export a job's results to files in the background; the results so far while it is running.",
                "job_export:job_export",
            ),
            Row(
                "export-status",
                "Show the progress of a job's exports, and links to the files that are ready.",
                "job_export:export_status",
            ),
            Row("exports", "List a job's exports, including expired ones.", "job_export:list_exports"),
            Row("export-cancel", "Cancel a job's unfinished exports.", "job_export:export_cancel"),
        ),
        "Remove": (
            Row("delete", "Delete everything a job has found.", "job:delete"),
            Row(
                "forget",
                "Remove everything that jobs have stored about a page or a domain, for instance when its owner asks.",
                "job:forget",
            ),
        ),
    },
    "account": {
        "Commands": (
            Row("create", "Create an account.", "account:create"),
            Row("list", "List all accounts, their limits, and their usage this month.", "account:list_accounts"),
            Row("set", "Set an account's limits, or close it.", "account:set_limits"),
            Row("add-user", "Add a user to an account.", "account:add_user"),
            Row(
                "set-password",
                "Change a user's password, asked for or read from standard input.",
                "account:set_password",
            ),
        ),
    },
    "webhook": {
        "Commands": (
            Row("add", "Add a webhook.", "webhook:add"),
            Row("list", "List webhooks, and whether they work.", "webhook:list_endpoints"),
            Row("test", "Send a test message now, and show the response.", "webhook:try_endpoint"),
            Row("deliveries", "List the messages of the last 30 days and the responses.", "webhook:deliveries"),
            Row("replay", "Send a message again under the same id, even if it was delivered.", "webhook:replay"),
            Row("send", "Send the messages that are due.", "webhook:send"),
            Row("rotate", "Replace a webhook's secret.", "webhook:rotate"),
            Row("enable", "Enable a webhook again.", "webhook:enable"),
            Row("disable", "Disable a webhook.", "webhook:disable"),
            Row("remove", "Remove a webhook and the log of its messages.", "webhook:remove"),
        ),
    },
    "system": {
        "Commands": (
            Row("alerts", "List alerts: problems that need attention.", "system:show_alerts"),
            Row("keys", "Manage API keys of the server."),
            Row("dead-letters", "Manage domains that were given up after crashes."),
            Row("retention", "Show when each job's results are hidden and deleted.", "system:show_retention"),
            Row(
                "workers",
                "List the worker processes of this machine or cluster, their capacity, and when each was last seen.",
                "system:show_workers",
            ),
            Row(
                "cluster-settings",
                "Show the settings that all machines of a cluster must share, and which machine set them first.",
                "system:show_cluster_settings",
            ),
            Row(
                "queue-status",
                "Show waiting and running visits by lane and job, and background work by kind.",
                "system:show_queue",
            ),
            Row(
                "backlog",
                "Print how many visits of a lane need a worker now, as one number for autoscalers.",
                "system:show_backlog",
            ),
            Row(
                "metrics",
                "Show metrics of the whole system: recent throughput, capacity, queues, errors.",
                "system:show_metrics",
            ),
            Row(
                "credits",
                "Show provider credits and dollars spent today and this month, by provider and by job, and the limits.",
                "system:show_credits",
            ),
        ),
    },
    "system keys": {
        "Commands": (
            Row("create", "Create an API key, and show it once.", "system:create_key"),
            Row(
                "list",
                "List the API keys of an account, what they may do, and when they were last used.",
                "system:list_keys",
            ),
            Row("revoke", "Revoke an API key permanently.", "system:revoke_key"),
        ),
    },
    "system dead-letters": {
        "Commands": (
            Row(
                "list",
                "List dead letters: domains that were given up after three crashes of their worker.",
                "system:list_dead_letters",
            ),
            Row(
                "show",
                "Show a dead letter: its job, its domain, the last error, and what you can do.",
                "system:show_dead_letter",
            ),
            Row(
                "retry",
                "Crawl the domain of a dead letter again (up to 3 crashes), and resume its job.",
                "system:retry_dead_letter",
            ),
            Row("drop", "Remove a dead letter from the list.", "system:drop_dead_letter"),
        ),
    },
    "db": {
        "Commands": (
            Row("upgrade", "Upgrade the database to this program's schema.", "installation:upgrade"),
            Row(
                "roles",
                "Print the SQL that creates two Postgres roles: one for upgrades, one for work.",
                "installation:print_roles",
            ),
            Row("backup", "Back up the embedded database to a file, also while jobs run.", "installation:back_up"),
            Row("restore", "Replace the embedded database with a backup.", "installation:restore"),
        ),
    },
}


@cache
def commands() -> Commands:
    """All commands, those of recipes included. Call it only after plug-ins are loaded, which may add recipes."""
    made = dict(_LISTED)
    for recipe in RECIPES.values():
        *before, name = recipe.command.path
        group = " ".join(before)
        if group not in made:
            made[""] = _with(made[""], Row(group, f"Jobs of the recipe {recipe.name}."), after=1)
            made[group] = {"Jobs": ()}
        row = Row(name, _first_sentence(recipe), recipe=recipe.name)
        made[group] = _with(made[group], row, after=0 if before else 1)
    return made


def _with(sections: Mapping[str, tuple[Row, ...]], row: Row, after: int) -> Mapping[str, tuple[Row, ...]]:
    """Add a row to the first section of a group, after `after` rows and those of other recipes."""
    title, rows = next(iter(sections.items()))
    at = after + sum(bool(one.recipe) for one in rows)
    return {**sections, title: (*rows[:at], row, *rows[at:])}


def _first_sentence(recipe: Recipe) -> str:
    return " ".join(recipe.command.help.partition("\n\n")[0].split())
