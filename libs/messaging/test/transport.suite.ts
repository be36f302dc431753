import { randomUUID } from 'node:crypto';
import type { INestMicroservice } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { event, directMessage } from '#contracts';
import { eventually } from '#testing';
import { directMessageHandler } from '../src/handlers.js';
import { Broadcasts, DirectMessages, RpcClient } from '../src/messaging.module.js';
import type { Transport } from '../src/transport.js';
import {
  holdWithShortTimeout,
  passWithShortTimeout,
  absentServiceRpc,
  SampleBehaviour,
  sampleRpc,
  startSample,
} from './sample-service.js';

/** Maximum size of a message (libs/messaging/README.md). */
const MAX_MESSAGE_BYTES = 12 * 1_024 * 1_024;

/** Both ends of one transport; inside one process they are the same object. */
export interface TransportPair {
  readonly asking: Transport;
  readonly answering: Transport;
}

const UNAVAILABLE = { errorName: 'SERVICE_UNAVAILABLE', status: 503, retryAfterSeconds: 1 };

/** The contract of every transport: one suite, run against each implementation. */
export function describeTransport(name: string, open: () => TransportPair): void {
  describe(`RPC over ${name}`, () => {
    const behaviour = new SampleBehaviour();
    let pair: TransportPair;
    let client: RpcClient;
    let sample: INestMicroservice;

    beforeAll(async () => {
      pair = open();
      client = new RpcClient(pair.asking);
      sample = await startSample(pair.answering, behaviour);
      await eventually(() => client.call(sampleRpc.echo, { text: 'are you there?' }));
    });
    afterAll(async () => {
      behaviour.release();
      await sample.close();
      if (pair.asking !== pair.answering) await pair.asking.close();
    });

    it('returns the reply', async () => {
      const texts = ['', 'plain', 'ä 😀 \u2028 "\\', 'x'.repeat(200_000)];
      const replies = await Promise.all(texts.map((text) => client.call(sampleRpc.echo, { text })));
      expect(replies.map(({ text }) => text)).toEqual(texts);
    });

    it('refuses requests and replies that exceed the maximum size, and continues', async () => {
      const tooLarge = { errorName: 'OBJECT_TOO_LARGE', code: 116 };
      await expect(client.call(sampleRpc.echo, { text: 'x'.repeat(MAX_MESSAGE_BYTES) })).rejects.toMatchObject(
        tooLarge,
      );
      await expect(client.call(sampleRpc.grow, { length: MAX_MESSAGE_BYTES })).rejects.toMatchObject(tooLarge);
      expect((await client.call(sampleRpc.grow, { length: MAX_MESSAGE_BYTES - 100 })).text).toHaveLength(
        MAX_MESSAGE_BYTES - 100,
      );
    });

    it('keeps name, code, status, text and retry time of an error', async () => {
      await expect(client.call(sampleRpc.fail, { how: 'known' })).rejects.toMatchObject({
        errorName: 'USERNAME_TAKEN',
        code: 202,
        status: 400,
        message: 'a text of its own',
      });
      await expect(client.call(sampleRpc.fail, { how: 'late' })).rejects.toMatchObject({
        status: 503,
        retryAfterSeconds: 7,
      });
    });

    it('turns an unknown error into INTERNAL and hides its text', async () => {
      const error: unknown = await client.call(sampleRpc.fail, { how: 'unknown' }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ errorName: 'INTERNAL', status: 500 });
      expect((error as Error).message).not.toMatch(/secret|hunter2|TypeError/);
    });

    it('refuses malformed data at the receiver, before its handler', async () => {
      const before = behaviour.calls;
      await expect(client.call(sampleRpc.echo, { text: 7 } as never)).rejects.toMatchObject({
        errorName: 'INCORRECT_TYPE',
        code: 111,
      });
      await expect(client.call(sampleRpc.echo, null as never)).rejects.toMatchObject({ errorName: 'INCORRECT_TYPE' });
      expect(behaviour.calls).toBe(before);
    });

    it('replies INTERNAL to a text that is not a request', async () => {
      for (const text of ['', 'no json', '[]', '{"pattern": 1}']) {
        expect(JSON.parse(await pair.asking.request('sample.echo', text, 2_000))).toMatchObject({
          error: { name: 'INTERNAL' },
        });
      }
    });

    it('is SERVICE_UNAVAILABLE after the deadline', async () => {
      const startedAt = Date.now();
      await expect(client.call(holdWithShortTimeout, {})).rejects.toMatchObject(UNAVAILABLE);
      expect(Date.now() - startedAt).toBeGreaterThanOrEqual(240);
      expect(Date.now() - startedAt).toBeLessThan(2_500);
    });

    it('is SERVICE_UNAVAILABLE at once where the service does not run, or has no such handler', async () => {
      const startedAt = Date.now();
      await expect(client.call(absentServiceRpc, {})).rejects.toMatchObject(UNAVAILABLE);
      await expect(client.call(sampleRpc.missing, {})).rejects.toMatchObject(UNAVAILABLE);
      expect(Date.now() - startedAt).toBeLessThan(5_000);
    });

    it('forwards a request and returns the reply or error of the next service', async () => {
      expect(await client.call(sampleRpc.pass, { to: 'echo', length: 200_000 })).toEqual({ text: 'x'.repeat(200_000) });
      await expect(client.call(sampleRpc.pass, { to: 'fail' })).rejects.toMatchObject({
        errorName: 'USERNAME_TAKEN',
        message: 'a text of its own',
      });
      const tooLong = client.call(sampleRpc.pass, { to: 'echo', length: MAX_MESSAGE_BYTES });
      await expect(tooLong).rejects.toMatchObject({ errorName: 'OBJECT_TOO_LARGE' });
    });

    it('is SERVICE_UNAVAILABLE at once where the service of a forwarded request does not run', async () => {
      const startedAt = Date.now();
      await expect(client.call(sampleRpc.pass, { to: 'absent' })).rejects.toMatchObject(UNAVAILABLE);
      expect(Date.now() - startedAt).toBeLessThan(2_500);
    });

    it('keeps the original deadline over a forwarded request', async () => {
      const startedAt = Date.now();
      await expect(client.call(passWithShortTimeout, { to: 'hold' })).rejects.toMatchObject(UNAVAILABLE);
      expect(Date.now() - startedAt).toBeLessThan(2_500);
    });

    it('delivers direct messages to the named process only, in order', async () => {
      const note = directMessage('note.left', z.object({ number: z.number() }));
      const [here, elsewhere] = [randomUUID(), randomUUID()];
      const heard: number[] = [];
      const connected = vi.fn();
      const hear = directMessageHandler(note, ({ number }) => {
        if (number === 3) throw new Error('a message whose handler fails');
        heard.push(number);
      });
      new DirectMessages(pair.answering).receiveAs(here, [hear], connected);
      await eventually(() => {
        expect(connected).toHaveBeenCalledOnce();
      });
      const sender = new DirectMessages(pair.asking);
      await sender.send(elsewhere, note, { number: 100 });
      for (const number of [1, 2, 3, 4, 5]) await sender.send(here, note, { number });
      await eventually(() => {
        expect(heard).toEqual([1, 2, 4, 5]);
      });
    });

    it('refuses a direct message that exceeds the maximum size', async () => {
      const text = 'x'.repeat(MAX_MESSAGE_BYTES + 1);
      await expect(pair.asking.sendToNode('any', { pattern: 'note.left', body: text })).rejects.toMatchObject({
        errorName: 'OBJECT_TOO_LARGE',
      });
    });

    it('broadcasts to every process, and ignores ill-formed broadcasts', async () => {
      const hint = event('hint.given', z.object({ value: z.string() }));
      const heard = { asking: vi.fn(), answering: vi.fn() };
      new Broadcasts(pair.asking).on(hint, heard.asking);
      new Broadcasts(pair.answering).on(hint, heard.answering);
      new Broadcasts(pair.answering).send(hint, { value: 7 } as never);
      await eventually(() => {
        new Broadcasts(pair.answering).send(hint, { value: 'x' });
        expect(heard.asking).toHaveBeenCalledWith({ value: 'x' });
        expect(heard.answering).toHaveBeenCalledWith({ value: 'x' });
      });
      expect([...heard.asking.mock.calls, ...heard.answering.mock.calls].flat()).not.toContainEqual({ value: 7 });
    });
  });
}
