// hand_over.js URL QUEUE: a service that hands its failures over to dlo. The docs show what is between the marks.
'use strict';

const amqp = require('amqplib');

// docs: begin
/** Publishes the message to dlo with its error and with all that it came with, then acknowledges it. */
async function handOver(channel, message, queue, error) {
  const { expiration, userId, headers, ...properties } = message.properties;
  channel.publish('dlx', queue, message.content, {
    ...properties,
    persistent: true,
    headers: {
      ...headers,
      'x-exception-message': error.message,
      'x-exception-stacktrace': String(error.stack).slice(0, 30_000),
      'x-original-exchange': '',
      'x-original-routingKey': queue,
    },
  });
  // Rejects where RabbitMQ does not confirm it: the channel is of createConfirmChannel().
  await channel.waitForConfirms();
  channel.ack(message);
}
// docs: end

function work(message) {
  const body = message.content.toString();
  console.log(JSON.stringify({ call: body }));
  if (body === 'never' || message.properties.headers['dlo-attempts'] !== '2') throw new Error(`no stock for ${body}`);
}

async function main() {
  const [url, queue] = process.argv.slice(2);
  const connection = await amqp.connect(url);
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue(queue, { durable: true });
  await channel.consume(queue, async (message) => {
    try {
      work(message);
    } catch (error) {
      await handOver(channel, message, queue, error);
      return;
    }
    channel.ack(message);
  });
  console.log('{"ready": true}');
}

main();
