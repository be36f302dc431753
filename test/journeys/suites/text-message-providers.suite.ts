import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createApplication, gatepost, type GatepostServer, newFolder, unique } from '#testing';
import { expectRefused } from './refusal.js';

/** Who carries text messages, set by the application's operator. */
export function describeTextMessageProviders(server: () => GatepostServer): void {
  describe('the provider of text messages, by the command line', () => {
    const secret = unique('hush-hush-hush');
    const textMessages = (...args: string[]) => gatepost(server(), 'text-messages', ...args);
    const expectRefusal = async (args: readonly string[], text: RegExp) => {
      const outcome = await textMessages(...args);
      expectRefused(outcome, text);
      expect(outcome.stderr).not.toContain(secret);
    };

    it('is set with a secret from a file, shown without it, and removed', async () => {
      const { id } = await createApplication(server());
      const file = join(newFolder('secrets'), 'webhook-secret');
      writeFileSync(file, `${secret}\n`);
      expect((await textMessages('show', id)).stdout).toMatch(/become files/);
      const { status, stdout } = await textMessages(
        'set',
        id,
        'webhook',
        'url=https://shop.example/sms',
        `secret=@${file}`,
      );
      expect([status, stdout]).toEqual([
        0,
        'webhook\n  url         https://shop.example/sms\n  secret      (secret)\n',
      ]);
      expect((await textMessages('show', id)).stdout).toBe(stdout);
      expect((await textMessages('remove', id)).stdout).toBe('Text messages become files from now on.\n');
      await expectRefusal(['remove', id], /has no text message provider/);
    });

    it('refuses in plain words what it does not take', async () => {
      const url = 'url=https://shop.example/sms';
      await expectRefusal(['set', 'app', 'webhook', url, `secret=${secret}`], /secret is a secret.*=@.*=-/);
      await expectRefusal(['set', 'app', 'pigeon', url], /webhook, twilio/);
      await expectRefusal(['set', unique('nobody'), 'webhook', url], /^There is no application/);
    });
  });
}
