"""A local Spark session listens on this machine only, and requires its secret."""

import socket
import struct
from pathlib import Path

import pytest

from grantpath.spark_sync.session import spark_session

pytestmark = pytest.mark.spark
RPC_REQUEST, RPC_FAILURE = 3, 5


def reply(port: int, body: bytes) -> tuple[int, str]:
    """The kind and the text of Spark's answer to a request by a process without the secret."""
    message = struct.pack(">BqI", RPC_REQUEST, 1, len(body))
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(struct.pack(">Q", 8 + len(message) + len(body)) + message + body)
        answer = connection.recv(65_536)
        assert connection.recv(65_536) == b"", "the connection was kept"
    kind, _, size = struct.unpack_from(">BqI", answer, 8)
    return kind, answer[21 : 21 + size].decode(errors="replace")


def test_a_local_session_requires_its_own_secret() -> None:
    """With Spark 3.5 and 4.0, the settings are in effect, and the secret is not visible anywhere."""
    spark = spark_session.engine(print).spark
    conf = spark.sparkContext.getConf()
    environment = spark.sparkContext._jvm.org.apache.spark.SparkEnv.get()  # type: ignore[union-attr]
    manager = environment.securityManager()
    assert manager.isAuthenticationEnabled() and manager.isEncryptionEnabled()
    secret = manager.getSecretKey()
    assert len(secret) >= 32
    assert secret not in str(conf.getAll())
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(secret.encode() in line for line in lines)
    assert conf.get("spark.ui.enabled") == "false" and spark.sparkContext.uiWebUrl is None
    assert conf.get("spark.driver.bindAddress") == conf.get("spark.driver.host") == "127.0.0.1"


def test_process_without_the_secret_is_refused() -> None:
    spark = spark_session.engine(print).spark
    environment = spark.sparkContext._jvm.org.apache.spark.SparkEnv.get()  # type: ignore[union-attr]
    blocks = environment.blockManager().blockTransferService().port()
    driver = spark.sparkContext.getConf().get("spark.driver.port")
    assert driver is not None
    for port in (int(driver), blocks):
        kind, text = reply(port, b"\0" * 40)
        assert kind == RPC_FAILURE and "network.crypto.AuthRpcHandler" in text, text
