"""Which frameworks are run, and in which set-ups. What is expected of each is in expected.json."""

import os
import subprocess
import sys
from dataclasses import dataclass, field

from rig import HERE, TARGET

POLICY = {"dead-letter-exchange": "dlx"}
# For what has a limit of its own of two seconds: it is consumed once before that, and comes back after.
LATE = {"DLO_RETRY__DELAYS": "4s,4s"}


@dataclass(frozen=True)
class Variant:
    framework: str
    name: str
    program: str
    # default: where does one failure go? full: all the rest. once: one failing message, and what dlo makes of it.
    # twins: messages that are equal to the byte.
    # handed: a snippet of the docs hands over messages with properties and headers of all kinds.
    checks: tuple = ("full",)
    policies: dict = field(default_factory=lambda: {"orders": POLICY})
    # The fanout exchange that the framework publishes its dead letters to, where it is not dlo's.
    dead_letters_at: str = ""
    # The framework's own queue for what it has given up.
    keeps_in: str = ""
    # The queue to name for a retry by hand, where the message does not say in which it failed.
    retry_to: str = ""
    settings: dict = field(default_factory=dict)
    env: dict = field(default_factory=dict)

    def __str__(self):
        return f"{self.framework}/{self.name}"

    def command(self):
        return RUNTIMES[self.program.rpartition(".")[2]](str(HERE / self.program))


def _go(path):
    """Built, since what `go run` starts does not end with it. Debian's packages are no modules."""
    program = str(TARGET / "frameworks/hand_over_go")
    paths = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(TARGET / "frameworks/go-cache")}
    subprocess.run(["go", "build", "-o", program, path], check=True, env={**os.environ, **paths})
    return [program]


JARS = "/usr/share/java/amqp-client.jar:/usr/share/java/slf4j-api.jar"
RUNTIMES = {
    "py": lambda path: [sys.executable, path],
    "js": lambda path: ["node", path],
    "php": lambda path: ["php", path],
    "rb": lambda path: ["ruby", path],
    "java": lambda path: ["java", "-cp", JARS, path],
    "go": _go,
    # An example of the crate, which cargo has built.
    "rs": lambda path: [os.environ.get("DLO_TEST_HAND_OVER", str(TARGET / "debug/examples/hand_over"))],
}


# Of eight in the docs; there is no runtime for C# in Debian.
SNIPPETS = {
    "python": "hand_over.py",
    "javascript": "hand_over.js",
    "go": "hand_over.go",
    "java": "HandOver.java",
    "ruby": "hand_over.rb",
    "php": "hand_over.php",
    "rust": "hand_over.rs",
}


def variants():
    default, both, once = ("default",), ("default", "full"), ("once",)
    moleculer = {"billing.order.placed": POLICY}
    nameko = {"evt-shop-order_placed--billing.charge": POLICY}
    messages = {"messages": POLICY}
    quorum_limit = {"orders": {**POLICY, "delivery-limit": 3}}
    xq = {"orders": POLICY, "orders.XQ": {**POLICY, "message-ttl": 0}}
    return [
        Variant("celery", "default", "clients/celery_app.py", default),
        Variant("celery", "recommended", "clients/celery_app.py"),
        Variant("celery", "reject", "clients/celery_app.py"),
        Variant("celery", "own-retries", "clients/celery_app.py"),
        Variant("celery", "msgpack", "clients/celery_app.py"),
        Variant("celery", "expires", "clients/celery_app.py", once, settings=LATE),
        Variant("celery", "expires-protocol-1", "clients/celery_app.py", once, settings=LATE),
        Variant("dramatiq", "default", "clients/dramatiq_app.py", default, keeps_in="orders.XQ"),
        Variant("dramatiq", "recommended", "clients/dramatiq_app.py", policies=xq),
        Variant("dramatiq", "one-retry", "clients/dramatiq_app.py", policies=xq),
        Variant("dramatiq", "own-retries", "clients/dramatiq_app.py", policies=xq),
        Variant("dramatiq", "max-age", "clients/dramatiq_app.py", once, policies=xq, settings=LATE),
        Variant("dramatiq", "max-age-of-actor", "clients/dramatiq_app.py", once, policies=xq, settings=LATE),
        Variant("kombu", "default", "clients/kombu_app.py", default),
        Variant("kombu", "recommended", "clients/kombu_app.py"),
        Variant("faststream", "default", "clients/faststream_app.py", both),
        Variant("faststream", "requeue", "clients/faststream_app.py", policies=quorum_limit),
        Variant("aio-pika", "default", "clients/aio_pika_app.py", both),
        Variant("aio-pika", "master", "clients/aio_pika_app.py", default),
        Variant("aio-pika", "master-reject", "clients/aio_pika_app.py"),
        Variant("pika", "default", "clients/pika_app.py", (*both, "twins")),
        Variant("pika", "four-headers", "clients/pika_app.py", ("full", "twins")),
        Variant("nameko", "default", "clients/nameko_app.py", default, policies=nameko),
        Variant("nameko", "reject", "clients/nameko_app.py", policies=nameko),
        Variant("taskiq", "default", "clients/taskiq_app.py", default, keeps_in="taskiq.dead_letter"),
        Variant("taskiq", "hand-over", "clients/taskiq_app.py"),
        Variant("nestjs", "default", "clients/nestjs.js", default),
        Variant("nestjs", "recommended", "clients/nestjs.js"),
        Variant("golevelup", "default", "clients/golevelup.js", default),
        Variant("golevelup", "recommended", "clients/golevelup.js"),
        Variant("rabbitmq-client", "default", "clients/rabbitmq_client.js", default),
        Variant("rabbitmq-client", "recommended", "clients/rabbitmq_client.js"),
        Variant("amqp-connection-manager", "default", "clients/amqp_connection_manager.js", both),
        Variant("foo-foo-mq", "default", "clients/foo_foo_mq.js", default),
        Variant("foo-foo-mq", "recommended", "clients/foo_foo_mq.js"),
        Variant("foo-foo-mq", "no-type", "clients/foo_foo_mq.js", once),
        Variant(
            "foo-foo-mq", "no-type-kept", "clients/foo_foo_mq.js", settings={"DLO_RETRY__KEEP_ROUTING_KEY": "true"}
        ),
        Variant("rascal", "default", "clients/rascal.js", both),
        Variant("rascal", "republish", "clients/rascal.js"),
        Variant("moleculer", "default", "clients/moleculer.js", both, policies=moleculer),
        Variant(
            "moleculer", "dead-lettering", "clients/moleculer.js", policies=moleculer, dead_letters_at="DEAD_LETTER"
        ),
        # Its own retries, which take a tenth of a second, are over when the first of dlo would be due.
        Variant("symfony", "default", "clients/symfony.php", both, policies=messages, settings=LATE),
        Variant("symfony", "default-php", "clients/symfony.php", policies=messages, settings=LATE),
        Variant("symfony", "recommended", "clients/symfony.php", policies=messages),
        Variant("symfony", "recommended-php", "clients/symfony.php", policies=messages),
        Variant("symfony", "failure-transport", "clients/symfony.php", policies={}, retry_to="messages"),
        Variant("symfony", "failure-transport-php", "clients/symfony.php", once, policies={}),
        *(Variant("hand-over", language, f"snippets/{file}", ("handed",)) for language, file in SNIPPETS.items()),
    ]
