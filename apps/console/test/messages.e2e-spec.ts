import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleApi, type Role } from '#console-api';
import { applicationsRpc, deliveriesRpc, type ShownDelivery, templatesRpc } from '#contracts';
import { appError } from '#errors';
import { TestConsole, type Visitor } from './console-service.js';

const APP = 'shop';
const params = { appId: APP };
const id = '00000000-0000-4000-8000-000000000001';
const at = '2026-01-02T03:04:05.678Z';
const DELIVERY: ShownDelivery = {
  id,
  appId: APP,
  channel: 'mail',
  kind: 'verifyEmail',
  recipient: 'ada@example.com',
  userId: 'u1',
  status: 'dead',
  attempts: 2,
  attemptLog: [
    { at, outcome: 'failed', answer: '421 <ada@example.com> later' },
    { at, outcome: 'sent', answer: null },
  ],
  lastError: '550 <ada@example.com>: unknown, ask bo@example.com',
  createdAt: at,
  expiresAt: at,
  nextAttemptAt: null,
  settledAt: at,
};

let console: TestConsole;
let owner: Visitor;
const as = new Map<Role, Visitor>();

beforeAll(async () => {
  console = await TestConsole.start();
  owner = await console.owner();
  for (const role of ['viewer', 'support'] as const) as.set(role, await console.withRole(owner, role, APP));
});
afterAll(() => console.stop());
beforeEach(() => {
  console.transport.calls.length = 0;
});

describe('the messages of an application', () => {
  beforeEach(() => {
    const next = { createdAt: at, id };
    console.transport.answer(deliveriesRpc.list, () => ({ deliveries: [DELIVERY], next }));
    console.transport.answer(deliveriesRpc.get, () => ({ delivery: DELIVERY }));
  });

  it('are not listed after a cursor that names no message', async () => {
    const after = `${at},no-message`;
    const { status, body } = await owner.call(consoleApi.listMessages, { params, query: { after } });
    expect([status, body['error']]).toEqual([400, 'after must be the value of next in an earlier page.']);
  });

  it('are listed page by page, with filters', async () => {
    const query = { status: 'dead', kind: 'verifyEmail', recipient: 'ada@example.com', limit: '7' };
    const { body } = await owner.call(consoleApi.listMessages, { params, query });
    expect(body).toMatchObject({ items: [{ id, recipient: 'ada@example.com' }], next: `${at},${id}`, counts: null });
    await owner.call(consoleApi.listMessages, { params, query: { after: String(body['next']) } });
    expect(console.transport.requestsOf(deliveriesRpc.list)).toEqual([
      { appId: APP, ...query, limit: 7, counts: false },
      { appId: APP, after: { createdAt: at, id }, limit: 50, counts: false },
    ]);
  });

  it('are counted where the page asks for it', async () => {
    const counts = { byStatus: { dead: 3 }, isExact: false };
    console.transport.answer(deliveriesRpc.list, () => ({ deliveries: [], next: null, counts }));
    const { body } = await owner.call(consoleApi.listMessages, { params, query: { counts: 'true' } });
    expect(body).toEqual({ items: [], next: null, counts });
  });

  it('have masked recipients and answers without users.contact, and cannot be searched by recipient', async () => {
    const viewer = as.get('viewer')!;
    const { text } = await viewer.call(consoleApi.getMessage, { params: { ...params, messageId: id } });
    const lists = await viewer.call(consoleApi.listMessages, { params });
    expect(JSON.parse(text)).toMatchObject({
      message: { recipient: 'a…@example.com', lastError: '550 <a…@example.com>: unknown, ask b…@example.com' },
      history: [
        { at, error: '421 <a…@example.com> later' },
        { at, error: null },
      ],
    });
    for (const shown of [text, lists.text]) expect(shown).not.toMatch(/ada@|bo@/);
    const query = { recipient: 'ada@example.com' };
    expect((await viewer.call(consoleApi.listMessages, { params, query })).status).toBe(403);
    const support = await as.get('support')!.call(consoleApi.listMessages, { params, query });
    expect(support.text).toContain('550 <ada@example.com>: unknown');
  });

  it('has the last digits of a number for a viewer', async () => {
    const sms = {
      ...DELIVERY,
      channel: 'sms',
      recipient: '+8613800001234',
      lastError: '+8613800001234 is off',
    } as const;
    console.transport.answer(deliveriesRpc.get, () => ({ delivery: sms }));
    const { body } = await as.get('viewer')!.call(consoleApi.getMessage, { params: { ...params, messageId: id } });
    expect(body).toMatchObject({ message: { recipient: '…1234', lastError: '…1234 is off' } });
  });

  it('are asked for, and sent again, within the application of the path', async () => {
    const queued: ShownDelivery = { ...DELIVERY, status: 'queued' };
    console.transport.answer(deliveriesRpc.retry, () => ({ delivery: queued }));
    const message = { params: { ...params, messageId: id } };
    await owner.call(consoleApi.getMessage, message);
    const { body } = await owner.call(consoleApi.retryMessage, message);
    expect(body).toMatchObject({ message: { status: 'queued' } });
    const asked = [deliveriesRpc.get, deliveriesRpc.retry].flatMap((rpc) => console.transport.requestsOf(rpc));
    expect(asked).toEqual([
      { appId: APP, id },
      { appId: APP, id },
    ]);
    console.transport.fail(deliveriesRpc.retry, appError('NOT_FOUND'));
    expect((await owner.call(consoleApi.retryMessage, message)).status).toBe(404);
  });

  it.each([
    ['until a batch is smaller than the one before', [1_000, 1_000, 40, 7], 2_040],
    ['not at all where there are none', [0, 7], 0],
    ['in a second batch, which finds none', [3, 0, 7], 3],
    ['in 50 batches at most', Array.from({ length: 60 }, () => 1_000), 50_000],
  ])('are sent again %s', async (_, batches, expected) => {
    let batch = 0;
    console.transport.answer(deliveriesRpc.retryDead, () => ({ retried: batches[batch++] ?? 0 }));
    const { body } = await as.get('support')!.call(consoleApi.retryDeadMessages, { params });
    expect(body).toEqual({ retried: expected });
    expect(new Set(console.transport.requestsOf(deliveriesRpc.retryDead).map(({ appId }) => appId))).toEqual(
      new Set([APP]),
    );
  });
});

describe('a template', () => {
  const place = { ...params, kind: 'verifyEmail', language: 'en' };
  const mail = {
    kind: 'verifyEmail',
    language: 'en',
    isOwn: false,
    subject: 's',
    html: '<p>h</p>',
    text: 't',
  } as const;

  beforeEach(() => {
    const keys = { appKey: 'app key', masterKey: 'master key', oldKeys: [], secretsSet: [] };
    const given = { id: APP, name: 'My shop', ...keys, settings: {}, classPermissions: {}, createdAt: at };
    console.transport.answer(applicationsRpc.get, () => applicationsRpc.get.reply.parse({ application: given }));
    console.transport.answer(templatesRpc.preview, () => ({ mail }));
    console.transport.answer(templatesRpc.sendTest, () => ({ id }));
  });

  it('is rendered with parts that are not saved', async () => {
    const { body } = await as.get('viewer')!.call(consoleApi.previewTemplate, { params: place, body: { text: 'new' } });
    expect(body).toEqual({ mail: { subject: 's', html: '<p>h</p>', text: 't' } });
    const asked = { ...place, applicationName: 'My shop', parts: { text: 'new' } };
    expect(console.transport.requestsOf(templatesRpc.preview)).toEqual([asked]);
  });

  it("is sent to the operator's own address only", async () => {
    const { body } = await owner.call(consoleApi.sendTestMail, { params: place, body: { subject: 'new' } });
    expect(body).toEqual({ recipient: 'ada@example.com' });
    const [sent] = console.transport.requestsOf(templatesRpc.sendTest);
    expect(sent).toMatchObject({ to: 'ada@example.com', parts: { subject: 'new' }, applicationName: 'My shop' });
    const other = await owner.call(consoleApi.sendTestMail, { params: place, body: { to: 'eve@example.com' } });
    expect(other.status).toBe(400);
  });
});
