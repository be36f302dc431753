import { InProcessTransport } from '#messaging';
import { describeTransport } from './transport.suite.js';
import { openRabbit } from './open-rabbit.js';
import { isProvided, newNamespace } from '#testing';

describeTransport('the in-process transport', () => {
  const transport = new InProcessTransport();
  return { asking: transport, answering: transport };
});

if (isProvided('rabbitmq'))
  describeTransport('RabbitMQ', () => {
    const namespace = newNamespace();
    return { asking: openRabbit(namespace), answering: openRabbit(namespace) };
  });
