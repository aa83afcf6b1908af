"""Kombu: a ConsumerMixin, and messages sent by its Producer."""

from kombu import Connection, Exchange, Queue
from kombu.mixins import ConsumerMixin
from shop import URL, VARIANT, OutOfStock, ready, serve, work

exchange = Exchange("shop", type="direct")
queue = Queue("orders", exchange, routing_key="order.placed")


class Worker(ConsumerMixin):
    def __init__(self, connection):
        self.connection = connection

    def get_consumers(self, Consumer, channel):
        return [Consumer(queues=[queue], callbacks=[self.on_order], prefetch_count=10)]

    def on_consume_ready(self, *args, **kwargs):
        ready("orders")

    def on_order(self, body, message):
        try:
            work(body)
        except OutOfStock:
            if VARIANT == "default":
                raise
            message.reject()
        else:
            message.ack()


def publish(order):
    with Connection(URL) as connection:
        connection.Producer().publish(order, exchange=exchange, routing_key="order.placed", declare=[queue])


serve(publish)
with Connection(URL) as connection:
    Worker(connection).run()
