"""A service in Python with pika, which fails: pika_consumer.py URL QUEUE HEALS

Rejects each message until it has failed HEALS times, and one that says "never" always. Prints what it got, one JSON a
line: the body and the header dlo-attempts as it came.
"""

import json
import sys

import pika

url, queue, heals = sys.argv[1], sys.argv[2], int(sys.argv[3])


def work(channel, method, properties, body):
    attempts = (properties.headers or {}).get("dlo-attempts")
    print(json.dumps({"body": body.decode(), "attempts": attempts}), flush=True)
    if body != b"never" and int(attempts or 0) >= heals:
        channel.basic_ack(method.delivery_tag)
    else:
        channel.basic_reject(method.delivery_tag, requeue=False)


channel = pika.BlockingConnection(pika.URLParameters(url)).channel()
channel.basic_qos(prefetch_count=10)
channel.basic_consume(queue, work)
channel.start_consuming()
