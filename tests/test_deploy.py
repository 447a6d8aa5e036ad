"""Manifests are what Kubernetes and KEDA take, and what they ask for is what the command says."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from kubernetes_validate.utils import ValidationError, validate
from sqlalchemy import text

from gossamer.clock import SystemClock
from gossamer.db.database import PostgresDatabase
from gossamer.store import queue_status
from tests.jobs import claim_all, make_job
from tests.stories.program import Terminal

ROOT = Path(__file__).parent.parent
KUBERNETES = ("1.28", "1.36")  # an old one that is still met, and a new one
Manifest = dict[str, Any]


def manifests(name: str) -> dict[str, Manifest]:
    """By kind."""
    return {one["kind"]: one for one in yaml.safe_load_all((ROOT / "deploy" / name).read_text())}


def keda() -> dict[str, Manifest]:
    return manifests("keda.yaml")


def check_keda(manifest: Manifest) -> None:
    schema = json.loads((ROOT / "tests" / "keda.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(manifest)


@pytest.mark.parametrize("version", KUBERNETES)
def test_the_autoscaler_of_kubernetes_takes_its_manifest(version: str) -> None:
    (autoscaler,) = manifests("hpa.yaml").values()
    validate(autoscaler, version, strict=True)
    wrong = deepcopy(autoscaler)
    wrong["spec"]["minReplica"] = 1
    with pytest.raises(ValidationError):
        validate(wrong, version, strict=True)


def test_keda_takes_its_manifests() -> None:
    found = keda()
    assert set(found) == {"ScaledObject", "TriggerAuthentication"}
    for manifest in found.values():
        check_keda(manifest)
    (trigger,) = found["ScaledObject"]["spec"]["triggers"]
    assert trigger["authenticationRef"]["name"] == found["TriggerAuthentication"]["metadata"]["name"]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("pollInterval",), 15),
        (("minReplicaCount",), -1),
        (("triggers", 0, "metadata", "targetQueryValue"), 100),
        (("triggers", 0, "metadata", "activationQueryValue"), "0"),
        (("triggers", 0, "type"), "postgres"),
    ],
)
def test_what_keda_would_refuse_is_refused_here(where: tuple[str | int, ...], value: object) -> None:
    scaled = keda()["ScaledObject"]
    inner = scaled["spec"]
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        check_keda(scaled)


@pytest.mark.parametrize("version", KUBERNETES)
def test_what_keda_hands_on_to_the_autoscaler_is_taken_there(version: str) -> None:
    (autoscaler,) = manifests("hpa.yaml").values()
    handed = keda()["ScaledObject"]["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    validate({**autoscaler, "spec": {**autoscaler["spec"], "behavior": handed}}, version, strict=True)


def test_both_scale_the_same_deployment() -> None:
    (autoscaler,) = manifests("hpa.yaml").values()
    names = {one["spec"]["scaleTargetRef"]["name"] for one in (autoscaler, keda()["ScaledObject"])}
    assert names == {"gossamer-worker"}


async def test_the_query_of_keda_gives_the_backlog(new_postgres: Callable[[], str], tmp_path: Path) -> None:
    url = new_postgres()
    database = PostgresDatabase(url, SystemClock())
    await database.write(make_job, "a.test", "b.test")
    await database.write(claim_all)
    await database.write(make_job, "c.test")
    await database.write(make_job, "d.test", start=False)
    (trigger,) = keda()["ScaledObject"]["spec"]["triggers"]
    assert await database.read(lambda tx: tx.run(text(trigger["metadata"]["query"])).scalar_one()) == 3
    assert await database.read(queue_status.backlog, "http") == 3
    await database.close()
    terminal = Terminal(tmp_path / "home", settings={"GOSSAMER_DATABASE_URL": url})
    assert terminal.type("system", "backlog", "--lane", "http").stdout == "3\n"
    assert terminal.ask("system", "backlog", "--lane", "http") == {"lane": "http", "backlog": 3}
