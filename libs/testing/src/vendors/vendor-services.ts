import { createECDH, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../api-client.js';
import { type Certificate, selfSignedCertificate } from '../self-signed-certificate.js';
import { AndroidServices } from './android-services.js';
import { ApnsService } from './apns-service.js';
import { FcmService } from './fcm-service.js';
import { type TestSubscription, WebPushService } from './web-push-service.js';

const CERTIFICATE_HOURS = 30 * 24;
const ANDROID_URLS = ['huawei', 'huawei-token', 'honor', 'honor-token', 'xiaomi', 'xiaomi-feedback'];

interface VendorServicesOptions {
  /** Keeps the certificate and the keys of the services: those that are in it are used again. */
  readonly folder: string;
  /** The first of five ports; undefined: free ones. */
  readonly firstPort?: number;
}

/** The push services of all vendors, as local stand-ins. APNs and Web Push speak TLS, under a certificate that `env` makes known. */
export class VendorServices {
  private constructor(
    readonly apns: ApnsService,
    readonly fcm: FcmService,
    readonly android: AndroidServices,
    readonly webPush: WebPushService,
    private readonly certificateFile: string,
    private readonly vapidKey: string,
  ) {}

  static async start({ folder, firstPort }: VendorServicesOptions): Promise<VendorServices> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const certificateFile = join(folder, 'certificate.pem');
    const certificate = keptCertificate(certificateFile, join(folder, 'certificate-key.pem'));
    const port = (place: number) => (firstPort === undefined ? 0 : firstPort + place);
    const apns = await ApnsService.start(certificate, kept(join(folder, 'apns.p8'), newAppleKey), port(0));
    const fcm = await FcmService.start(kept(join(folder, 'fcm-key.pem'), newGoogleKey), [port(1), port(2)]);
    const android = await AndroidServices.start(port(3));
    const webPush = await WebPushService.start(certificate, port(4));
    const vapidKey = kept(join(folder, 'vapid-key'), newVapidKey);
    return new VendorServices(apns, fcm, android, webPush, certificateFile, vapidKey);
  }

  /** The fields of `gatepost vendors set`, by vendor. */
  get credentials(): Readonly<Record<string, Readonly<Record<string, string>>>> {
    const { apns, fcm, android } = this;
    const webPush = { subject: 'mailto:ops@example.org', privateKey: this.vapidKey };
    return { apns: apns.credentials, fcm: fcm.credentials, 'web-push': webPush, ...android.credentials };
  }

  /** Subscribes a browser with the key in `credentials`. */
  subscribeBrowser(): TestSubscription {
    const ecdh = createECDH('prime256v1');
    ecdh.setPrivateKey(this.vapidKey, 'base64url');
    return this.webPush.subscribe(ecdh.getPublicKey('base64url'));
  }

  /** Leads a Gatepost to these services. */
  env(): Record<string, string> {
    const { apns, fcm, android } = this;
    const others = [...ANDROID_URLS, 'oppo', 'vivo', 'meizu'].map((name) => [name, android.url]);
    const urls = { apns: apns.url, 'apns-dev': apns.url, fcm: fcm.url, 'fcm-token': fcm.tokenUrl };
    return {
      GATEPOST_PUSH_VENDOR_URLS: [...Object.entries(urls), ...others]
        .map(([name = '', url = '']) => `${name}=${url}`)
        .join(','),
      GATEPOST_INTERNAL_NETWORKS: 'loopback',
      NODE_EXTRA_CA_CERTS: this.certificateFile,
    };
  }

  /** Passes on what the services accept from now on, instead of keeping it. */
  recordWith(record: (vendor: string, address: string, message: Json) => void): void {
    this.apns.record = ({ token, payload }) => {
      record('apns', token, payload);
    };
    this.fcm.record = ({ token, message }) => {
      record('fcm', token, message);
    };
    this.android.record = ({ vendor, token, message }) => {
      record(vendor, token, message);
    };
    this.webPush.record = ({ endpoint, message }) => {
      record('web-push', endpoint, message);
    };
  }

  async stop(): Promise<void> {
    await Promise.all([this.apns.stop(), this.fcm.stop(), this.android.stop(), this.webPush.stop()]);
  }
}

/** The text of a file, which is made first where it is missing. */
function kept(file: string, make: () => string): string {
  if (!existsSync(file)) writeFileSync(file, make(), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}

function keptCertificate(certificateFile: string, keyFile: string): Certificate {
  const isGood =
    existsSync(keyFile) &&
    existsSync(certificateFile) &&
    new Date(new X509Certificate(readFileSync(certificateFile)).validTo).getTime() > Date.now();
  if (isGood) return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certificateFile, 'utf8') };
  const certificate = selfSignedCertificate(CERTIFICATE_HOURS);
  writeFileSync(keyFile, certificate.key, { mode: 0o600 });
  writeFileSync(certificateFile, certificate.cert);
  return certificate;
}

const newAppleKey = () => pem(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey);
const newGoogleKey = () => pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey);
const newVapidKey = () => {
  const ecdh = createECDH('prime256v1');
  ecdh.generateKeys();
  return ecdh.getPrivateKey('base64url');
};
const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
