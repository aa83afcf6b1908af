"""FastStream: a subscriber of its RabbitBroker."""

import asyncio

from faststream import AckPolicy
from faststream.rabbit import QueueType, RabbitBroker, RabbitQueue
from shop import URL, VARIANT, ready, serve_async, work

broker = RabbitBroker(URL)
if VARIANT == "requeue":
    queue = RabbitQueue("orders", durable=True, queue_type=QueueType.QUORUM)
    options = {"ack_policy": AckPolicy.NACK_ON_ERROR}
else:
    queue = RabbitQueue("orders", durable=True)
    options = {}


@broker.subscriber(queue, **options)
async def charge(order: dict):
    work(order)


async def publish(order):
    await broker.publish(order, queue="orders", message_id=f"m-{order['key']}")


async def main():
    await broker.start()
    ready("orders")
    await serve_async(publish)


asyncio.run(main())
