import { beforeEach, describe, expect, it } from 'vitest';
import type { MessageRef, QueuePage } from '../device-queues/device-queues.js';
import { type Deliverable, DeviceSession } from './device-session.js';
import type { ClientCommand } from './framings/framing.js';
import type { Effect } from './session-effects.js';

const LOGIN: ClientCommand = { kind: 'login', appId: 'app', installationId: 'device', i: undefined, seen: [] };
const MESSAGE_BYTES = 100;

const ref = (id: string): MessageRef => ({ id, platform: 'web', expiresAt: 0 });
const message = (id: string, bytes = MESSAGE_BYTES): Deliverable => ({
  ref: ref(id),
  message: { id, body: '{}', bytes },
});
const ack = (...ids: string[]): ClientCommand => ({ kind: 'ack', ids });
const page = (ids: readonly string[], change: Partial<QueuePage> = {}): QueuePage => ({
  refs: ids.map(ref),
  hasMore: false,
  dropped: 0,
  droppedUpTo: 0,
  ...change,
});
const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `m${from + index}`);
const sentIds = (effects: readonly Effect[]) =>
  effects.flatMap((effect) =>
    effect.kind === 'send' && effect.frame.kind === 'data' ? effect.frame.messages.map(({ id }) => id) : [],
  );
const kinds = (effects: readonly Effect[]) =>
  effects.map((effect) => (effect.kind === 'send' ? effect.frame.kind : effect.kind));

describe('a session', () => {
  let session: DeviceSession;
  let nowMs: number;
  beforeEach(() => {
    nowMs = 1_000;
    session = newSession();
  });
  const newSession = (hasGatepostExtensions = true) =>
    new DeviceSession({ id: 's1', hasGatepostExtensions, pingSeconds: 60, nowMs });

  const receive = (command: ClientCommand) => session.receive(command, nowMs);
  const arrival = (id: string, bytes?: number) => ({ deliverable: message(id, bytes), mustAsk: false });
  const wakeUp = (id: string, mustAsk = false) => session.wakeUp([{ ...arrival(id), mustAsk }], nowMs);
  /** Delivers a page as the service does. */
  const bring = (answer: QueuePage) => {
    const { refs, effects } = session.selectMessages(answer);
    return [
      ...effects,
      ...session.deliverPage(
        refs.map(({ id }) => message(id)),
        answer,
        nowMs,
      ),
    ];
  };
  /** Logs in with these messages in the queue. */
  const open = (answer = page([]), verifyWakeUpsUntilMs = 0) => {
    receive(LOGIN);
    return [...session.connected(verifyWakeUpsUntilMs), ...bring(answer)];
  };

  describe('at its login', () => {
    it('registers in the store, and confirms the login before any other frame', () => {
      expect(receive(LOGIN)).toEqual([{ kind: 'connect' }]);
      expect(kinds([...session.connected(0), ...bring(page(['a']))])).toEqual(['loggedIn', 'data']);
    });

    it.each([
      ['with an impossible application id', { appId: 'a\0' }, 4100],
      ['with an application id of another format', { appId: '../x' }, 4100],
      ['without an id', { installationId: '' }, 4103],
      ['with an id that is too long', { installationId: 'i'.repeat(129) }, 4103],
      ['with an id that no store can keep', { installationId: 'a\0b' }, 4103],
      ['with half a character', { installationId: '\ud800' }, 4103],
    ])('is refused %s', (_, change, code) => {
      expect(receive({ ...LOGIN, ...change })).toContainEqual(expect.objectContaining({ kind: 'close', code }));
    });

    it('answers a repeated login with its new number, without another request to the store', () => {
      open();
      expect(receive({ ...LOGIN, i: 5 })).toEqual([
        { kind: 'send', frame: { kind: 'loggedIn', installationId: 'device', i: 5, heartbeatSeconds: 60 } },
      ]);
    });

    it('answers once if the login is repeated before its answer', () => {
      receive(LOGIN);
      expect(receive({ ...LOGIN, i: 2 })).toEqual([]);
      expect(session.connected(0)).toMatchObject([{ frame: { i: 2 } }]);
      expect(session.connected(0)).toEqual([]);
    });

    it('does not send what the device has seen, and acknowledges it', () => {
      receive({ ...LOGIN, seen: ['a'] });
      session.connected(0);
      const effects = bring(page(['a', 'b']));
      expect(effects[0]).toEqual({ kind: 'acknowledge', refs: [ref('a')], reportedUpTo: 0 });
      expect(sentIds(effects)).toEqual(['b']);
    });

    it('does not send what the device has seen after a login that takes minutes', () => {
      receive({ ...LOGIN, seen: ['a'] });
      for (let visits = 0; visits < 3; visits += 1) {
        nowMs += 100_000;
        session.onActivity(nowMs);
        session.visit(nowMs);
      }
      session.connected(0);
      session.visit(nowMs);
      expect(sentIds(bring(page(['a', 'b'], { hasMore: true })))).toEqual(['b']);
      nowMs += 100_000;
      session.visit(nowMs);
      expect(sentIds(bring(page(['a', 'c'])))).toEqual(['c']);
    });

    it('does not lose a message that arrives during the login', () => {
      receive(LOGIN);
      expect(wakeUp('late')).toEqual([]);
      session.connected(0);
      expect(kinds(bring(page([])))).toEqual(['peek']);
      expect(sentIds(bring(page(['late'])))).toEqual(['late']);
    });
  });

  describe('with new messages', () => {
    it('sends at once if the device has all earlier messages', () => {
      open();
      expect(sentIds(wakeUp('a'))).toEqual(['a']);
    });

    it('sends those that arrive together in one frame, without those that it has sent before', () => {
      open();
      wakeUp('b');
      const effects = session.wakeUp([arrival('a'), arrival('b'), arrival('c')], nowMs);
      expect([kinds(effects), sentIds(effects)]).toEqual([['data'], ['a', 'c']]);
    });

    it('asks the queue for all after one that must wait', () => {
      open();
      const effects = session.wakeUp([arrival('a'), { ...arrival('b'), mustAsk: true }, arrival('c')], nowMs);
      expect([kinds(effects), sentIds(effects)]).toEqual([['data', 'peek'], ['a']]);
    });

    it('never resends a message that is in flight or acknowledged', () => {
      open();
      wakeUp('a');
      expect(wakeUp('a')).toEqual([]);
      receive(ack('a'));
      expect(wakeUp('a')).toEqual([]);
      expect(sentIds(bring(page(['a'])))).toEqual([]);
    });

    it('acknowledges again what the store still holds', () => {
      open(page(['a']));
      receive(ack('a'));
      expect(bring(page(['a']))).toEqual([{ kind: 'acknowledge', refs: [ref('a')], reportedUpTo: 0 }]);
    });

    it('asks the queue if a wake-up may be a repetition', () => {
      open();
      expect(wakeUp('a', true)).toEqual([{ kind: 'peek' }]);
    });

    it('asks the queue for a while after a reconnect', () => {
      open(page([]), nowMs + 10);
      expect(wakeUp('a')).toEqual([{ kind: 'peek' }]);
      bring(page(['a']));
      nowMs += 20;
      expect(sentIds(wakeUp('b'))).toEqual(['b']);
    });

    it('has one request at a time, and repeats it for messages that arrived meanwhile', () => {
      open();
      expect(session.resync()).toEqual([{ kind: 'peek' }]);
      expect(session.resync()).toEqual([]);
      expect(wakeUp('b')).toEqual([]);
      const effects = bring(page(['a']));
      expect(sentIds(effects)).toEqual(['a']);
      expect(kinds(effects).at(-1)).toBe('peek');
    });

    it('does not repeat requests for a message that is missing', () => {
      receive(LOGIN);
      session.connected(0);
      expect(session.deliverPage([], page(['lost'], { hasMore: true }), nowMs)).toEqual([]);
      nowMs += 5_000;
      expect(kinds(session.visit(nowMs))).toEqual(['peek']);
    });
  });

  describe('with a window', () => {
    it('sends at most 32 messages, and continues once half of them are acknowledged', () => {
      expect(sentIds(open(page(numbered(40))))).toEqual(numbered(32));
      expect(wakeUp('later')).toEqual([]);
      expect(kinds(receive(ack(...numbered(15))))).toEqual(['acknowledge']);
      expect(kinds(receive(ack('m15')))).toEqual(['acknowledge', 'peek']);
      expect(sentIds(bring(page([...numbered(24, 16), 'later'])))).toEqual([...numbered(8, 32), 'later']);
    });

    it('sends at most 64 kB, but always one message', () => {
      open();
      const effects = session.wakeUp([arrival('large', 70_000), arrival('small', 1)], nowMs);
      expect([kinds(effects), sentIds(effects)]).toEqual([['data'], ['large']]);
    });

    it('sends no message before an earlier one that does not fit', () => {
      open();
      const effects = session.wakeUp([arrival('a', 30_000), arrival('b', 60_000), arrival('c', 1)], nowMs);
      expect([kinds(effects), sentIds(effects)]).toEqual([['data', 'peek'], ['a']]);
    });

    it('stays open while the device acknowledges, and ignores ids that it never got', () => {
      open(page(numbered(40)));
      for (const id of ['m0', 'm1', 'm2']) {
        nowMs += 50_000;
        receive(ack(id));
        expect(kinds(session.visit(nowMs))).not.toContain('close');
      }
      expect(receive(ack('unknown'))).toEqual([]);
    });

    it.each([
      ['a small part of the window is acknowledged', page(numbered(40)), ['m0', 'm1']],
      ['half a window is in flight', page(numbered(20), { hasMore: true }), []],
    ])('closes if the queue holds more, and %s', (_, first, acknowledged) => {
      open(first);
      receive(ack(...acknowledged));
      session.visit(nowMs);
      nowMs += 61_000;
      receive({ kind: 'heartbeat' });
      expect(session.visit(nowMs)).toMatchObject([{ frame: { kind: 'error' } }, { kind: 'close', code: 4107 }]);
    });
    it('closes if nothing is acknowledged', () => {
      open(page(numbered(40)));
      nowMs += 61_000;
      receive({ kind: 'heartbeat' });
      expect(session.visit(nowMs)).toMatchObject([{ frame: { kind: 'error' } }, { kind: 'close', code: 4107 }]);
    });
  });

  describe('with dropped messages', () => {
    it('reports them once, until the device and then the store have acknowledged', () => {
      const gap = open(page([], { dropped: 3, droppedUpTo: 1_003 })).at(-1);
      expect(gap).toEqual({ kind: 'send', frame: { kind: 'gap', id: 'gap-s1-3', dropped: 3 } });
      expect(bring(page([], { dropped: 3, droppedUpTo: 1_003 }))).toEqual([]);
      expect(receive(ack('gap-s1-3'))).toEqual([{ kind: 'acknowledge', refs: [], reportedUpTo: 1_003 }]);
      expect(receive(ack('gap-s1-3'))).toEqual([]);
      session.resync();
      expect(kinds(bring(page([], { dropped: 2 })))).toEqual(['gap']);
    });

    it('does not report them in other protocols', () => {
      session = newSession(false);
      expect(kinds(open(page([], { dropped: 3, droppedUpTo: 1_003 })))).toEqual(['loggedIn']);
    });
  });

  describe('as time passes', () => {
    it('closes if the login is missing', () => {
      nowMs += 16_000;
      expect(session.visit(nowMs)).toMatchObject([{}, { kind: 'close', code: 4108 }]);
    });

    it('sends pings, and heartbeats that scripts can see', () => {
      open();
      nowMs += 30_000;
      expect(session.visit(nowMs)).toEqual([]);
      nowMs += 30_000;
      expect(kinds(session.visit(nowMs))).toEqual(['ping', 'heartbeat']);
      expect(session.visit(nowMs)).toEqual([]);
    });

    it('terminates a device that does not respond to pings', () => {
      open();
      nowMs += 140_000;
      session.onActivity(nowMs);
      nowMs += 140_000;
      expect(kinds(session.visit(nowMs))).not.toContain('terminate');
      nowMs += 20_000;
      expect(session.visit(nowMs)).toEqual([{ kind: 'terminate' }]);
    });
  });

  it('closes for a device that floods it, and not for one that acknowledges its messages', () => {
    open();
    for (let count = 0; count < 1_000; count += 1) {
      wakeUp(`m${count}`);
      expect(kinds(receive(ack(`m${count}`)))).toEqual(['acknowledge']);
    }
    const answers = Array.from({ length: 120 }, () => receive({ kind: 'heartbeat' }));
    expect(answers.flat()).toContainEqual(expect.objectContaining({ kind: 'close', code: 4116 }));
    expect(receive({ kind: 'heartbeat' })).toEqual([]);
  });

  it('does not close for a device that acknowledges the messages of a backlog one by one', () => {
    let next = 32;
    open(page(numbered(next), { hasMore: true }));
    for (let count = 0; count < 1_000; count += 1) {
      const answers = kinds(receive(ack(`m${count}`)));
      expect(answers).not.toContain('close');
      if (!answers.includes('peek')) continue;
      bring(page(numbered(16, next), { hasMore: true }));
      next += 16;
    }
  });

  it('counts pings and pongs as frames', () => {
    open();
    const answers = Array.from({ length: 120 }, () => session.onActivity(nowMs));
    expect(answers.flat()).toContainEqual(expect.objectContaining({ kind: 'close', code: 4116 }));
    expect(session.onActivity(nowMs)).toEqual([]);
  });

  it('answers unsupported commands that have a number, and ignores the others', () => {
    expect(receive({ kind: 'unsupported', i: 7 })).toMatchObject([{ frame: { kind: 'error', i: 7 } }]);
    expect(receive({ kind: 'unsupported', i: undefined })).toEqual([]);
  });

  it.each<[string, () => void]>([
    ['the server restarts', () => void session.goAway(1)],
    ['the device has connected elsewhere', () => void session.refuse(4111, '')],
  ])('accepts acknowledgements that come after it has ended because %s, and nothing else', (_, end) => {
    open(page(['a', 'b']));
    end();
    expect(receive({ kind: 'heartbeat' })).toEqual([]);
    expect(receive(ack('a', 'unknown'))).toMatchObject([{ kind: 'acknowledge', refs: [{ id: 'a' }] }]);
    for (let count = 0; count < 120; count += 1) receive(ack('unknown'));
    expect([session.isListening, receive(ack('b'))]).toEqual([false, []]);
  });

  it('has no effects after its end', () => {
    open(page(numbered(40)));
    session.ended();
    expect([...receive(ack('m0')), ...wakeUp('a'), ...session.resync(), ...session.visit(nowMs)]).toEqual([]);
    expect(session.deliverPage([message('a')], page(['a']), nowMs)).toEqual([]);
    expect([...session.refuse(4111, ''), ...session.goAway(1)]).toEqual([]);
  });
});
