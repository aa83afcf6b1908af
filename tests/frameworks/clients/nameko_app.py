"""Nameko: an event handler. It acknowledges what fails, so the variant "reject" has an entrypoint that rejects."""

import eventlet

eventlet.monkey_patch()

from nameko.containers import ServiceContainer  # noqa: E402
from nameko.events import BROADCAST, EventHandler, event_handler  # noqa: E402,F401
from nameko.standalone.events import event_dispatcher  # noqa: E402
from shop import URL, VARIANT, commands, ready, work  # noqa: E402

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


def serve():
    lines = commands()
    while True:
        # A thread of the system waits for the line; the hub goes on.
        order = eventlet.tpool.execute(next, lines, None)
        if order is None:
            break
        dispatch("shop", "order_placed", order)


from eventlet import tpool  # noqa: E402,F401

serve()
container.kill()
