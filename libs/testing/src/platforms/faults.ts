import type { IncomingMessage, ServerResponse } from 'node:http';

const HUGE_BYTES = 1_048_576;

/** How a platform misbehaves. */
export type PlatformFault =
  /** It takes the request and says nothing. */
  | 'hang'
  /** It sends headers and the beginning of a body. */
  | 'hang-after-headers'
  /** One byte of the body after the other, for ever. */
  | 'drip'
  | 'status-500'
  | 'too-many-requests'
  /** To an address of our own network: the server's `/trap`. */
  | 'redirect'
  /** Not JSON. */
  | 'rubbish'
  /** JSON, but no object. */
  | 'array'
  /** An object that says nothing. */
  | 'empty'
  /** Objects where texts and numbers should be, and the other way round. */
  | 'odd-types'
  /** A mebibyte of JSON. */
  | 'huge'
  /** It ends the connection. */
  | 'reset';

type Misbehaviour = (response: ServerResponse, request: IncomingMessage) => void;

const ODD_TYPES = {
  ...{ openid: { $ne: 1 }, uid: ['U'], unionid: 7, client_id: {}, appkey: {}, session_key: 1, id_token: { a: 1 } },
  ...{ errcode: {}, error: [], error_code: {}, err_no: {}, success: 'true', data: 7, keys: {} },
  ...{ error_response: 3, alipay_system_oauth_token_response: [] },
};
const JSON_TYPE = { 'content-type': 'application/json' };

export const MISBEHAVIOURS: Readonly<Record<PlatformFault, Misbehaviour>> = {
  hang: () => undefined,
  'hang-after-headers': (response) => {
    response.writeHead(200, JSON_TYPE).write('{"openid":');
  },
  drip: (response) => {
    response.writeHead(200, JSON_TYPE);
    const timer = setInterval(() => response.write(' '), 100);
    response.once('close', () => {
      clearInterval(timer);
    });
  },
  'status-500': (response) => {
    response.writeHead(500, JSON_TYPE).end('{"error":"internal"}');
  },
  'too-many-requests': (response) => {
    response.writeHead(429, JSON_TYPE).end('{}');
  },
  redirect: (response, request) => {
    response.writeHead(302, { ...JSON_TYPE, location: `http://${request.headers.host ?? ''}/trap` }).end('{}');
  },
  rubbish: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Service maintenance</html>');
  },
  array: (response) => {
    response.writeHead(200, JSON_TYPE).end('[]');
  },
  empty: (response) => {
    response.writeHead(200, JSON_TYPE).end('{}');
  },
  'odd-types': (response) => {
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(ODD_TYPES));
  },
  huge: (response) => {
    response.writeHead(200, JSON_TYPE).end(JSON.stringify({ padding: 'x'.repeat(HUGE_BYTES) }));
  },
  reset: (response) => {
    response.destroy();
  },
};
