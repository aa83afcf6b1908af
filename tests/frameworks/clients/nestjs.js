// NestJS microservices: an event handler. Without noAck: false RabbitMQ forgets a message when it sends it.
'use strict';

require('reflect-metadata');
const { Controller, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { ClientProxyFactory, Ctx, EventPattern, Payload, Transport } = require('@nestjs/microservices');
const { url, variant, work, serve, ready, die } = require('./shop');

class Billing {
  charge(order, context) {
    const channel = context.getChannelRef();
    try {
      work(order);
    } catch (error) {
      if (variant === 'default') throw error;
      channel.nack(context.getMessage(), false, false);
      return;
    }
    if (variant !== 'default') channel.ack(context.getMessage());
  }
}
// What decorators do in TypeScript.
const charge = Object.getOwnPropertyDescriptor(Billing.prototype, 'charge');
Payload()(Billing.prototype, 'charge', 0);
Ctx()(Billing.prototype, 'charge', 1);
EventPattern('order.placed')(Billing.prototype, 'charge', charge);
Controller()(Billing);

class Shop {}
Module({ controllers: [Billing] })(Shop);

async function main() {
  const options = { urls: [url], queue: 'orders', queueOptions: { durable: true }, prefetchCount: 10 };
  const server = variant === 'default' ? options : { ...options, noAck: false };
  const app = await NestFactory.createMicroservice(Shop, {
    transport: Transport.RMQ,
    options: server,
    logger: ['error'],
  });
  await app.listen();
  const client = ClientProxyFactory.create({ transport: Transport.RMQ, options });
  await client.connect();
  serve((order) => {
    client.emit('order.placed', order);
  });
  ready('orders');
}

main().catch(die);
