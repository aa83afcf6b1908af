// rabbitmq-client: its Consumer, which requeues what fails unless told otherwise.
'use strict';

const { Connection } = require('rabbitmq-client');
const { url, variant, work, serve, ready } = require('./shop');

const connection = new Connection(url);
const publisher = connection.createPublisher({ confirm: true });
const options = { queue: 'orders', queueOptions: { durable: true }, qos: { prefetchCount: 10 } };
if (variant !== 'default') options.requeue = false;
const consumer = connection.createConsumer(options, async (message) => work(message.body));
consumer.on('error', (error) => console.error(error.message));
consumer.on('ready', () => ready('orders'));
serve((order) => publisher.send('orders', order));
