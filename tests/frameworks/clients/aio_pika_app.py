"""aio-pika: message.process() or, in the variants that say so, its pattern Master."""

import asyncio
import json

import aio_pika
from aio_pika.patterns import Master, RejectMessage
from shop import URL, VARIANT, OutOfStock, ready, serve_async, work


async def charge(*, order):
    try:
        work(order)
    except OutOfStock as error:
        if VARIANT == "master-reject":
            raise RejectMessage(requeue=False) from error
        raise


async def with_process(channel):
    queue = await channel.declare_queue("orders", durable=True)

    async def on_message(message):
        async with message.process():
            work(json.loads(message.body))

    await queue.consume(on_message)

    async def publish(order):
        message = aio_pika.Message(json.dumps(order).encode(), content_type="application/json")
        await channel.default_exchange.publish(message, routing_key="orders")

    return publish


async def with_master(channel):
    master = Master(channel)
    await master.create_worker("orders", charge, durable=True)

    async def publish(order):
        await master.create_task("orders", {"order": order})

    return publish


async def main():
    connection = await aio_pika.connect_robust(URL)
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=10)
    publish = await (with_master if VARIANT.startswith("master") else with_process)(channel)
    ready("orders")
    await serve_async(publish)


# aio-pika says on each of its errors what the task ended with; the runner keeps that as the log.
asyncio.run(main())
