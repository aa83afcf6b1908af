<?php
// hand_over.php URL QUEUE: a service that hands its failures over to dlo. The docs show what is between the marks.
declare(strict_types=1);

require '/usr/share/php/PhpAmqpLib/autoload.php';

use PhpAmqpLib\Connection\AMQPStreamConnection;
use PhpAmqpLib\Message\AMQPMessage;
use PhpAmqpLib\Wire\AMQPTable;

// docs: begin
/** Publishes the message to dlo with its error and with all that it came with, then acknowledges it. */
function handOver(AMQPMessage $message, string $queue, Throwable $error): void
{
    $properties = $message->get_properties();
    unset($properties['expiration'], $properties['user_id']);
    $properties['delivery_mode'] = AMQPMessage::DELIVERY_MODE_PERSISTENT;
    $headers = $properties['application_headers'] ?? new AMQPTable();
    $trace = get_class($error).': '.$error->getMessage()."\n".$error->getTraceAsString();
    $headers->set('x-exception-message', $error->getMessage());
    $headers->set('x-exception-stacktrace', substr($trace, 0, 30000));
    $headers->set('x-original-exchange', '');
    $headers->set('x-original-routingKey', $queue);
    $properties['application_headers'] = $headers;
    $channel = $message->getChannel();
    $channel->basic_publish(new AMQPMessage($message->getBody(), $properties), 'dlx', $queue);
    // confirm_select() was called, and set_nack_handler() with a function that throws.
    $channel->wait_for_pending_acks(10);
    $message->ack();
}
// docs: end

function work(AMQPMessage $message): void
{
    $body = $message->getBody();
    fwrite(STDOUT, "{\"call\": \"$body\"}\n");
    $headers = $message->has('application_headers') ? $message->get('application_headers')->getNativeData() : [];
    if ('never' === $body || '2' !== ($headers['dlo-attempts'] ?? '')) {
        throw new DomainException("no stock for $body");
    }
}

[, $url, $queue] = $argv;
$at = parse_url($url);
$vhost = urldecode(substr($at['path'], 1));
$connection = new AMQPStreamConnection($at['host'], (string) $at['port'], $at['user'], $at['pass'], $vhost);
$channel = $connection->channel();
$channel->confirm_select();
$channel->set_nack_handler(function (): void {
    throw new RuntimeException('RabbitMQ did not take the message');
});
$channel->queue_declare($queue, false, true, false, false);
$channel->basic_consume($queue, '', false, false, false, false, function (AMQPMessage $message) use ($queue): void {
    try {
        work($message);
    } catch (DomainException $error) {
        handOver($message, $queue, $error);

        return;
    }
    $message->ack();
});
fwrite(STDOUT, "{\"ready\": true}\n");
while ($channel->is_consuming()) {
    $channel->wait();
}
