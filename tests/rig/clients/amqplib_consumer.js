// A service in Node with amqplib, which fails: amqplib_consumer.js URL QUEUE HEALS
//
// Rejects each message until it has failed HEALS times, and one that says "never" always. Prints what it got, one JSON
// a line: the body and the header dlo-attempts as it came.
'use strict';

const amqplib = require('amqplib');

const [url, queue, heals] = process.argv.slice(2);

async function main() {
  const connection = await amqplib.connect(url);
  const channel = await connection.createChannel();
  await channel.prefetch(10);
  await channel.consume(queue, (message) => {
    const body = message.content.toString();
    const attempts = message.properties.headers?.['dlo-attempts'] ?? null;
    console.log(JSON.stringify({ body, attempts }));
    if (body !== 'never' && Number(attempts ?? 0) >= Number(heals)) channel.ack(message);
    else channel.reject(message, false);
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
