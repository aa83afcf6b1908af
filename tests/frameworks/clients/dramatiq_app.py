"""Dramatiq: a worker with two threads, and messages sent by send_with_options."""

import signal

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from shop import URL, VARIANT, ready, serve, work

broker = RabbitmqBroker(url=URL)
dramatiq.set_broker(broker)

# Its default is 20 retries, which take days; they end as one does.
retries = {"default": 1, "one-retry": 1, "own-retries": 2}.get(VARIANT, 0)
# Milliseconds. An actor's limit is not in the message, and only its worker knows it.
max_age = {"max_age": 2000}


@dramatiq.actor(queue_name="orders", max_retries=retries, min_backoff=20, max_backoff=40, **(max_age if VARIANT == "max-age-of-actor" else {}))
def charge(order):
    work(order)


broker.declare_queue("orders", ensure=True)
worker = dramatiq.Worker(broker, worker_threads=2)
worker.start()
serve(lambda order: charge.send_with_options(args=(order,), **(max_age if VARIANT == "max-age" else {})))
ready("orders", "orders.XQ")
signal.pause()
