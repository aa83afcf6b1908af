"""Which frameworks are run, and in which set-ups. What is expected of each is in expected.json."""

import sys
from dataclasses import dataclass, field

from rig import HERE

POLICY = {"dead-letter-exchange": "dlx"}
# For what has a limit of its own of two seconds: it is consumed once before that, and comes back after.
LATE = {"DLO_RETRY__DELAYS": "4s,4s"}


@dataclass(frozen=True)
class Variant:
    framework: str
    name: str
    program: str
    # default: where does one failure go? full: all the rest. once: one failing message, and what dlo makes of it.
    checks: tuple = ("full",)
    policies: dict = field(default_factory=lambda: {"orders": POLICY})
    # The fanout exchange that the framework publishes its dead letters to, where it is not dlo's.
    dead_letters_at: str = ""
    # The queue to name for a retry by hand, where the message does not say in which it failed.
    retry_to: str = ""
    settings: dict = field(default_factory=dict)
    env: dict = field(default_factory=dict)

    def __str__(self):
        return f"{self.framework}/{self.name}"

    def command(self):
        path = str(HERE / "clients" / self.program)
        runtime = {"py": sys.executable, "js": "node", "php": "php"}[self.program.rpartition(".")[2]]
        return [runtime, path]


def variants():
    default, both, once = ("default",), ("default", "full"), ("once",)
    moleculer = {"billing.order.placed": POLICY}
    nameko = {"evt-shop-order_placed--billing.charge": POLICY}
    messages = {"messages": POLICY}
    quorum_limit = {"orders": {**POLICY, "delivery-limit": 3}}
    xq = {"orders": POLICY, "orders.XQ": {**POLICY, "message-ttl": 0}}
    return [
        Variant("celery", "default", "celery_app.py", default),
        Variant("celery", "recommended", "celery_app.py"),
        Variant("celery", "reject", "celery_app.py"),
        Variant("celery", "own-retries", "celery_app.py"),
        Variant("celery", "expires", "celery_app.py", once, settings=LATE),
        Variant("dramatiq", "default", "dramatiq_app.py", default),
        Variant("dramatiq", "recommended", "dramatiq_app.py", policies=xq),
        Variant("dramatiq", "one-retry", "dramatiq_app.py", policies=xq),
        Variant("dramatiq", "own-retries", "dramatiq_app.py", policies=xq),
        Variant("dramatiq", "max-age", "dramatiq_app.py", once, policies=xq, settings=LATE),
        Variant("kombu", "default", "kombu_app.py", default),
        Variant("kombu", "recommended", "kombu_app.py"),
        Variant("faststream", "default", "faststream_app.py", both),
        Variant("faststream", "requeue", "faststream_app.py", policies=quorum_limit),
        Variant("aio-pika", "default", "aio_pika_app.py", both),
        Variant("aio-pika", "master", "aio_pika_app.py", default),
        Variant("aio-pika", "master-reject", "aio_pika_app.py"),
        Variant("pika", "default", "pika_app.py", both),
        Variant("pika", "four-headers", "pika_app.py"),
        Variant("nameko", "default", "nameko_app.py", default, policies=nameko),
        Variant("nameko", "reject", "nameko_app.py", policies=nameko),
        Variant("taskiq", "default", "taskiq_app.py", default),
        Variant("taskiq", "hand-over", "taskiq_app.py"),
        Variant("nestjs", "default", "nestjs.js", default),
        Variant("nestjs", "recommended", "nestjs.js"),
        Variant("golevelup", "default", "golevelup.js", default),
        Variant("golevelup", "recommended", "golevelup.js"),
        Variant("rabbitmq-client", "default", "rabbitmq_client.js", default),
        Variant("rabbitmq-client", "recommended", "rabbitmq_client.js"),
        Variant("amqp-connection-manager", "default", "amqp_connection_manager.js", both),
        Variant("foo-foo-mq", "default", "foo_foo_mq.js", default),
        Variant("foo-foo-mq", "recommended", "foo_foo_mq.js"),
        Variant("foo-foo-mq", "no-type", "foo_foo_mq.js", once),
        Variant("foo-foo-mq", "no-type-kept", "foo_foo_mq.js", settings={"DLO_RETRY__KEEP_ROUTING_KEY": "true"}),
        Variant("rascal", "default", "rascal.js", both),
        Variant("rascal", "republish", "rascal.js"),
        Variant("moleculer", "default", "moleculer.js", both, policies=moleculer),
        Variant("moleculer", "dead-lettering", "moleculer.js", policies=moleculer, dead_letters_at="DEAD_LETTER"),
        Variant("symfony", "default", "symfony.php", both, policies=messages),
        Variant("symfony", "recommended", "symfony.php", policies=messages),
        Variant("symfony", "recommended-php", "symfony.php", policies=messages),
        Variant("symfony", "failure-transport", "symfony.php", policies={}, retry_to="messages"),
        Variant("symfony", "failure-transport-php", "symfony.php", once, policies={}),
    ]
