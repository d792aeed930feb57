"""A real Spark cluster on this machine: a master, workers in processes of their own, and `spark-submit`."""

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyspark

from grantpath.graph.artifacts.java import java_for
from grantpath.spark_sync import job

SPARK_HOME = Path(pyspark.__file__).parent
STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
T = TypeVar("T")
WAIT, TIMEOUT = 180.0, 900.0  # seconds; other tests share the machine
DAEMON = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
LOGGING = """rootLogger.level = info
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex
"""


def environment() -> dict[str, str]:
    """The environment of Spark's own processes."""
    java = java_for("spark-3.5" if pyspark.__version__.startswith("3.") else "spark-4.0")
    own = {"JAVA_HOME": str(java), "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **own, "PYSPARK_PYTHON": sys.executable}


@dataclass
class Cluster:
    """A standalone master and its workers. The files of all of them are in `folder`."""

    folder: Path
    settings: Path
    master: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, class_: str, *arguments: str) -> Path:
        """Starts one of Spark's processes in a process group of its own. Returns its log."""
        log = self.folder / f"{name}.log"
        command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{class_}", "--host", "127.0.0.1"]
        with log.open("wb") as file:
            self.processes[name] = subprocess.Popen(
                [*command, "--webui-port", "0", "--properties-file", str(self.settings), *arguments],
                env={**environment(), **DAEMON},
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        return log

    def add_worker(self, name: str) -> None:
        """Starts a worker with one core; it registers itself with the master."""
        own = ["--cores", "1", "--memory", "1500m", "--work-dir", str(self.folder / name)]
        self.start(name, "worker.Worker", *own, self.master)

    def executor(self, name: str) -> str:
        """The number of the executor that a worker has started for the latest application."""
        [executor] = max((self.folder / name).glob("app-*")).iterdir()
        return executor.name

    def suspend(self, name: str) -> None:
        """Suspends a process together with all that it started."""
        os.killpg(self.processes[name].pid, signal.SIGSTOP)

    def kill(self, name: str) -> None:
        """Kills a process together with all that it started, without a chance to clean up."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def logs(self) -> str:
        """What all processes of the cluster and of its applications logged, with Spark's events and plans."""
        files = [path for path in self.folder.rglob("*") if path.name in ("stdout", "stderr") or path.suffix == ".log"]
        files += [path for path in self.folder.glob("app-*") if path.is_file()]
        return "\n".join(path.read_text(errors="replace") for path in files)


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A standalone cluster whose workers have one core each. Its processes require a secret of each other."""
    settings = folder / "spark.properties"
    settings.touch(0o600)
    (folder / "log4j2.properties").write_text(LOGGING)
    settings.write_text(
        "spark.authenticate true\nspark.network.crypto.enabled true\n"
        f"spark.authenticate.secret {secrets.token_hex(16)}\n"
        "spark.driver.host 127.0.0.1\nspark.driver.bindAddress 127.0.0.1\n"
        f"spark.driver.extraJavaOptions -Dlog4j2.configurationFile=file:{folder}/log4j2.properties\n"
        "spark.executor.memory 1g\nspark.sql.shuffle.partitions 4\nspark.sql.session.timeZone UTC\n"
        f"spark.eventLog.enabled true\nspark.eventLog.dir file://{folder}\n"
        + Path(os.environ["SPARK_CONF_DIR"], "spark-defaults.conf").read_text()
    )
    cluster = Cluster(folder, settings)
    try:
        log = cluster.start("master", "master.Master", "--port", "0")
        cluster.master = until(lambda: (found := STARTED.search(log.read_text())) and found[1])
        for number in range(workers):
            cluster.add_worker(f"worker-{number}")
        until(lambda: log.read_text().count("Registering worker") == workers)
        yield cluster
    finally:
        for name in [*cluster.processes]:
            cluster.kill(name)


@dataclass
class Submitted:
    """A running `spark-submit`, and the file with what its driver logs."""

    process: subprocess.Popen[bytes]
    log: Path

    def logged(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, text: str, number: int = 1) -> None:
        """Waits until a text is so many times in the log."""
        until(lambda: self.logged().count(text) >= number, TIMEOUT)

    def wait_for_task_of(self, executor: str) -> None:
        """Waits until an executor has a task that it has not finished."""

        def tasks(pattern: str) -> int:
            return len(re.findall(pattern.format(executor), self.logged()))

        until(lambda: tasks(r"Starting task .*, executor {}, ") > tasks(r"Finished task .* \(executor {}\) "), TIMEOUT)

    def finish(self) -> str:
        """Waits for the end, which must be a success. Returns what was logged."""
        code = self.process.wait(TIMEOUT)
        logged = self.logged()
        assert code == 0, logged[-5000:]
        return logged


def submit(
    master: str,
    log: Path,
    arguments: Sequence[str | Path],
    extra: dict[str, str],
    *options: str,
    program: str = job.__file__,
) -> Submitted:
    """Starts `spark-submit` with the job, or with another program, in a process group of its own."""
    command = [SPARK_HOME / "bin" / "spark-submit", "--master", master, *options, program, *arguments]
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, env={**environment(), **extra}, stdout=file, stderr=file, start_new_session=True
        )
    return Submitted(process, log)


def until(found: Callable[[], T | None], wait: float = WAIT) -> T:
    """What `found` returns as soon as it is true."""
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline:
        if result := found():
            return result
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")
