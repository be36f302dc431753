import { describe } from 'vitest';
import { startServices, startStandalone, useServer, useVendors } from '#testing';
import { describeVendors } from './suites/vendors.suite.js';

describe('the standalone server', () => {
  const vendors = useVendors();
  describeVendors(
    useServer(() => startStandalone(vendors().env())),
    vendors,
  );
});

describe('the services, with a dispatcher and two senders', () => {
  const vendors = useVendors();
  const roles = { dispatcher: 1, connector: 1, sender: 2 };
  describeVendors(
    useServer(() => startServices({ gateway: 1, accounts: 1, 'auth-linking': 1, mail: 1, ...roles }, vendors().env())),
    vendors,
  );
});
