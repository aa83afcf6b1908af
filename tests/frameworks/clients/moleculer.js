// Moleculer Channels: a channel with three tries, without or with its dead-lettering.
'use strict';

const { ServiceBroker } = require('moleculer');
const { Middleware } = require('@moleculer/channels');
const { url, variant, work, serve, ready, die } = require('./shop');

async function main() {
  const broker = new ServiceBroker({
    logger: { type: 'Console', options: { level: 'warn', colors: false } },
    middlewares: [Middleware({ adapter: { type: 'AMQP', options: { amqp: { url } } } })],
  });
  broker.createService({
    name: 'billing',
    channels: {
      'order.placed': {
        group: 'billing',
        maxRetries: 3,
        deadLettering: { enabled: variant === 'dead-lettering', queueName: 'DEAD_LETTER' },
        handler: work,
      },
    },
  });
  await broker.start();
  serve((order) => broker.sendToChannel('order.placed', order));
  ready('billing.order.placed');
}

// Its log goes to standard output; the runner reads only lines of JSON.
main().catch(die);
