import type { Vendor } from '#contracts';

interface AndroidVendor {
  readonly vendor: Vendor;
}

/** By the name in LeanCloud's SDKs: of a block in `data`, and of an installation's `vendor` in lower case. */
export const ANDROID_VENDORS: ReadonlyMap<string, AndroidVendor> = new Map([
  ['mi', { vendor: 'xiaomi' }],
  ['hms', { vendor: 'huawei' }],
  ['honor', { vendor: 'honor' }],
  ['mz', { vendor: 'meizu' }],
  ['vivo', { vendor: 'vivo' }],
  ['oppo', { vendor: 'oppo' }],
  ['fcm', { vendor: 'fcm' }],
]);
