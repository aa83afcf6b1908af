// foo-foo-mq: handlers by type or, for messages without one, by routing key; it rejects what fails.
'use strict';

const rabbit = require('foo-foo-mq');
const { url, variant, work, serve, ready, die } = require('./shop');

const typed = !variant.startsWith('no-type');

async function main() {
  rabbit.handle({ queue: 'orders', type: 'order.placed' }, (message) => {
    if (variant === 'default') {
      work(message.body);
      message.ack();
      return;
    }
    try {
      work(message.body);
      message.ack();
    } catch {
      message.reject();
    }
  });
  rabbit.onUnhandled((message) => message.reject());
  await rabbit.configure({
    connection: { name: 'default', uri: url },
    exchanges: [{ name: 'shop', type: 'direct', durable: true }],
    queues: [{ name: 'orders', durable: true, subscribe: true, limit: 10, noBatch: true }],
    bindings: [{ exchange: 'shop', target: 'orders', keys: ['order.placed'] }],
  });
  serve((order) => rabbit.publish('shop', { type: typed ? 'order.placed' : '', routingKey: 'order.placed', body: order }));
  ready('orders');
}

main().catch(die);
