import { isProvided, newNamespace } from '#testing';
import { InProcessTransport } from '../src/in-process.transport.js';
import { openRabbit } from './open-rabbit.js';
import { describeTransport } from './transport.suite.js';

describeTransport('the in-process transport', () => {
  const transport = new InProcessTransport();
  return { asking: transport, answering: transport };
});

if (isProvided('rabbitmq'))
  describeTransport('RabbitMQ', () => {
    const namespace = newNamespace();
    return { asking: openRabbit(namespace), answering: openRabbit(namespace) };
  });
