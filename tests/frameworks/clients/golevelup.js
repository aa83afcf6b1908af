// @golevelup/nestjs-rabbitmq: a RabbitSubscribe, which requeues what fails unless told otherwise.
'use strict';

require('reflect-metadata');
const { Injectable, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { AmqpConnection, MessageHandlerErrorBehavior, RabbitMQModule, RabbitSubscribe } = require('@golevelup/nestjs-rabbitmq');
const { url, variant, work, serve, ready, die } = require('./shop');

class Billing {
  async charge(order) {
    work(order);
  }
}
const subscription = { exchange: 'shop', routingKey: 'order.placed', queue: 'orders' };
if (variant !== 'default') subscription.errorBehavior = MessageHandlerErrorBehavior.NACK;
// What decorators do in TypeScript.
const charge = Object.getOwnPropertyDescriptor(Billing.prototype, 'charge');
RabbitSubscribe(subscription)(Billing.prototype, 'charge', charge);
Injectable()(Billing);

class Shop {}
Module({
  imports: [
    RabbitMQModule.forRoot({
      exchanges: [{ name: 'shop', type: 'topic' }],
      uri: url,
      connectionInitOptions: { wait: true },
    }),
  ],
  providers: [Billing],
})(Shop);

async function main() {
  const app = await NestFactory.createApplicationContext(Shop, { logger: ['error'] });
  await app.init();
  const connection = app.get(AmqpConnection);
  serve((order) => connection.publish('shop', 'order.placed', order));
  ready('orders');
}

main().catch(die);
