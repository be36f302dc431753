import { afterAll, beforeAll } from 'vitest';
import { newFolder } from '../test-run.js';
import { VendorServices } from './vendor-services.js';

/** The services of vendors for the tests of a file. */
export function useVendors(): () => VendorServices {
  let services: VendorServices;
  beforeAll(async () => {
    services = await VendorServices.start({ folder: newFolder('vendors') });
  });
  afterAll(() => services.stop());
  return () => services;
}
