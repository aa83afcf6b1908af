// Rascal: a subscription that gives errors to ackOrNack, with a plain nack or a republish before it.
'use strict';

const { BrokerAsPromised } = require('rascal');
const { url, variant, work, serve, ready, die } = require('./shop');

const recoveries = {
  default: undefined,
  republish: [{ strategy: 'republish', attempts: 1, defer: 20 }, { strategy: 'nack' }],
};

async function main() {
  const broker = await BrokerAsPromised.create({
    vhosts: {
      [decodeURIComponent(new URL(url).pathname.slice(1))]: {
        connection: { url },
        exchanges: ['shop'],
        queues: { orders: {} },
        bindings: ['shop[order.placed] -> orders'],
        publications: { placed: { exchange: 'shop', routingKey: 'order.placed' } },
        subscriptions: { orders: { queue: 'orders', prefetch: 10 } },
      },
    },
  });
  broker.on('error', (error) => console.error(error.message));
  const subscription = await broker.subscribe('orders');
  subscription.on('message', (_message, content, ackOrNack) => {
    try {
      work(content);
      ackOrNack();
    } catch (error) {
      ackOrNack(error, recoveries[variant]);
    }
  });
  subscription.on('error', (error) => console.error(error.message));
  serve((order) => broker.publish('placed', order));
  ready('orders');
}

main().catch(die);
