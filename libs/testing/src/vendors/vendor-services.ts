import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { selfSignedCertificate } from '../self-signed-certificate.js';
import { newFolder } from '../test-run.js';
import { AndroidServices } from './android-services.js';
import { ApnsService } from './apns-service.js';
import { FcmService } from './fcm-service.js';
import { WebPushService } from './web-push-service.js';

/** The push services of all vendors, as local stand-ins. APNs speaks TLS, under a certificate that `env` makes known. */
export class VendorServices {
  private constructor(
    readonly apns: ApnsService,
    readonly fcm: FcmService,
    readonly android: AndroidServices,
    readonly webPush: WebPushService,
    private readonly certificateFile: string,
  ) {}

  static async start(): Promise<VendorServices> {
    const certificate = selfSignedCertificate();
    const file = join(newFolder('certificates'), 'apns.pem');
    writeFileSync(file, certificate.cert);
    const [apns, fcm] = [await ApnsService.start(certificate), await FcmService.start()];
    const [android, webPush] = [await AndroidServices.start(), await WebPushService.start(certificate)];
    return new VendorServices(apns, fcm, android, webPush, file);
  }

  /** Leads a Gatepost to these services. */
  env(): Record<string, string> {
    const { apns, fcm, android } = this;
    const names = ['huawei', 'huawei-token', 'honor', 'honor-token', 'xiaomi', 'oppo', 'vivo', 'meizu'];
    const others = Object.fromEntries(names.map((name) => [name, android.url]));
    const urls = { apns: apns.url, 'apns-dev': apns.url, fcm: fcm.url, 'fcm-token': fcm.tokenUrl, ...others };
    return {
      GATEPOST_PUSH_VENDOR_URLS: Object.entries(urls)
        .map(([name, url]) => `${name}=${url}`)
        .join(','),
      GATEPOST_INTERNAL_NETWORKS: 'loopback',
      NODE_EXTRA_CA_CERTS: this.certificateFile,
    };
  }

  async stop(): Promise<void> {
    await Promise.all([this.apns.stop(), this.fcm.stop(), this.android.stop(), this.webPush.stop()]);
  }
}

/** The services of vendors for the tests of a file. */
export function useVendors(): () => VendorServices {
  let services: VendorServices;
  beforeAll(async () => {
    services = await VendorServices.start();
  });
  afterAll(() => services.stop());
  return () => services;
}
