"""Every command: what is typed, the first sentence of its help, and the declaration that is loaded when it is typed.

A test loads each declaration and compares. Groups have no declaration: their commands are listed here. Commands that
make jobs are not: they are added from the recipes, in a group of the table or next to `job`.
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
    recipe: str = ""  # of which it makes jobs: such a command is built of what the recipe declares

    @property
    def is_group(self) -> bool:
        return not (self.target or self.recipe)


Commands: TypeAlias = Mapping[str, Mapping[str, tuple[Row, ...]]]

# By what is typed before the commands; each group by the sections of its help.
_LISTED: Commands = {
    "": {
        "Jobs": (
            Row("job", "Run, watch and steer jobs."),
            Row(
                "explain",
                "Tell the story of one address in a job: where it was found, what robots.txt said, every try, what "
                "came of it.",
                "job_view:explain",
            ),
        ),
        "Servers": (
            Row(
                "serve",
                "Listen for other programs: an HTTP interface to jobs and their results, with a page that describes "
                "it.",
                "server:run_server",
            ),
            Row(
                "worker",
                "Work for a cluster until told to stop: Postgres, Redis and a broker carry what many machines share.",
                "server:run_worker",
            ),
            Row(
                "login",
                "Log in to a server: from now on 'job', 'system', 'scrape' and 'explain' are about it.",
                "server:log_in",
            ),
            Row(
                "logout",
                "Forget the server and the key: commands are about this machine again.",
                "server:log_out",
            ),
            Row("account", "Accounts of the server, their users and limits."),
            Row("webhook", "Tell other programs what happens to jobs."),
        ),
        "This installation": (
            Row(
                "doctor",
                "Look at the home, the database, the machine and the network, and say what to do about what is wrong.",
                "installation:run_doctor",
            ),
            Row("system", "Maintenance and administration."),
            Row("db", "Look after the database."),
            Row(
                "completion",
                "Print a script that completes commands, options, choices and jobs in your shell.",
                "installation:completion",
            ),
        ),
    },
    "job": {
        "Start and steer": (
            Row(
                "estimate",
                "What a job would cost, by jobs like it and by what is known of its domains.",
                "job:estimate",
            ),
            Row("start", "Start a job that was created with --no-auto-start.", "job:start"),
            Row("pause", "Pause a job: requests in flight finish, nothing is lost.", "job:pause"),
            Row(
                "resume",
                "Go on with a paused, stopped or cancelled job, exactly where it was.",
                "job:resume",
            ),
            Row("cancel", "Cancel a job: requests in flight finish.", "job:cancel"),
            Row("retry-failed", "Try again what failed and may work by now.", "job:retry_failed"),
            Row(
                "rerun",
                "Run a job once more: a new job with the same domains or pages, options and limits.",
                "job:rerun",
            ),
            Row("rename", "Give a job another name.", "job:rename"),
        ),
        "Look": (
            Row("list", "All jobs, newest first.", "job_view:list_jobs"),
            Row(
                "status",
                "How far a job is, how fast, and when it will be done.",
                "job_view:status",
            ),
            Row(
                "watch",
                "Watch a job that runs in another terminal or in the background, without ever working it.",
                "job_view:job_watch",
            ),
            Row(
                "sites",
                "A job's domains: pages read, size, and why each ended as it did.",
                "job_view:list_sites",
            ),
            Row(
                "pages",
                "A job's pages, domain by domain: how each ended, why, and after how many tries.",
                "job_view:list_pages",
            ),
            Row(
                "results",
                "A job's results, a page at a time, while it runs too.",
                "job_view:results",
            ),
            Row(
                "summary",
                "A whole job on one screen: counts, the best prospects, why domains failed, costs, politeness.",
                "job_view:summary",
            ),
        ),
        "Understand": (
            Row("errors", "Which domains of a job failed, and why.", "job_view:errors"),
            Row(
                "history",
                "What happened to a job, its domains and their visits: when, who did it and why.",
                "job_view:job_history",
            ),
            Row(
                "cost-report",
                "What each domain of a job has cost, and by which requests.",
                "job_view:cost_report",
            ),
            Row(
                "politeness",
                "Prove from the rows that a job was polite: gaps, Crawl-delay, robots.txt.",
                "job_view:politeness",
            ),
            Row(
                "audit",
                "Prove from the rows that a job is whole: every page, domain and record accounted for, nothing double.",
                "job_view:audit",
            ),
        ),
        "Files": (
            Row(
                "export",
                "Make files of a job's results, in the background; of what there is so far, if it still runs.",
                "job_view:job_export",
            ),
            Row(
                "export-status",
                "How far the files of a job are, and where those are that are ready.",
                "job_view:export_status",
            ),
            Row(
                "exports",
                "All files that were made of a job, also those that are gone.",
                "job_view:list_exports",
            ),
            Row("export-cancel", "Stop making files of a job.", "job_view:export_cancel"),
        ),
        "Remove": (
            Row("delete", "Delete everything a job has found.", "job:delete"),
            Row(
                "forget",
                "Remove what all jobs have stored about a page or a domain, for instance because its owner asks.",
                "job:forget",
            ),
        ),
    },
    "account": {
        "Commands": (
            Row("create", "Make an account.", "account:create"),
            Row(
                "list",
                "All accounts, their limits, and what they have used in this month.",
                "account:list_accounts",
            ),
            Row("set", "Give an account limits of its own, or close it.", "account:set_limits"),
            Row("add-user", "Let a person log in.", "account:add_user"),
            Row(
                "set-password",
                "Give a person another password, asked for or read from standard input.",
                "account:set_password",
            ),
        ),
    },
    "webhook": {
        "Commands": (
            Row("add", "Add a webhook.", "webhook:add"),
            Row("list", "The webhooks there are, and how they do.", "webhook:list_endpoints"),
            Row("test", "Send a test message now, and say what came back.", "webhook:try_endpoint"),
            Row(
                "deliveries",
                "What was sent and what came of it, for 30 days.",
                "webhook:deliveries",
            ),
            Row(
                "replay",
                "Send a message once more, under the same id, whatever became of it.",
                "webhook:replay",
            ),
            Row("send", "Send now what is due.", "webhook:send"),
            Row("rotate", "Give a webhook a new secret.", "webhook:rotate"),
            Row("enable", "Switch a webhook on again.", "webhook:enable"),
            Row("disable", "Switch a webhook off.", "webhook:disable"),
            Row(
                "remove",
                "Remove a webhook, with the log of what was sent to it.",
                "webhook:remove",
            ),
        ),
    },
    "system": {
        "Commands": (
            Row(
                "alerts",
                "What the program wants a person to know, each thing once, until it is over.",
                "system:show_alerts",
            ),
            Row("keys", "API keys of the server."),
            Row("dead-letters", "Visits that were given up."),
            Row(
                "retention",
                "Which results are hidden, and when each job's results are hidden and deleted.",
                "system:show_retention",
            ),
            Row(
                "workers",
                "The working processes of this machine or cluster: how much each does at a time, and when it was "
                "last heard of.",
                "system:show_workers",
            ),
            Row(
                "cluster-settings",
                "The settings that all machines of a cluster must share, and which machine set them first.",
                "system:show_cluster_settings",
            ),
            Row(
                "queue-status",
                "What waits for a slot, what is on its way and what is being walked, by lane and job; and desk work "
                "by kind.",
                "system:show_queue",
            ),
            Row(
                "backlog",
                "How many visits of a lane want a worker now, as one number: what an autoscaler goes by.",
                "system:show_backlog",
            ),
            Row(
                "metrics",
                "Figures of the whole system, all of them from rows: work done in the last minutes, room, what waits.",
                "system:show_metrics",
            ),
            Row(
                "credits",
                "Provider credits and dollars: spent today and this month, by provider and by job, and what is left "
                "of the limits.",
                "system:show_credits",
            ),
        ),
    },
    "system keys": {
        "Commands": (
            Row(
                "create",
                "Make a key and show it: this once, and never again.",
                "system:create_key",
            ),
            Row(
                "list",
                "The keys of an account: what they may do, and when they were last used.",
                "system:list_keys",
            ),
            Row("revoke", "Refuse a key from now on, for good.", "system:revoke_key"),
        ),
    },
    "system dead-letters": {
        "Commands": (
            Row(
                "list",
                "Visits that ended their worker three times and wait for somebody to look after them.",
                "system:list_letters",
            ),
            Row(
                "show",
                "One of them: its job, its site, what happened last, and what you can do.",
                "system:show_letter",
            ),
            Row(
                "retry",
                "Let it be walked again, with three lives; its job runs again if it was at rest.",
                "system:retry_letter",
            ),
            Row("drop", "Take it off the list.", "system:drop_letter"),
        ),
    },
    "db": {
        "Commands": (
            Row("upgrade", "Bring the database to this program's schema.", "installation:upgrade"),
            Row(
                "roles",
                "Print the SQL that makes two roles for Postgres: one to upgrade with, one to work with.",
                "installation:print_roles",
            ),
            Row(
                "backup",
                "Write a copy of the embedded database, also while jobs run.",
                "installation:back_up",
            ),
            Row(
                "restore",
                "Put a copy back in the place of the embedded database.",
                "installation:restore",
            ),
        ),
    },
}


@cache
def commands() -> Commands:
    """All commands. It is asked for when plug-ins are loaded: recipes may be among them."""
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
    """The sections of a group with a row more in the first: behind so many, and behind other recipes' rows."""
    title, rows = next(iter(sections.items()))
    at = after + sum(bool(one.recipe) for one in rows)
    return {**sections, title: (*rows[:at], row, *rows[at:])}


def _first_sentence(recipe: Recipe) -> str:
    return " ".join(recipe.command.help.partition("\n\n")[0].split())
