import type { AppKeys } from '#testing';

/** Bytes for an HTTP port, and the kinds of answers that they get (4 for 400) before the server ends the connection. */
export interface RawRequest {
  readonly name: string;
  readonly bytes: string | Buffer;
  readonly kinds: readonly number[];
  /** Whether the client ends its side when it has sent them. */
  readonly isEnded?: boolean;
}

const HOST = 'Host: localhost\r\n';
const PIPELINED = 100;
const get = (headers = '', target = '/healthz') => `GET ${target} HTTP/1.1\r\n${HOST}${headers}\r\n`;
const last = (headers = '') => get(`${headers}Connection: close\r\n`);
/** A request smuggled inside another one. */
const HIDDEN = get();

const refused = (name: string, bytes: string | Buffer): RawRequest => ({ name, bytes, kinds: [4] });

/** Requests that no parser may understand in two ways, or wait for. */
export function rawRequests({ id, appKey }: AppKeys): RawRequest[] {
  const login = (headers: string, body: string) =>
    `POST /1.1/login HTTP/1.1\r\n${HOST}X-LC-Id: ${id}\r\nX-LC-Key: ${appKey}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
  const chunked = (body: string) => login('Transfer-Encoding: chunked\r\n', body);
  return [
    ...requestLines(),
    ...headerBlocks(),
    ...smuggled(login),
    refused('a chunk whose length is none', chunked('zz\r\n{}\r\n0\r\n\r\n')),
    refused('a chunk with a negative length', chunked('-2\r\n{}\r\n0\r\n\r\n')),
    refused('a chunk longer than any number', chunked(`${'f'.repeat(40)}\r\n{}`)),
    refused('a chunk with an endless extension', chunked(`2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`)),
    refused('a chunk that is longer than it says', chunked('2\r\n{}{}{}\r\n0\r\n\r\n')),
    { name: 'a body that breaks off', bytes: login('Content-Length: 100\r\n', '{"user'), kinds: [4], isEnded: true },
    { name: 'chunks that break off', bytes: chunked('20\r\n{"user'), kinds: [4], isEnded: true },
    {
      name: 'trailers that are prototypes',
      bytes: `${get('Transfer-Encoding: chunked\r\n')}0\r\n__proto__: polluted\r\nconstructor: polluted\r\n\r\n${last()}`,
      kinds: [2, 2],
    },
    { name: 'many requests at once', bytes: HIDDEN.repeat(PIPELINED) + last(), kinds: Array(PIPELINED + 1).fill(2) },
    { name: 'an offer of another protocol', bytes: get('Connection: Upgrade, close\r\nUpgrade: h2c\r\n'), kinds: [2] },
  ];
}

function requestLines(): RawRequest[] {
  return [
    refused('NUL in the request line', get('', '/healthz\0')),
    refused('NUL in the method', `G\0T /healthz HTTP/1.1\r\n${HOST}\r\n`),
    refused('a method that there is not', `FOO /healthz HTTP/1.1\r\n${HOST}\r\n`),
    refused('a version that there is not', `GET /healthz HTTP/9.9\r\n${HOST}\r\n`),
    { name: 'a line without a version', bytes: 'GET /healthz\r\n\r\n', kinds: [2] },
    refused('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    refused('the beginning of TLS', Buffer.from('16030100c8010000c40303', 'hex')),
    refused('a target without end', get('', `/${'a'.repeat(20_000)}`)),
    refused('a target at another server', get('Connection: close\r\n', 'http://169.254.169.254/latest')),
    refused('no host', 'GET /healthz HTTP/1.1\r\n\r\n'),
    { name: 'a tunnel', bytes: `CONNECT localhost:5432 HTTP/1.1\r\n${HOST}\r\n`, kinds: [] },
  ];
}

function headerBlocks(): RawRequest[] {
  return [
    refused('a header without end', get(`X-Long: ${'a'.repeat(20_000)}\r\n`)),
    refused('headers without end', get('X-Many: a\r\n'.repeat(4_000))),
    refused('a header without a colon', get('no colon\r\n')),
    refused('a header with a space in its name', get('X Space: a\r\n')),
    refused('NUL in a header', get('X-Nul: a\0b\r\n')),
    refused('a folded header', get('X-Folded: a\r\n\tb: c\r\nno colon\r\n')),
    { name: 'an expectation that there is not', bytes: last('Expect: miracles\r\n'), kinds: [2] },
    {
      name: 'headers named like prototypes',
      bytes: last('__proto__: polluted\r\nconstructor: polluted\r\nprototype: polluted\r\n'),
      kinds: [2],
    },
  ];
}

/** Two ways to say how long a body is: the second request in it must not be answered. */
function smuggled(login: (headers: string, body: string) => string): RawRequest[] {
  const chunks = `0\r\n\r\n${HIDDEN}`;
  const pairs: Record<string, string> = {
    'a length and chunks': `Content-Length: ${chunks.length}\r\nTransfer-Encoding: chunked\r\n`,
    'chunks and a length': 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n',
    'chunks that are not the last coding': 'Transfer-Encoding: chunked, identity\r\n',
    'a coding that there is not': 'Transfer-Encoding: xchunked\r\n',
    'a space before the colon': 'Transfer-Encoding : chunked\r\n',
    'a coding after a vertical tab': 'Transfer-Encoding: \vchunked\r\n',
    'two lengths': 'Content-Length: 0\r\nContent-Length: 4\r\n',
    'two lengths in one': 'Content-Length: 0, 4\r\n',
    'a negative length': 'Content-Length: -1\r\n',
    'a length with a sign': 'Content-Length: +0\r\n',
    'a length in hexadecimal': 'Content-Length: 0x0\r\n',
    'a length beyond all numbers': `Content-Length: ${'9'.repeat(30)}\r\n`,
  };
  return Object.entries(pairs).map(([name, headers]) => refused(name, login(headers, chunks)));
}
