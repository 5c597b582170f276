"""The Helm chart: linted and rendered by Helm itself, and its objects checked against the schemas of Kubernetes."""

# mypy: disable-error-code="import-not-found,import-untyped"

import subprocess
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import helm_python as helm
import kubernetes_validate
import pytest
import yaml

from app.config.secret import SECRET_BYTES
from app.config.settings import OPTIONS
from app.config.sizes import parse_size
from app.version import VERSION

CHART: Final = Path(__file__).parents[2] / "deploy" / "helm" / "ebb"
VERSIONS: Final = ("1.29", "1.37")
VALUES: Final[Mapping[str, dict[str, Any]]] = {
    "defaults": {},
    "everything": {
        "settings": {"model": "qwen", "replicas": 2, "public-url": "https://chat.example", "strict-fields": True},
        "secretSettings": {"EBB_DATABASE_URL": "postgresql://ebb:secret@db/ebb"},
        "ingress": {"enabled": True, "host": "chat.example", "className": "nginx", "tlsSecret": "chat-tls"},
        "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {}}]},
        "monitoring": {"enabled": True, "keySecret": "ebb-key"},
        "storage": {"data": {"size": "1Gi", "storageClass": "fast"}},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "imagePullSecrets": [{"name": "registry"}],
        "podAnnotations": {"a": "b"},
        "podLabels": {"team": "chat"},
        "redis": {"resources": {"limits": {"memory": "3Gi"}}},
        "service": {"type": "LoadBalancer", "annotations": {"c": "d"}},
    },
    "fleet": {"replicaCount": 3, "postgres": {"enabled": True}, "networkPolicy": {"enabled": True}},
    "nothing but the server": {
        "redis": {"enabled": False},
        "existingSecret": "mine",
        "firstKey": False,
        "serverSecret": "of mine",
        "replicaCount": 0,
        "storage": {"kv": {"size": ""}},
    },
}


@pytest.fixture
def chart() -> Iterator[Any]:
    with helm.Chart.load(CHART) as loaded:
        yield loaded


def rendered(chart: Any, values: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Render the chart as a release named `chat`, and return its objects by kind and name."""
    files = chart.render(values, name="chat", namespace="talk")
    texts = [text for name, text in files.items() if name.endswith(".yaml")]
    objects = [each for text in texts for each in yaml.safe_load_all(text) if each is not None]
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def pod_of(chart: Any, values: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = rendered(chart, values)["StatefulSet", "chat"]["spec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_helm_lint_finds_nothing(values: dict[str, Any]) -> None:
    found = helm.lint(CHART, values, strict=True)
    assert found["errors"] == []
    assert [each for each in found["messages"] if each["error"] != "icon is recommended"] == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_every_object_fits_the_schema_of_kubernetes(chart: Any, values: dict[str, Any], version: str) -> None:
    for (kind, _), found in rendered(chart, values).items():
        # The Prometheus operator defines this kind.
        if kind != "ServiceMonitor":
            kubernetes_validate.validate(found, version, strict=True)


def test_chart_and_server_have_one_version(chart: Any) -> None:
    assert (chart.version, chart.metadata["appVersion"]) == (VERSION, VERSION)


def test_settings_become_variables_that_the_server_knows(chart: Any) -> None:
    values = {"settings": {"max-num-batched-tokens": 1048576, "itl-target": 20, "strict-fields": True, "model": "q"}}
    variables = {each["name"]: each["value"] for each in pod_of(chart, values)["containers"][0]["env"]}
    assert variables == {
        "EBB_MAX_NUM_BATCHED_TOKENS": "1048576",
        "EBB_ITL_TARGET": "20",
        "EBB_STRICT_FIELDS": "true",
        "EBB_MODEL": "q",
        "EBB_REDIS_URL": "redis://chat-redis:6379",
        "EBB_DISK_KV_DIR": "/kv",
        "EBB_DISK_KV_SIZE": "20GiB",
        "EBB_SECRET_FILE": "/secret/secret",
    }
    assert variables.keys() <= {option.variable for option in OPTIONS}


def test_blocks_on_the_disk_have_their_own_volume(chart: Any) -> None:
    def volumes(values: dict[str, Any]) -> tuple[set[str], str]:
        found = rendered(chart, values)["StatefulSet", "chat"]["spec"]
        [server] = found["template"]["spec"]["containers"]
        sizes = {each["metadata"]["name"]: each["spec"] for each in found["volumeClaimTemplates"]}
        assert {"data", "models"} <= sizes.keys()
        assert ("kv" in sizes) == any(each["mountPath"] == "/kv" for each in server["volumeMounts"])
        [bound] = [each["value"] for each in server["env"] if each["name"] == "EBB_DISK_KV_SIZE"]
        if "kv" in sizes:
            assert parse_size(bound) == parse_size(sizes["kv"]["resources"]["requests"]["storage"] + "B")
        return set(sizes), bound

    assert volumes({"storage": {"kv": {"size": "1Ti"}}}) == ({"data", "models", "kv"}, "1TiB")
    assert volumes({"storage": {"kv": {"size": ""}}}) == ({"data", "models"}, "0")


def test_kubernetes_adds_no_variables(chart: Any) -> None:
    # A Service named `ebb` would otherwise set EBB_PORT, and Ebb refuses variables that it does not know.
    assert pod_of(chart, {})["enableServiceLinks"] is False


def test_secret_settings_are_only_in_the_secret(chart: Any) -> None:
    objects = rendered(chart, VALUES["everything"])
    assert objects["Secret", "chat-settings"]["stringData"] == VALUES["everything"]["secretSettings"]
    others = {name: each for name, each in objects.items() if name[0] != "Secret"}
    assert "secret@db" not in yaml.safe_dump(others)
    assert pod_of(chart, VALUES["everything"])["containers"][0]["envFrom"] == [{"secretRef": {"name": "chat-settings"}}]
    pod = pod_of(chart, VALUES["nothing but the server"])
    assert pod["containers"][0]["envFrom"] == [{"secretRef": {"name": "mine"}}]


def test_changed_secret_restarts_the_pod(chart: Any) -> None:
    def checksum(url: str) -> str:
        values = {"secretSettings": {"EBB_DATABASE_URL": url}}
        pod = rendered(chart, values)["StatefulSet", "chat"]["spec"]["template"]
        found: str = pod["metadata"]["annotations"]["checksum/settings"]
        return found

    assert checksum("postgresql://a") != checksum("postgresql://b")


def test_servers_of_a_fleet_share_database_redis_and_secret(chart: Any) -> None:
    objects = rendered(chart, VALUES["fleet"])
    server = pod_of(chart, VALUES["fleet"])["containers"][0]
    references = {each["name"]: each.get("valueFrom", each.get("value")) for each in server["env"]}
    assert references["EBB_DATABASE_URL"] == {"secretKeyRef": {"name": "chat-postgres", "key": "url"}}
    assert references["EBB_REDIS_URL"] == "redis://chat-redis:6379"
    [mount] = [each["mountPath"] for each in server["volumeMounts"] if each["name"] == "secret"]
    assert references["EBB_SECRET_FILE"] == f"{mount}/secret"
    assert len(b64decode(objects["Secret", "chat-secret"]["data"]["secret"])) == SECRET_BYTES
    secret = objects["Secret", "chat-postgres"]["stringData"]
    assert secret["url"] == f"postgresql://ebb:{secret['password']}@chat-postgres/ebb"
    # Each server has a separate state directory, which only one server can use.
    assert objects["StatefulSet", "chat"]["spec"]["volumeClaimTemplates"][0]["metadata"]["name"] == "data"
    assert objects["PodDisruptionBudget", "chat"]["spec"]["maxUnavailable"] == 1


def test_several_servers_without_a_database_are_refused(chart: Any) -> None:
    with pytest.raises(helm.errors.HelmRenderError, match="need a database that they share"):
        rendered(chart, {"replicaCount": 2})
    assert rendered(chart, {"replicaCount": 2, "secretSettings": {"EBB_DATABASE_URL": "postgresql://db/ebb"}})
    assert rendered(chart, {"replicaCount": 2, "existingSecret": "mine"})


def test_first_key_is_made_by_one_server_once(tmp_path: Path, chart: Any) -> None:
    """Run the script of the init container, with a command that notes its calls."""
    [first] = pod_of(chart, {})["initContainers"]
    script = first["command"][-1].replace("/data", str(tmp_path))
    program, calls = tmp_path / "ebb", tmp_path / "calls"
    program.write_text(f'#!/bin/sh\necho "$@" >>{calls}\necho sk-ebb-secret\n')
    program.chmod(0o755)
    for host in ("chat-1", "chat-0", "chat-0"):
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOSTNAME": host}
        subprocess.run(["sh", "-ceu", script], env=environment, check=True)
    assert calls.read_text() == "keys create first --admin\n"
    key = tmp_path / "first-key"
    assert (key.read_text(), key.stat().st_mode & 0o777) == ("sk-ebb-secret\n", 0o600)


def test_probes_ask_the_health_routes(chart: Any) -> None:
    [server] = pod_of(chart, {"startSeconds": 600})["containers"]
    paths = {name: server[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
    assert paths == {"startup": "/ready", "readiness": "/ready", "liveness": "/health"}
    startup = server["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] == 600


def test_pod_has_time_to_hand_over_its_answers(chart: Any) -> None:
    from app.host.supervisor import STOP_SECONDS

    assert pod_of(chart, {})["terminationGracePeriodSeconds"] > STOP_SECONDS


def test_every_container_runs_without_root_and_rights(chart: Any) -> None:
    for found in rendered(chart, VALUES["everything"]).values():
        spec = found["spec"] if found["kind"] == "Pod" else found.get("spec", {}).get("template", {}).get("spec", {})
        for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
            assert spec["securityContext"]["runAsNonRoot"] is True
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"setings": {}}, "setings"),
        ({"settings": {"port": 9000}}, "port"),
        ({"settings": {"database-url": "postgresql://a"}}, "database-url"),
        ({"replicaCount": -1}, "replicaCount"),
        ({"ingress": {"enabled": True}}, "host"),
        ({"storage": {"data": {"size": "10GB"}}}, "size"),
        ({"secretSettings": {"EBB_DATABASE_URL": ""}}, "EBB_DATABASE_URL"),
        ({"terminationGracePeriodSeconds": 5}, "terminationGracePeriodSeconds"),
    ],
)
def test_wrong_value_is_refused_by_name(chart: Any, values: dict[str, Any], named: str) -> None:
    with pytest.raises(helm.errors.HelmValuesError, match=named):
        chart.validate_schema(values)
