"""How the code blocks of each page run, and which do not."""

from dataclasses import dataclass

COMPANY = "grantpath change --file docs/examples/company.txt --root metalake:ml --policy gravitino --create"
NAMES = "from grantpath import Authorizer, GrantpathError\n"
OPENED = NAMES + 'auth = Authorizer.open("metalake:ml")\n'


@dataclass(frozen=True)
class Plan:
    """`setup`: the commands that run before the blocks. `names`: Python that defines names which the blocks use.

    `bucket`: the name of a bucket that exists.
    `slow`: `make test` omits the page; tests of what it shows are in tests/spark_sync and tests/engine/cli.
    """

    setup: tuple[str, ...] = ()
    names: str = ""
    spark: bool = False
    slow: bool = False
    bucket: str = ""


ON_COMPANY = Plan((COMPANY, "export GRANTPATH_ROOT=metalake:ml"))
# Pages whose blocks need something first; those of other pages need nothing.
PLANS = {
    "README.md": ON_COMPANY,
    "docs/async.md": ON_COMPANY,
    "docs/backup.md": Plan(
        (*ON_COMPANY.setup, "grantpath dump ./kept", "grantpath roots drop metalake:ml --yes"),
        "from pathlib import Path",
    ),
    "docs/browser.md": ON_COMPANY,
    "docs/effects.md": Plan(ON_COMPANY.setup, OPENED),
    "docs/governance.md": Plan(
        (*ON_COMPANY.setup, "grantpath change --file docs/examples/governance.txt"),
        OPENED + "from grantpath.spark_sync.session import spark_session\nspark = spark_session.engine(print).spark",
        spark=True,
        slow=True,
    ),
    "docs/guides/review.md": Plan((COMPANY,), spark=True, slow=True),
    "docs/guides/service.md": ON_COMPANY,
    "docs/guides/upgrade-policy.md": ON_COMPANY,
    "docs/index.md": ON_COMPANY,
    "docs/load.md": ON_COMPANY,
    "docs/looking.md": Plan(ON_COMPANY.setup, OPENED),
    "docs/operating.md": Plan(ON_COMPANY.setup, OPENED + "import logging"),
    "docs/past.md": Plan(ON_COMPANY.setup, OPENED),
    "docs/python.md": ON_COMPANY,
    "docs/questions.md": ON_COMPANY,
    "docs/reference/graph.md": ON_COMPANY,
    "docs/reference/references.md": Plan((*ON_COMPANY.setup, "grantpath change 'add table:hr.public.`v1.2`'")),
    "docs/report.md": Plan(ON_COMPANY.setup, spark=True, slow=True),
    "docs/snapshot.md": Plan(
        (*ON_COMPANY.setup, "grantpath mirror OUT", "grantpath access OUT --names load_table --expand load_table"),
        "from pyspark.sql import SparkSession\nspark = SparkSession.getActiveSession()",
        spark=True,
        slow=True,
        bucket="bucket",
    ),
    "docs/start.md": Plan(spark=True, slow=True),
    "docs/tutorial.md": Plan(spark=True),
}

# Commands that no page runs, with the test or the reason.
NOT_RUN = {
    "make": "the tests of tests/engine/cli/test_demo.py and tests/docs/test_site.py run what they start",
    ". .venv/bin/activate": "the tests run in an environment",
    "grantpath up": "it starts a server: tests/graph/test_server.py",
    "SERVICE_SECRET=change-me uvicorn": "it serves until it is stopped: tests/engine/authorizer/test_service.py",
    "SERVICE_SECRET=change-me flask": "it serves until it is stopped: tests/engine/authorizer/test_flask_service.py",
    "export SIGNATURE=": "it needs the service",
    "curl": "it needs the service",
    "NEO4J_PASSWORD=... SERVICE_SECRET=... docker compose": "it needs a Docker engine: tests/docs/test_deployment.py",
    "NEO4J_PASSWORD=... NEO4J_URI=bolt://127.0.0.1:7687": "it needs that engine's Neo4j",
    "grantpath browser": "it needs the embedded server: tests/engine/cli/test_browser_guide.py",
}

# Blocks that show a part of a file which a test uses: page, first line -> file.
EXCERPTS = {
    ("README.md", "// 1 the object, the places above it, and their tags"): "cypher/privilege.cypher",
    ("docs/operating.md", "dbms.ssl.policy.bolt.enabled=true"): "tests/support/tls_server.py",
    ("docs/writing-a-policy.md", 'grants: {to: "user, group", deny: cascades}'): "docs/examples/ladders.yaml",
    ("docs/writing-a-policy.md", "builtin:"): "engine/policies/deltastream.yaml",
    ("docs/writing-a-policy.md", "in_effect:"): "engine/policies/onehouse.yaml",
}

# Blocks that no test runs: page, first line -> reason.
EXCEPTIONS = {
    (
        "docs/guides/spark-cluster.md",
        "export NEO4J_URI=neo4j+s://graph.example.com NEO4J_USER=neo4j NEO4J_PASSWORD=...",
    ): (
        "it needs a cluster; tests/spark_sync/test_bulk_access.py runs job.py in a local session, and "
        "test_object_store_in_spark.py uses a bucket"
    ),
    ("docs/guides/spark-cluster.md", "python3.11 -m venv environment"): (
        "it needs a cluster; tests/spark_sync/test_cluster.py packs an environment in this way"
    ),
    ("docs/operating.md", "def login():"): "it needs a server with TLS at that address: tests/graph/test_tls.py",
    ("docs/operating.md", "CREATE ROLE grantpath;"): "only Neo4j Enterprise has roles, as the page states",
    ("docs/operating.md", "from opentelemetry import metrics, trace"): (
        "providers are set once in a process: tests/graph/test_telemetry.py"
    ),
    ("docs/writing-a-policy.md", "# yaml-language-server: $schema=./policy.schema.json"): "a comment for editors",
}
