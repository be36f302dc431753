import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** A key and its certificate, as PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const HOUR_MS = 3_600_000;
const SEQUENCE = 0x30;
const SET = 0x31;
const OID_ECDSA_WITH_SHA256 = '06082a8648ce3d040302';
const OID_COMMON_NAME = '0603550403';
const OID_SUBJECT_ALT_NAME = '0603551d11';

/** A self-signed certificate of `localhost` and `127.0.0.1`, valid from one hour ago until so many hours from now. */
export function selfSignedCertificate(hours = 1): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = der(SEQUENCE, hex(OID_ECDSA_WITH_SHA256));
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, hex(OID_COMMON_NAME), utf8('localhost'))));
  const validity = der(SEQUENCE, utcTime(Date.now() - HOUR_MS), utcTime(Date.now() + hours * HOUR_MS));
  const subjects = der(SEQUENCE, der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = der(0xa3, der(SEQUENCE, der(SEQUENCE, hex(OID_SUBJECT_ALT_NAME), der(0x04, subjects))));
  const version = der(0xa0, hex('020102'));
  const serial = der(0x02, Buffer.concat([hex('01'), randomBytes(15)]));
  const content = der(
    SEQUENCE,
    version,
    serial,
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  );
  const signature = der(0x03, hex('00'), sign('sha256', content, privateKey));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem(der(SEQUENCE, content, algorithm, signature)),
  };
}

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text));

function utcTime(time: number): Buffer {
  const digits = new Date(time).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

/** One value of the encoding of certificates (X.690): what it is, how long, and the parts of it. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...sizeOf(content)]), content]);
}

function sizeOf({ length }: Buffer): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

function pem(content: Buffer): string {
  const lines = content.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
}
