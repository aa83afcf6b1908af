// amqp-connection-manager: a channel wrapper that nacks what fails.
'use strict';

const manager = require('amqp-connection-manager');
const { url, work, serve, ready, die } = require('./shop');

async function main() {
  const connection = manager.connect([url]);
  const channel = connection.createChannel({
    json: true,
    setup: (raw) => Promise.all([raw.assertQueue('orders', { durable: true }), raw.prefetch(10)]),
  });
  await channel.consume('orders', (message) => {
    try {
      work(JSON.parse(message.content.toString()));
      channel.ack(message);
    } catch {
      channel.nack(message, false, false);
    }
  });
  await channel.waitForConnect();
  serve((order) => channel.sendToQueue('orders', order, { contentType: 'application/json', persistent: true }));
  ready('orders');
}

main().catch(die);
