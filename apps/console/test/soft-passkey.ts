import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign as signWith } from 'node:crypto';

/** User present, and verified. */
const PRESENT_AND_VERIFIED = 0x05;
const HAS_CREDENTIAL = 0x40;

interface Deviation {
  readonly origin?: string;
  readonly rpId?: string;
  readonly flags?: number;
  readonly counter?: number;
  readonly isForged?: boolean;
}

/** A passkey in memory that answers as browsers do (WebAuthn Level 3), also wrongly. */
export interface SoftPasskey {
  readonly id: string;
  readonly register: (challenge: string) => object;
  readonly sign: (challenge: string, how?: Deviation) => object;
}

/** @param origin of the page that asks for it @param idBytes length of its id */
export function newSoftPasskey(origin: string, idBytes = 16): SoftPasskey {
  const id = randomBytes(idBytes);
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const rpId = new URL(origin).hostname;
  let uses = 1;
  const shared = { id: id.toString('base64url'), rawId: id.toString('base64url'), type: 'public-key' };
  const clientData = (type: string, challenge: string, from: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: from, crossOrigin: false }));
  return {
    id: shared.id,
    register: (challenge) => {
      const length = Buffer.of(id.length >> 8, id.length & 0xff);
      const credential = Buffer.concat([Buffer.alloc(16), length, id, coseOf(keys.publicKey)]);
      const data = authenticatorData(rpId, PRESENT_AND_VERIFIED | HAS_CREDENTIAL, uses, credential);
      return {
        ...shared,
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData('webauthn.create', challenge, origin).toString('base64url'),
          attestationObject: attestationOf(data).toString('base64url'),
          transports: ['internal'],
        },
      };
    },
    sign: (challenge, how = {}) => {
      uses += 1;
      const { flags = PRESENT_AND_VERIFIED, counter = uses } = how;
      const data = authenticatorData(how.rpId ?? rpId, flags, counter);
      const client = clientData('webauthn.get', challenge, how.origin ?? origin);
      const key =
        how.isForged === true ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey : keys.privateKey;
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
      return {
        ...shared,
        clientExtensionResults: {},
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signWith('sha256', signed, key).toString('base64url'),
        },
      };
    },
  };
}

function authenticatorData(rpId: string, flags: number, counter: number, credential = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(counter, 1);
  return Buffer.concat([createHash('sha256').update(rpId).digest(), head, credential]);
}

/** The CBOR map of a key on P-256: {1: 2, 3: -7, -1: 1, -2: x, -3: y}. */
function coseOf(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  const bytes = (label: number, text: string) =>
    Buffer.concat([Buffer.of(label, 0x58, 32), Buffer.from(text, 'base64url')]);
  return Buffer.concat([Buffer.of(0xa5, 1, 2, 3, 0x26, 0x20, 1), bytes(0x21, x), bytes(0x22, y)]);
}

/** The CBOR map {fmt: 'none', attStmt: {}, authData}. */
function attestationOf(data: Buffer): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.of(0x60 + value.length), Buffer.from(value)]);
  const length = Buffer.of(0x59, data.length >> 8, data.length & 0xff);
  return Buffer.concat([
    Buffer.of(0xa3),
    text('fmt'),
    text('none'),
    text('attStmt'),
    Buffer.of(0xa0),
    text('authData'),
    length,
    data,
  ]);
}
