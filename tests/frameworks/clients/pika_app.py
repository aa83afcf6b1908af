"""pika: basic_nack, or a copy that says what went wrong, by the snippet of the docs or only half of it."""

import json
import traceback

import pika
from shop import URL, VARIANT, OutOfStock, ready, serve, work


def on_message(channel, method, properties, body):
    try:
        work(json.loads(body))
    except OutOfStock as error:
        if VARIANT == "four-headers":
            hand_over_carelessly(channel, properties, body, error)
        else:
            channel.basic_nack(method.delivery_tag, requeue=False)
            return
    channel.basic_ack(method.delivery_tag)


def hand_over_carelessly(channel, properties, body, error):
    """A copy of the body with headers of its own: those that the message came with are lost."""
    headers = {
        "x-exception-message": str(error),
        "x-exception-stacktrace": "".join(traceback.format_exception(error)),
        "x-original-exchange": "",
        "x-original-routingKey": "orders",
    }
    copy = pika.BasicProperties(headers=headers, message_id=properties.message_id, content_type=properties.content_type)
    channel.basic_publish("dlx", "orders", body, copy)


def publish(order):
    connection = pika.BlockingConnection(pika.URLParameters(URL))
    # What has no message id is known by its body alone.
    properties = pika.BasicProperties(content_type="application/json", delivery_mode=2)
    connection.channel().basic_publish("", "orders", json.dumps(order).encode(), properties)
    connection.close()


channel = pika.BlockingConnection(pika.URLParameters(URL)).channel()
channel.queue_declare("orders", durable=True)
channel.basic_qos(prefetch_count=10)
channel.basic_consume("orders", on_message)
serve(publish)
ready("orders")
channel.start_consuming()
