"""An S3 server on the loopback address, to which the usual variables point, and the jars by which Spark uses it."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from pyarrow.fs import S3FileSystem

from grantpath.graph.artifacts.jars import ensure_jars
from grantpath.graph.files.remote_path import RemotePath, path_at

LOCK = Path(__file__).with_name("hadoop-aws-3.3.4.lock")
KEY, SECRET = "AKIAEXAMPLE0", "a-secret-that-nothing-prints"
RUNNING = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")


@contextmanager
def object_store(name: str | None = None) -> Iterator[str]:
    """The URI of a new bucket, with this name or one of its own. The environment of this process has its endpoint and
    its login."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with (
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        assert server.stderr
        found = next(filter(None, map(RUNNING.search, server.stderr)), None)
        assert found, "the S3 server did not start"
        for variable, value in {
            "AWS_ENDPOINT_URL": found[1],
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            patch.setenv(variable, value)
        bucket = name or f"grantpath-{uuid4().hex}"
        S3FileSystem(endpoint_override=found[1], allow_bucket_creation=True).create_dir(bucket)
        server.stderr.close()  # the server goes on without its log
        try:
            yield f"s3://{bucket}"
        finally:
            server.kill()


def remote(uri: str) -> RemotePath:
    """The place with this URI."""
    found = path_at(uri)
    assert isinstance(found, RemotePath)
    return found


def hadoop_aws() -> list[Path]:
    """The jars of the connector `s3a` for the Hadoop of Spark 3.5, about 280 MB. Raises ServerError without them."""
    return ensure_jars(LOCK, print)
