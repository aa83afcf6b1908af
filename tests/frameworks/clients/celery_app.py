"""Celery: a worker with the pool solo, and tasks sent by apply_async."""

from celery import Celery
from celery.exceptions import Reject
from celery.signals import worker_ready
from shop import URL, VARIANT, OutOfStock, ready, serve, work

app = Celery("shop", broker=URL)
app.conf.update(
    task_default_queue="orders",
    task_ignore_result=True,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
)
if VARIANT == "msgpack":
    app.conf.update(task_serializer="msgpack", accept_content=["msgpack"])
if VARIANT == "expires-protocol-1":
    app.conf.task_protocol = 1
if VARIANT != "default":
    app.conf.task_acks_late = True
if VARIANT not in ("default", "reject"):
    app.conf.task_acks_on_failure_or_timeout = False


@app.task(name="billing.charge", bind=True, max_retries=2)
def charge(task, order):
    try:
        work(order)
    except OutOfStock as error:
        if VARIANT == "own-retries":
            raise task.retry(exc=error, countdown=0)
        if VARIANT == "reject":
            raise Reject(error, requeue=False)
        raise


def publish(order):
    # Less than the delay after which dlo sends it back, and more than it takes to be consumed for the first time.
    expires = 2 if VARIANT.startswith("expires") else None
    charge.apply_async(args=[order], expires=expires)


@worker_ready.connect
def started(**_):
    ready("orders")


serve(publish)
app.worker_main(
    ["worker", "--pool=solo", "--without-mingle", "--without-gossip", "--without-heartbeat", "--loglevel=INFO"]
)
