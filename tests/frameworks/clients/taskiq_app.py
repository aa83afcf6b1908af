"""TaskIQ with taskiq-aio-pika. It acknowledges what fails; the variant "hand-over" has a middleware for that."""

import asyncio
import traceback

import aio_pika
from shop import URL, VARIANT, ready, serve_async, work
from taskiq import TaskiqMiddleware
from taskiq.api import run_receiver_task
from taskiq_aio_pika import AioPikaBroker, Exchange, Queue


class HandOver(TaskiqMiddleware):
    """Publishes a task that failed to the exchange dlx, with its error; TaskIQ itself acknowledges it."""

    async def on_error(self, message, result, exception):
        copy = self.broker.formatter.dumps(message)
        headers = {
            "x-exception-message": str(exception),
            "x-exception-stacktrace": "".join(traceback.format_exception(exception)),
            "x-original-exchange": "",
            "x-original-routingKey": "orders",
        }
        exchange = await self.broker.write_channel.get_exchange("dlx", ensure=False)
        await exchange.publish(aio_pika.Message(copy.message, headers=headers, message_id=message.task_id), "orders")


broker = AioPikaBroker(
    URL,
    exchange=Exchange(name="shop", declare=True),
    task_queues=[Queue(name="orders", declare=True)],
    delay_queue=Queue(name="orders.delay", declare=True),
)
if VARIANT == "hand-over":
    broker.add_middlewares(HandOver())


@broker.task(task_name="billing.charge")
async def charge(order: dict) -> None:
    work(order)


async def publish(order):
    await charge.kiq(order)


async def main():
    broker.is_worker_process = True
    await broker.startup()
    receiver = asyncio.create_task(run_receiver_task(broker, run_startup=False))
    ready("orders")
    await serve_async(publish)
    await receiver


asyncio.run(main())
