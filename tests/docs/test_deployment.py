"""The files of docs/deploy agree with the service, the settings and the versions that the product has."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.routing import APIRoute

from grantpath.engine.cli.settings import KEYS
from grantpath.graph.embedded.home import RELEASES, SETTINGS

HOUSE = Path(__file__).parents[2]
DEPLOY = HOUSE / "docs" / "deploy"
SETTING = "internal.cypher.use_parameter_size=false"


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return found


def deployment() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    assert found["kind"] == "Deployment"
    return found["spec"]["template"]["spec"]  # type: ignore[no-any-return]


def paths() -> set[str]:
    """The paths of the service."""
    spec = importlib.util.spec_from_file_location(
        "deployed_service", HOUSE / "docs" / "examples" / "service" / "app.py"
    )
    assert spec and spec.loader
    service = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(service)
    return {route.path for route in service.app.routes if isinstance(route, APIRoute)}


def test_neo4j_is_the_tested_line_with_the_setting_of_the_embedded_server() -> None:
    neo4j = compose()["neo4j"]
    line = neo4j["image"].removeprefix("neo4j:").removesuffix("-community")
    assert line in RELEASES
    assert SETTING in SETTINGS
    name, _, value = SETTING.partition("=")
    variable = "NEO4J_" + name.replace("_", "__").replace(".", "_")
    assert neo4j["environment"][variable] == value
    assert all(port.startswith("127.0.0.1:") for port in neo4j["ports"])


def test_services_start_no_embedded_server_and_use_known_variables() -> None:
    container = deployment()["containers"][0]
    for given in (compose()["service"]["environment"], {each["name"]: each.get("value") for each in container["env"]}):
        assert given["GRANTPATH_EMBEDDED"] == "never"
        assert {name for name in given if not name.startswith("SERVICE_")} <= {
            name for key in KEYS.values() for name in (key.variable, key.other_variable)
        }


def test_probes_and_ports_are_those_of_the_service() -> None:
    container = deployment()["containers"][0]
    probe = container["readinessProbe"]["httpGet"]
    assert probe["path"] in paths()
    command = next(
        line for line in (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines() if line.startswith("CMD ")
    )
    port = json.loads(command.removeprefix("CMD "))[-1]
    assert {str(probe["port"]), str(container["ports"][0]["containerPort"])} == {port}
    assert compose()["service"]["ports"] == [f"127.0.0.1:{port}:{port}"]


def test_the_secret_is_a_file_that_the_service_accepts() -> None:
    """Its mode is 0440 in the pod: tests/graph/test_private_files.py."""
    pod = deployment()
    container = pod["containers"][0]
    [mount] = container["volumeMounts"]
    given = {each["name"]: each.get("value") for each in container["env"]}
    assert given["NEO4J_PASSWORD_FILE"].startswith(mount["mountPath"] + "/")
    assert pod["volumes"][0]["secret"]["defaultMode"] == 0o400
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["fsGroup"] > 0


def engine() -> bool:
    docker = shutil.which("docker")
    return docker is not None and subprocess.run([docker, "info"], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not engine(), reason="no Docker engine on this machine")
def test_compose_starts_neo4j_and_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "only-for-tests")
    monkeypatch.setenv("SERVICE_SECRET", "only-for-tests")
    command = ["docker", "compose", "-f", str(DEPLOY / "compose.yaml")]
    try:
        subprocess.run([*command, "up", "--wait", "neo4j"], check=True, timeout=600)
        create = ["change", "add user:ann", "--root", "metalake:ml", "--policy", "gravitino", "--create"]
        monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:7687")
        subprocess.run(["grantpath", *create], check=True, timeout=120)
        subprocess.run([*command, "up", "--wait"], check=True, timeout=900)
        ready = subprocess.run(["curl", "-fsS", "http://127.0.0.1:8000/ready"], capture_output=True, check=True)
        assert json.loads(ready.stdout) == {"revision": 1}
    finally:
        subprocess.run([*command, "down", "--volumes"], check=True, timeout=300)
