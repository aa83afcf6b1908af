"""What the services in Python have in common: the work that fails, and the lines they exchange with the runner.

A service gets AMQP_URL and VARIANT. It prints {"ready": [queues]}, then {"call": key, "n": count, "text": text} for
each time its handler is called, and reads {"publish": order} and {"heal": key}, which it answers with {"healed": key}.
"""

import json
import os
import sys
import threading
from collections import Counter

URL = os.environ["AMQP_URL"]
VARIANT = os.environ["VARIANT"]

_calls: Counter = Counter()
_healed: set = set()
_lock = threading.Lock()


class OutOfStock(Exception):
    """What the handlers raise."""


def work(order):
    """Fails as often as the order says, and whenever its text is wrong."""
    key = order["key"]
    with _lock:
        _calls[key] += 1
        count = _calls[key]
    say(call=key, n=count, text=order["text"])
    if order["text"] == "wrong" or (key not in _healed and count <= order["fails"]):
        raise OutOfStock(f"no stock for {key}")


def say(**line):
    # In one piece, since handlers run in several threads; and past what a framework puts in place of sys.stdout.
    with _lock:
        sys.__stdout__.write(json.dumps(line) + "\n")
        sys.__stdout__.flush()


def ready(*queues):
    say(ready=list(queues))


def commands():
    """What the runner wants, line by line."""
    for line in sys.stdin:
        command = json.loads(line)
        if "heal" in command:
            _healed.add(command["heal"])
            say(healed=command["heal"])
        else:
            yield command["publish"]


def serve(publish):
    """Publishes what the runner wants with this framework, in a thread of its own."""

    def loop():
        for order in commands():
            publish(order)
        os._exit(0)

    threading.Thread(target=loop, daemon=True).start()


async def serve_async(publish):
    """As serve(), for asyncio."""
    import asyncio

    loop = asyncio.get_running_loop()
    lines = iter(commands())
    while True:
        order = await loop.run_in_executor(None, next, lines, None)
        if order is None:
            os._exit(0)
        await publish(order)
