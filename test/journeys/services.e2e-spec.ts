import { describe } from 'vitest';
import { startServices, useServer } from '#testing';
import { describeSdk } from './suites/sdk.suite.js';

describe('the services, two of each', () => {
  const server = useServer(() => startServices({ gateway: 2, accounts: 2 }));

  describeSdk(server);
});
