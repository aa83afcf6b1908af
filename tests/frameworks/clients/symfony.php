<?php
// Symfony Messenger, wired without the framework: a worker, its own retries and its failure transport.
// VARIANT: default (2 retries of its own), recommended (none), failure-transport; with -php serialized by PHP.
declare(strict_types=1);

require '/usr/share/php/Symfony/Component/Messenger/autoload.php';
require '/usr/share/php/Symfony/Component/Serializer/autoload.php';
require '/usr/share/php/Symfony/Component/PropertyAccess/autoload.php';
require '/usr/share/php/Symfony/Component/EventDispatcher/autoload.php';
require '/usr/share/php/Symfony/Component/ErrorHandler/autoload.php';

use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Messenger\Bridge\Amqp\Transport\AmqpTransportFactory;
use Symfony\Component\Messenger\Event\WorkerRunningEvent;
use Symfony\Component\Messenger\EventListener\AddErrorDetailsStampListener;
use Symfony\Component\Messenger\EventListener\SendFailedMessageForRetryListener;
use Symfony\Component\Messenger\EventListener\SendFailedMessageToFailureTransportListener;
use Symfony\Component\Messenger\Handler\HandlersLocator;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
use Symfony\Component\Messenger\Middleware\SendMessageMiddleware;
use Symfony\Component\Messenger\Retry\MultiplierRetryStrategy;
use Symfony\Component\Messenger\Transport\Sender\SendersLocator;
use Symfony\Component\Messenger\Transport\Serialization\Normalizer\FlattenExceptionNormalizer;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
use Symfony\Component\Messenger\Transport\Serialization\Serializer as MessengerSerializer;
use Symfony\Component\Messenger\Worker;
use Symfony\Component\Serializer\Encoder\JsonEncoder;
use Symfony\Component\Serializer\Normalizer\ArrayDenormalizer;
use Symfony\Component\Serializer\Normalizer\DateTimeNormalizer;
use Symfony\Component\Serializer\Normalizer\ObjectNormalizer;
use Symfony\Component\Serializer\Serializer;

final class OrderPlaced
{
    public $key;
    public $fails;
    public $text;
}

final class OutOfStock extends RuntimeException
{
}

final class Container implements Psr\Container\ContainerInterface
{
    private $entries;

    public function __construct(array $entries)
    {
        $this->entries = $entries;
    }

    public function get(string $id)
    {
        return $this->entries[$id];
    }

    public function has(string $id): bool
    {
        return isset($this->entries[$id]);
    }
}

function say(array $line): void
{
    fwrite(STDOUT, json_encode($line)."\n");
}

$variant = getenv('VARIANT');
$calls = $healed = [];

function charge(OrderPlaced $order): void
{
    global $calls, $healed;
    $count = $calls[$order->key] = ($calls[$order->key] ?? 0) + 1;
    say(['call' => $order->key, 'n' => $count, 'text' => $order->text]);
    if ('wrong' === $order->text || (!isset($healed[$order->key]) && $count <= $order->fails)) {
        throw new OutOfStock('no stock for '.$order->key);
    }
}

$json = new MessengerSerializer(new Serializer(
    [new FlattenExceptionNormalizer(), new DateTimeNormalizer(), new ArrayDenormalizer(), new ObjectNormalizer()],
    [new JsonEncoder()]
));
$serializer = '-php' === substr($variant, -4) ? new PhpSerializer() : $json;
$factory = new AmqpTransportFactory();
$transport = $factory->createTransport(getenv('AMQP_URL').'/messages', [], $serializer);
// The exchange of dlo is declared by dlo, and the transport publishes to it.
$failed = $factory->createTransport(
    getenv('AMQP_URL').'/dlx',
    ['auto_setup' => false, 'queues' => ['dlo.dead-letters' => []]],
    $serializer
);

$senders = new SendersLocator([OrderPlaced::class => ['async']], new Container(['async' => $transport]));
$handlers = new HandlersLocator([OrderPlaced::class => ['charge']]);
$bus = new MessageBus([new SendMessageMiddleware($senders), new HandleMessageMiddleware($handlers)]);

$dispatcher = new EventDispatcher();
$dispatcher->addSubscriber(new AddErrorDetailsStampListener());
$retries = new MultiplierRetryStrategy(0 === strpos($variant, 'default') ? 2 : 0, 50, 1);
$dispatcher->addSubscriber(new SendFailedMessageForRetryListener(
    new Container(['async' => $transport]),
    new Container(['async' => $retries])
));
if (0 === strpos($variant, 'failure-transport')) {
    $dispatcher->addSubscriber(new SendFailedMessageToFailureTransportListener(new Container(['async' => $failed])));
}

$obey = function (string $line) use ($bus, &$healed): void {
    $command = json_decode($line, true);
    if (isset($command['heal'])) {
        $healed[$command['heal']] = true;
        say(['healed' => $command['heal']]);

        return;
    }
    $order = new OrderPlaced();
    foreach ($command['publish'] as $name => $value) {
        $order->$name = $value;
    }
    $bus->dispatch($order);
};
stream_set_blocking(STDIN, false);
$waiting = '';
$dispatcher->addListener(WorkerRunningEvent::class, function () use ($obey, &$waiting): void {
    while ('' !== ($read = (string) fread(STDIN, 8192))) {
        $waiting .= $read;
    }
    if (feof(STDIN)) {
        exit(0);
    }
    while (false !== ($end = strpos($waiting, "\n"))) {
        $line = substr($waiting, 0, $end);
        $waiting = substr($waiting, $end + 1);
        $obey($line);
    }
});

$transport->setup();
say(['ready' => ['messages']]);
(new Worker(['async' => $transport], $bus, $dispatcher))->run(['sleep' => 10000]);
