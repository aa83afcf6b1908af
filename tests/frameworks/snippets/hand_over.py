"""hand_over.py URL QUEUE: a service that hands its failures over to dlo. The docs show what is between the marks."""

import sys
import traceback

import pika


# docs: begin
def hand_over(channel, method, properties, body, queue, error):
    """Publishes the message to dlo with its error and with all that it came with, then acknowledges it."""
    trace = f"{type(error).__name__}: {error}\n" + "".join(traceback.format_exception(error))
    properties.headers = {
        **(properties.headers or {}),
        "x-exception-message": str(error),
        "x-exception-stacktrace": trace[:30_000],
        "x-original-exchange": "",
        "x-original-routingKey": queue,
    }
    properties.delivery_mode = 2
    properties.expiration = properties.user_id = None
    # Raises where RabbitMQ does not confirm it: channel.confirm_delivery() was called.
    channel.basic_publish("dlx", queue, body, properties)
    channel.basic_ack(method.delivery_tag)


# docs: end


def work(properties, body):
    print(f'{{"call": "{body.decode()}"}}', flush=True)
    if body == b"never" or (properties.headers or {}).get("dlo-attempts") != "2":
        raise ValueError(f"no stock for {body.decode()}")


def on_message(channel, method, properties, body):
    try:
        work(properties, body)
    except ValueError as error:
        hand_over(channel, method, properties, body, queue, error)
    else:
        channel.basic_ack(method.delivery_tag)


url, queue = sys.argv[1:]
channel = pika.BlockingConnection(pika.URLParameters(url)).channel()
channel.confirm_delivery()
channel.queue_declare(queue, durable=True)
channel.basic_consume(queue, on_message)
print('{"ready": true}', flush=True)
channel.start_consuming()
