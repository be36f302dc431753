import amqplib, { type ConfirmChannel } from 'amqplib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { consoleApi } from '#console-api';
import { newNamespace, testRun } from '#testing';
import { TestConsole, type Visitor } from './console-service.js';

const namespace = newNamespace();
const queue = `${namespace}.events.mail.dead`;

let console: TestConsole;
let owner: Visitor;
let channel: ConfirmChannel;
let stop: () => Promise<void>;

beforeAll(async () => {
  const { amqpUrl: url } = testRun();
  console = await TestConsole.start({}, { url, namespace });
  owner = await console.owner();
  const connection = await amqplib.connect(url);
  channel = await connection.createConfirmChannel();
  stop = () => connection.close();
  await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
  for (const userId of ['u1', 'u2', 'u3']) {
    const event = { appId: 'shop', userId, email: 'ada@example.com', changedAt: '2026-01-02T03:04:05.678Z' };
    const headers = { 'x-gatepost-reason': '550 <ada@example.com>' };
    const properties = { messageId: userId, type: 'email.changed.v1', timestamp: 1_767_323_045, headers };
    channel.sendToQueue(queue, Buffer.from(JSON.stringify(event)), properties);
  }
  await channel.waitForConfirms();
});
afterAll(async () => {
  await channel.deleteQueue(queue);
  await stop();
  await console.stop();
});

const params = { service: 'mail' };
const counts = async () => (await owner.call(consoleApi.listDeadLetters)).body;
const withMails = (messages: number) => ({
  services: [
    { service: 'accounts', messages: 0 },
    { service: 'mail', messages },
    { service: 'push-delivery', messages: 0 },
  ],
});

it('shows the oldest dead letters without addresses, and leaves them', async () => {
  for (let time = 0; time < 3; time += 1) {
    await expect.poll(counts).toEqual(withMails(3));
    const { body, text } = await owner.call(consoleApi.peekDeadLetters, { params, body: { limit: 2 } });
    expect(text).not.toContain('ada@');
    const letter = { pattern: 'email.changed.v1', reason: '550 <a…@example.com>', diedAt: '2026-01-02T03:04:05.000Z' };
    expect(body).toMatchObject({ items: [letter, letter] });
    const shown = (body as { items: { body: string }[] }).items.map((each) => JSON.parse(each.body) as unknown);
    expect(shown).toMatchObject([{ userId: 'u1', email: 'a…@example.com' }, { userId: 'u2' }]);
  }
});

it('shows none of a service without event queues', async () => {
  const unknown = await owner.call(consoleApi.peekDeadLetters, { params: { service: 'gateway' } });
  expect(unknown.status).toBe(404);
  const none = await owner.call(consoleApi.peekDeadLetters, { params: { service: 'accounts' } });
  expect(none.body).toEqual({ items: [] });
});

it('drops them', async () => {
  await expect.poll(counts).toEqual(withMails(3));
  const { body } = await owner.call(consoleApi.dropDeadLetters, { params });
  expect(body).toEqual({ dropped: 3 });
  expect(await counts()).toEqual(withMails(0));
});
