// What the services in Node have in common: the work that fails, and the lines they exchange with the runner. See shop.py.
'use strict';

const readline = require('node:readline');

const url = process.env.AMQP_URL;
const variant = process.env.VARIANT;
const calls = new Map();
const healed = new Set();

const say = (line) => console.log(JSON.stringify(line));

class OutOfStock extends Error {
  name = 'OutOfStock';
}

/** Fails as often as the order says, and whenever its text is wrong. */
function work(order) {
  const count = (calls.get(order.key) ?? 0) + 1;
  calls.set(order.key, count);
  say({ call: order.key, n: count, text: order.text });
  if (order.text === 'wrong' || (!healed.has(order.key) && count <= order.fails)) {
    throw new OutOfStock(`no stock for ${order.key}`);
  }
}

/** Publishes what the runner wants with this framework. */
function serve(publish) {
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const command = JSON.parse(line);
    if (command.heal) {
      healed.add(command.heal);
      say({ healed: command.heal });
    } else Promise.resolve(publish(command.publish)).catch(die);
  });
  lines.on('close', () => process.exit(0));
}

const ready = (...queues) => say({ ready: queues });

function die(error) {
  console.error(error);
  process.exit(1);
}

module.exports = { url, variant, work, serve, ready, die, OutOfStock };
