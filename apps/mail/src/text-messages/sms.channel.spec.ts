import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileTextMessageProvider } from './sms.channel.js';

const message = {
  id: 'b6f0f6a2-6a34-4a53-9a57-2f2b0e0f7a11',
  appId: 'app',
  to: '+8613812345678',
  text: '[Shop] 012345 is your verification code. It is valid for 10 minutes.',
  code: '012345',
  smsType: 'sms',
} as const;

describe('FileTextMessageProvider', () => {
  let data: string;
  let folder: string;
  let shown: string[];
  let provider: FileTextMessageProvider;
  const modeOf = (path: string) => statSync(path).mode & 0o777;

  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'gatepost-sms-'));
    folder = join(data, 'data', 'outbox', 'sms');
    shown = [];
    provider = new FileTextMessageProvider({
      textMessageFolder: folder,
      show: (line) => shown.push(line),
    });
  });
  afterEach(() => {
    rmSync(data, { recursive: true });
  });

  it('writes a file and folders that only this user can access, and prints the path', async () => {
    await provider.send(message);
    const file = join(folder, `${message.id}.json`);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(message);
    expect([modeOf(file), modeOf(folder), modeOf(dirname(folder))]).toEqual([0o600, 0o700, 0o700]);
    expect(shown).toEqual([`Text message to +8613812345678, code 012345: ${file}`]);
  });

  it('overwrites the file when the message is sent again, also concurrently', async () => {
    await provider.send(message);
    await provider.send(message);
    expect(readdirSync(folder)).toEqual([`${message.id}.json`]);
    await Promise.allSettled([provider.send(message), provider.send(message)]);
    expect(readdirSync(folder)).toEqual([`${message.id}.json`]);
  });

  it('fails if it cannot write, and prints nothing', async () => {
    writeFileSync(join(data, 'data'), 'no folder');
    await expect(provider.send(message)).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(shown).toEqual([]);
  });
});
