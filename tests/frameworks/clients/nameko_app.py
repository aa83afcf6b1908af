"""Nameko: an event handler. It acknowledges what fails, so the variant "reject" has an entrypoint that rejects."""

import eventlet

eventlet.monkey_patch()

from eventlet import tpool
from nameko.containers import ServiceContainer
from nameko.events import EventHandler, event_handler
from nameko.standalone.events import event_dispatcher
from shop import URL, VARIANT, commands, ready, work

CONFIG = {"AMQP_URI": URL}
QUEUE = "evt-shop-order_placed--billing.charge"


class RejectingEventHandler(EventHandler):
    """Rejects where the handler raised, instead of acknowledging."""

    def handle_result(self, message, worker_ctx, result=None, exc_info=None):
        if exc_info is None:
            return super().handle_result(message, worker_ctx, result, exc_info)
        message.reject()
        return result, exc_info


handler = event_handler if VARIANT == "default" else RejectingEventHandler.decorator


class Billing:
    name = "billing"

    @handler("shop", "order_placed")
    def charge(self, order):
        work(order)


container = ServiceContainer(Billing, config=CONFIG)
container.start()
dispatch = event_dispatcher(CONFIG)
ready(QUEUE)
lines = commands()
# A thread of the system waits for the next line, while the hub goes on.
while (order := tpool.execute(next, lines, None)) is not None:
    dispatch("shop", "order_placed", order)
container.kill()
