import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { selfSignedCertificate } from '#testing';
import { OutboundClient, withTimeLimit } from './outbound-client.js';

const LIMIT_MS = 200;

describe('a connection for a protocol of the caller', () => {
  it.each([
    ['localhost', ['localhost']],
    ['127.0.0.1', []],
  ])('to %s names the servers %j in the handshake', async (host, expected) => {
    const names: string[] = [];
    const server = createServer({
      ...selfSignedCertificate(),
      SNICallback: (name, done) => {
        names.push(name);
        done(null);
      },
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = new OutboundClient({
      internalNetworks: ['127.0.0.1'],
      timeoutMs: 5_000,
      maxAnswerBytes: 1_000,
      maxConnections: 1,
    });
    const { port } = server.address() as AddressInfo;
    // The certificate is not trusted.
    await expect(client.connect(new URL(`https://${host}:${port}`))).rejects.toMatchObject({
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
    expect(names).toEqual(expected);
    await client.close();
    server.close();
  });
});

describe('withTimeLimit', () => {
  it('aborts at the time limit while garbage is collected', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const collecting = setInterval(collect, 20);
    const aborted = once(withTimeLimit(new AbortController().signal, LIMIT_MS), 'abort');
    const late = new Promise((resolve) => setTimeout(resolve, 10 * LIMIT_MS, 'late'));
    expect(await Promise.race([aborted.then(() => 'aborted'), late])).toBe('aborted');
    clearInterval(collecting);
  });

  it('aborts with the signal, before the time limit', () => {
    const controller = new AbortController();
    const limited = withTimeLimit(controller.signal, 60_000);
    controller.abort();
    expect(limited.aborted).toBe(true);
  });
});
