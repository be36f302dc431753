import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type EventPayload, events, type MailRequest } from '#contracts';
import { eventually, gatepost, type SmtpSink, TcpProxy, testRun, useSmtpSink } from '#testing';
import { MailService } from './mail-service.js';

type Requested = Awaited<ReturnType<MailService['request']>>;

/** The Message-IDs of the mails that have arrived for these requests. */
const idsOf = async (sink: SmtpSink, requests: readonly Requested[]) => {
  const mails = await Promise.all(requests.map(({ email }) => sink.mailsTo(email)));
  return mails.flat().map(({ messageId }) => messageId);
};
const expected = (requests: readonly Requested[]) => requests.map(({ id }) => `<${id}@gatepost.test>`).sort();
const several = (count: number, request: () => Promise<Requested>) =>
  Promise.all(Array.from({ length: count }, () => request()));

describe('mail and its SMTP server', () => {
  const sink = useSmtpSink();
  let mail: MailService;

  const allLeaveOnce = async (requests: readonly Requested[], timeoutMs?: number) => {
    await Promise.all(requests.map(({ id }) => mail.untilRecorded(id, 'sent', timeoutMs)));
    expect((await idsOf(sink(), requests)).sort()).toEqual(expected(requests));
  };

  beforeAll(async () => {
    mail = await MailService.start(2, sink().env());
  });
  afterEach(() => {
    sink().mend();
  });
  afterAll(() => mail.stop());

  it('two processes send each mail once', async () => {
    await allLeaveOnce(await several(100, () => mail.request()));
  });

  it('down for a while: mails wait without using attempts, and are sent once', async () => {
    await sink().goDown();
    const requests = await several(30, () => mail.request());
    await mail.server.main.untilLogged(/paused, everything waits/);
    const notes = await mail.deliveries();
    const waiting = notes.filter(({ id }) => requests.some((request) => request.id === id));
    expect(waiting.every(({ status, attempts }) => status === 'queued' && attempts === 0)).toBe(true);
    await sink().goUp();
    await allLeaveOnce(requests);
    expect(await mail.untilRecorded(requests[0]!.id, 'sent')).toMatchObject({ attempts: 1 });
  });

  it('slow: further requests are queued, and all are sent once', async () => {
    sink().slowDown(1_500);
    await allLeaveOnce(await several(15, () => mail.request()), 20_000);
  });

  it('rejecting one recipient permanently: that mail is dead, the others are sent, and an operator retries it', async () => {
    const email = 'refused@example.com';
    sink().refuse(email, 550);
    const [refused, ...others] = [await mail.request({ email }), ...(await several(5, () => mail.request()))] as const;
    await allLeaveOnce(others);
    const { last_error: error, attempts } = await mail.untilRecorded(refused.id, 'dead');
    expect([attempts, error]).toEqual([1, expect.stringContaining('550')]);
    const listed = await gatepost(mail.server, 'mails', 'list', '--status', 'dead', '--to', email);
    expect(listed.stdout).toContain(refused.id);
    expect(listed.stdout).not.toContain(refused.token);
    sink().mend();
    expect(await gatepost(mail.server, 'mails', 'retry', refused.id)).toMatchObject({ status: 0 });
    await allLeaveOnce([refused]);
    const again = await gatepost(mail.server, 'mails', 'retry', refused.id);
    expect([again.status, again.stderr]).toEqual([
      1,
      `${refused.id} is not sent again: it is sent, and only dead messages are.\n`,
    ]);
  });

  it('rejecting one recipient temporarily: that mail is retried, and the others do not wait for it', async () => {
    const email = 'later@example.com';
    sink().refuse(email, 450);
    const [later, ...others] = [await mail.request({ email }), ...(await several(5, () => mail.request()))] as const;
    await allLeaveOnce(others);
    expect(await mail.untilRecorded(later.id, 'failed')).toMatchObject({ attempts: 1 });
    sink().mend();
    await allLeaveOnce([later]);
  });

  it('closing the connection before the response: the mail is sent again with the same Message-ID', async () => {
    sink().break('drop');
    const request = await mail.request();
    await mail.untilRecorded(request.id, 'failed');
    sink().mend();
    await mail.hurry();
    await mail.untilRecorded(request.id, 'sent');
    const ids = await idsOf(sink(), [request]);
    expect(ids.length).toBeLessThanOrEqual(3);
    expect(new Set(ids)).toEqual(new Set(expected([request])));
  });

  it('expired mails are not sent', async () => {
    const request = await mail.request({ expiresAt: new Date(Date.now() - 1_000).toISOString() });
    expect(await mail.untilRecorded(request.id, 'dropped')).toMatchObject({ attempts: 0 });
    expect(await idsOf(sink(), [request])).toEqual([]);
  });
});

describe('mails of users who change', () => {
  const sink = useSmtpSink();
  let mail: MailService;

  const earlier = new Date(Date.now() - 10_000).toISOString();
  const now = new Date().toISOString();
  const deletion = ({ appId, userId }: Pick<MailRequest, 'appId' | 'userId'>) =>
    mail.publish(events.userDeleted, { appId, userId, deletedAt: now });
  const change = ({ appId, userId }: Pick<MailRequest, 'appId' | 'userId'>, email: string | null) =>
    mail.publish(events.emailChanged, { appId, userId, email, changedAt: now });

  beforeAll(async () => {
    mail = await MailService.start(2, sink().env());
  });
  afterAll(() => mail.stop());

  it('are not sent after the user was deleted, or the address was changed or removed', async () => {
    await sink().goDown();
    const requests = await several(4, () => mail.request({ userUpdatedAt: earlier }));
    const [deleted, changed, removed, kept] = requests as [Requested, Requested, Requested, Requested];
    await mail.server.main.untilLogged(/paused, everything waits/);
    await Promise.all([
      deletion(deleted),
      change(changed, 'new@example.com'),
      change(removed, null),
      change(kept, kept.email),
    ]);
    await Promise.all([deleted, changed, removed].map(({ id }) => mail.untilRecorded(id, 'dropped')));
    await sink().goUp();
    await mail.untilRecorded(kept.id, 'sent', 30_000);
    expect(await idsOf(sink(), requests)).toEqual(expected([kept]));
  }, 45_000);

  it('are not sent if the change follows in the queue after a downtime', async () => {
    const stale = await mail.request({ userUpdatedAt: earlier, requestedAt: earlier });
    await mail.untilRecorded(stale.id, 'queued');
    await change(stale, 'newer@example.com');
    expect(await mail.untilRecorded(stale.id, 'dropped')).toMatchObject({ attempts: 0 });
    const kept = await mail.request({ requestedAt: earlier });
    await mail.untilRecorded(kept.id, 'sent', 20_000);
    expect(await idsOf(sink(), [stale, kept])).toEqual(expected([kept]));
  }, 30_000);

  it('are not sent if the change arrives first; those to the new address are', async () => {
    const user = { appId: 'app', userId: `user-${now}` };
    await change(user, 'newer@example.com');
    const last = await mail.request();
    await mail.untilRecorded(last.id, 'sent');
    const stale = await mail.request({ ...user, userUpdatedAt: earlier });
    const fresh = await mail.request({ ...user, email: 'newer@example.com', userUpdatedAt: now });
    expect(await mail.untilRecorded(stale.id, 'dropped')).toMatchObject({
      attempts: 0,
      last_error: 'the email address of the user has changed',
    });
    await mail.untilRecorded(fresh.id, 'sent');
    expect(await idsOf(sink(), [stale, fresh])).toEqual(expected([fresh]));
  });
});

describe('a mail process', () => {
  const sink = useSmtpSink();

  afterEach(() => {
    sink().mend();
  });

  it('killed between the acceptance of a mail and its own note leaves one duplicate at most, with the same Message-ID', async () => {
    const mail = await MailService.start(1, sink().env());
    sink().slowDown(1_000);
    const request = await mail.request();
    const release = await mail.holdBack(request.id);
    await eventually(async () => {
      expect(await idsOf(sink(), [request])).toHaveLength(1);
    });
    process.kill(mail.server.processes[0]!.pid, 'SIGKILL');
    await mail.server.main.exited;
    await release();
    const next = await MailService.start(1, mail.server.env);
    await next.hurry();
    await next.untilRecorded(request.id, 'sent');
    expect(await idsOf(sink(), [request])).toEqual([...expected([request]), ...expected([request])]);
    await next.stop();
    await mail.stop();
  }, 60_000);

  it('finishes claimed mails at shutdown and stores the results; the rest waits for the next process', async () => {
    const mail = await MailService.start(1, sink().env());
    sink().slowDown(2_500);
    const requests = await several(10, () => mail.request());
    await eventually(async () => {
      expect(await mail.deliveries()).toHaveLength(10);
    });
    await mail.server.stop();
    const sent = (await mail.deliveries()).filter(({ status }) => status === 'sent');
    expect((await idsOf(sink(), requests)).sort()).toEqual(sent.map(({ id }) => `<${id}@gatepost.test>`).sort());
    expect(sent.length).toBeLessThan(10);
    sink().mend();
    const next = await MailService.start(1, mail.server.env);
    await Promise.all(requests.map(({ id }) => next.untilRecorded(id, 'sent')));
    expect((await idsOf(sink(), requests)).sort()).toEqual(expected(requests));
    await next.stop();
    await mail.stop();
  }, 60_000);

  it('without its broker sends queued mails; new requests are sent once the broker is back', async () => {
    const proxy = await TcpProxy.to(new URL(testRun().amqpUrl), 5672);
    const mail = await MailService.start(1, { ...sink().env(), AMQP_URL: proxy.urlFor(testRun().amqpUrl) });
    const before = await several(20, () => mail.request());
    proxy.takeAway();
    const meanwhile = await several(20, () => mail.request());
    expect(await idsOf(sink(), meanwhile)).toEqual([]);
    proxy.bringBack();
    const all = [...before, ...meanwhile];
    await Promise.all(all.map(({ id }) => mail.untilRecorded(id, 'sent', 30_000)));
    expect((await idsOf(sink(), all)).sort()).toEqual(expected(all));
    await mail.stop();
    await proxy.close();
  }, 60_000);

  it('rejects an invalid event; an operator replays or drops it', async () => {
    const mail = await MailService.start(1, sink().env());
    const run = async (...args: string[]) => (await gatepost(mail.server, 'dead-letters', ...args)).stdout;
    const expectDead = (count: number) =>
      eventually(async () => {
        expect(await run('count')).toMatch(new RegExp(`^mail +${count}\n$`));
      });
    const id = await mail.publish(events.userDeleted, { appId: 'app' } as EventPayload<typeof events.userDeleted>);
    await expectDead(1);
    expect(await run('replay', 'mail')).toMatch(new RegExp(`^${id}  user.deleted.v1  ".*\n1 event was replayed.\n$`));
    await expectDead(1);
    expect(await run('drop', 'mail')).toContain('1 event was dropped.');
    await expectDead(0);
    await mail.stop();
  }, 60_000);
});
