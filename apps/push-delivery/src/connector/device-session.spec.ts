import { beforeEach, describe, expect, it } from 'vitest';
import type { MessageRef, QueuePage } from '../device-queues/device-queues.js';
import { conflictDelayMs } from './delivery-window.js';
import { type Deliverable, DeviceSession } from './device-session.js';
import type { ClientCommand } from './framings/framing.js';
import type { Effect } from './session-effects.js';

const LOGIN: ClientCommand = { kind: 'login', appId: 'app', installationId: 'device', i: undefined, seen: [] };
const MESSAGE_BYTES = 100;

const ref = (id: string): MessageRef => ({ id, platform: 'web' });
const message = (id: string, bytes = MESSAGE_BYTES): Deliverable => ({
  ref: ref(id),
  message: { id, body: '{}', bytes },
});
const ack = (...ids: string[]): ClientCommand => ({ kind: 'ack', ids });
const page = (ids: readonly string[], change: Partial<QueuePage> = {}): QueuePage => ({
  refs: ids.map(ref),
  hasMore: false,
  dropped: 0,
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
  const newSession = (isOurs = true) => new DeviceSession({ id: 's1', isOurs, pingSeconds: 60, nowMs });

  const receive = (command: ClientCommand) => session.receive(command, nowMs);
  const hint = (id: string, mustAsk = false) => session.hinted(message(id), mustAsk, nowMs);
  /** Brings a page as the service does. */
  const bring = (answer: QueuePage) => {
    const { wanted, effects } = session.wanted(answer);
    return [
      ...effects,
      ...session.deliverPage(
        wanted.map(({ id }) => message(id)),
        answer,
        nowMs,
      ),
    ];
  };
  /** Logs in, with this waiting. */
  const open = (answer = page([]), distrustUntilMs = 0) => {
    receive(LOGIN);
    return [...session.connected(distrustUntilMs), ...bring(answer)];
  };

  describe('at its login', () => {
    it('asks for the store, and says that it is logged in before anything else', () => {
      expect(receive(LOGIN)).toEqual([{ kind: 'connect' }]);
      expect(kinds([...session.connected(0), ...bring(page(['a']))])).toEqual(['loggedIn', 'data']);
    });

    it.each([
      ['of no application that can be', { appId: 'a\0' }, 4100],
      ['of another class of names', { appId: '../x' }, 4100],
      ['without an id', { installationId: '' }, 4103],
      ['with an id that is too long', { installationId: 'i'.repeat(129) }, 4103],
      ['with an id that no store can keep', { installationId: 'a\0b' }, 4103],
      ['with half a character', { installationId: '\ud800' }, 4103],
    ])('is refused %s', (_, change, code) => {
      expect(receive({ ...LOGIN, ...change })).toContainEqual(expect.objectContaining({ kind: 'close', code }));
    });

    it('answers a repeated login by its new number, and asks nothing again', () => {
      open();
      expect(receive({ ...LOGIN, i: 5 })).toEqual([
        { kind: 'send', frame: { kind: 'loggedIn', installationId: 'device', i: 5, heartbeatSeconds: 60 } },
      ]);
    });

    it('answers once where the login is repeated before its answer', () => {
      receive(LOGIN);
      expect(receive({ ...LOGIN, i: 2 })).toEqual([]);
      expect(session.connected(0)).toMatchObject([{ frame: { i: 2 } }]);
      expect(session.connected(0)).toEqual([]);
    });

    it('does not send what the device has seen, and acknowledges it', () => {
      receive({ ...LOGIN, seen: ['a'] });
      session.connected(0);
      const effects = bring(page(['a', 'b']));
      expect(effects[0]).toEqual({ kind: 'acknowledge', refs: [ref('a')], droppedTold: 0 });
      expect(sentIds(effects)).toEqual(['b']);
    });

    it('does not lose what comes while the store is asked', () => {
      receive(LOGIN);
      expect(hint('late')).toEqual([]);
      session.connected(0);
      expect(kinds(bring(page([])))).toEqual(['peek']);
      expect(sentIds(bring(page(['late'])))).toEqual(['late']);
    });
  });

  describe('of what comes', () => {
    it('sends at once where the device has all before it', () => {
      open();
      expect(sentIds(hint('a'))).toEqual(['a']);
    });

    it('sends nothing again that is on its way, or was acknowledged', () => {
      open();
      hint('a');
      expect(hint('a')).toEqual([]);
      receive(ack('a'));
      expect(hint('a')).toEqual([]);
      expect(sentIds(bring(page(['a'])))).toEqual([]);
    });

    it('acknowledges once more what the store still has', () => {
      open(page(['a']));
      receive(ack('a'));
      expect(bring(page(['a']))).toEqual([{ kind: 'acknowledge', refs: [ref('a')], droppedTold: 0 }]);
    });

    it('asks the queue where a hint may be an old one', () => {
      open();
      expect(hint('a', true)).toEqual([{ kind: 'peek' }]);
    });

    it('asks the queue for a while where the device was here before', () => {
      open(page([]), nowMs + 10);
      expect(hint('a')).toEqual([{ kind: 'peek' }]);
      bring(page(['a']));
      nowMs += 20;
      expect(sentIds(hint('b'))).toEqual(['b']);
    });

    it('asks once at a time, and again for what came meanwhile', () => {
      open();
      expect(session.resync()).toEqual([{ kind: 'peek' }]);
      expect(session.resync()).toEqual([]);
      expect(hint('b')).toEqual([]);
      const effects = bring(page(['a']));
      expect(sentIds(effects)).toEqual(['a']);
      expect(kinds(effects).at(-1)).toBe('peek');
    });

    it('does not ask again and again for what nobody can find', () => {
      receive(LOGIN);
      session.connected(0);
      expect(session.deliverPage([], page(['lost'], { hasMore: true }), nowMs)).toEqual([]);
      nowMs += 5_000;
      expect(kinds(session.visit(nowMs))).toEqual(['peek']);
    });
  });

  describe('with a window', () => {
    it('sends no more than 32 messages, and goes on once half of them are acknowledged', () => {
      expect(sentIds(open(page(numbered(40))))).toEqual(numbered(32));
      expect(hint('later')).toEqual([]);
      expect(kinds(receive(ack(...numbered(15))))).toEqual(['acknowledge']);
      expect(kinds(receive(ack('m15')))).toEqual(['acknowledge', 'peek']);
      expect(sentIds(bring(page([...numbered(24, 16), 'later'])))).toEqual([...numbered(8, 32), 'later']);
    });

    it('sends no more than 64 kB, but always one', () => {
      open();
      expect(sentIds(session.hinted(message('large', 70_000), false, nowMs))).toEqual(['large']);
      expect(session.hinted(message('small', 1), false, nowMs)).toEqual([]);
    });

    it('closes where it is full for a minute, and not where the device goes on', () => {
      open(page(numbered(40)));
      nowMs += 50_000;
      receive(ack('m0'));
      nowMs += 20_000;
      expect(kinds(session.visit(nowMs))).not.toContain('close');
      hint('more');
      expect(receive(ack('unknown'))).toEqual([]);
    });
    it('closes where nothing is acknowledged', () => {
      open(page(numbered(40)));
      nowMs += 61_000;
      receive({ kind: 'heartbeat' });
      expect(session.visit(nowMs)).toMatchObject([{ frame: { kind: 'error' } }, { kind: 'close', code: 4107 }]);
    });
  });

  describe('of gaps', () => {
    it('tells once, until the device and then the store know', () => {
      const gap = open(page([], { dropped: 3 })).at(-1);
      expect(gap).toEqual({ kind: 'send', frame: { kind: 'gap', id: 'gap-s1-3', dropped: 3 } });
      expect(bring(page([], { dropped: 3 }))).toEqual([]);
      expect(receive(ack('gap-s1-3'))).toEqual([{ kind: 'acknowledge', refs: [], droppedTold: 3 }]);
      expect(receive(ack('gap-s1-3'))).toEqual([]);
      session.resync();
      expect(kinds(bring(page([], { dropped: 2 })))).toEqual(['gap']);
    });

    it('says nothing to devices that do not know the word', () => {
      session = newSession(false);
      expect(kinds(open(page([], { dropped: 3 })))).toEqual(['loggedIn']);
    });
  });

  describe('as time passes', () => {
    it('closes where no login comes', () => {
      nowMs += 16_000;
      expect(session.visit(nowMs)).toMatchObject([{}, { kind: 'close', code: 4108 }]);
    });

    it('asks whether the device is there, also in a way that scripts see', () => {
      open();
      nowMs += 30_000;
      expect(session.visit(nowMs)).toEqual([]);
      nowMs += 30_000;
      expect(kinds(session.visit(nowMs))).toEqual(['ping', 'heartbeat']);
      expect(session.visit(nowMs)).toEqual([]);
    });

    it('cuts off a device that says nothing to pings', () => {
      open();
      nowMs += 140_000;
      session.heard(nowMs);
      nowMs += 140_000;
      expect(kinds(session.visit(nowMs))).not.toContain('terminate');
      nowMs += 20_000;
      expect(session.visit(nowMs)).toEqual([{ kind: 'terminate' }]);
    });
  });

  it('closes where a device floods it, and not where it acknowledges what it gets', () => {
    open();
    for (let count = 0; count < 1_000; count += 1) {
      hint(`m${count}`);
      expect(kinds(receive(ack(`m${count}`)))).toEqual(['acknowledge']);
    }
    const answers = Array.from({ length: 120 }, () => receive({ kind: 'heartbeat' }));
    expect(answers.flat()).toContainEqual(expect.objectContaining({ kind: 'close', code: 4116 }));
    expect(receive({ kind: 'heartbeat' })).toEqual([]);
  });

  it('counts pings and pongs too, which nobody else would', () => {
    open();
    const answers = Array.from({ length: 120 }, () => session.heard(nowMs));
    expect(answers.flat()).toContainEqual(expect.objectContaining({ kind: 'close', code: 4116 }));
    expect(session.heard(nowMs)).toEqual([]);
  });

  it('answers what it does not offer under its number, and leaves the rest', () => {
    expect(receive({ kind: 'unsupported', i: 7 })).toMatchObject([{ frame: { kind: 'error', i: 7 } }]);
    expect(receive({ kind: 'unsupported', i: undefined })).toEqual([]);
  });

  it('does nothing any more once it has ended', () => {
    open(page(numbered(40)));
    session.ended();
    expect([...receive(ack('m0')), ...hint('a'), ...session.resync(), ...session.visit(nowMs)]).toEqual([]);
    expect(session.deliverPage([message('a')], page(['a']), nowMs)).toEqual([]);
    expect([...session.refuse(4111, ''), ...session.goAway(1)]).toEqual([]);
  });
});

describe('the answer to a login', () => {
  it.each([
    [0, 0],
    [1, 0],
    [2, 1_000],
    [3, 2_000],
    [6, 16_000],
    [7, 30_000],
    [1_000, 30_000],
  ])('after %i conflicts waits for %i ms', (conflicts, delayMs) => {
    expect(conflictDelayMs(conflicts)).toBe(delayMs);
  });
});
