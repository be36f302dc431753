import { describe } from 'vitest';
import { startServices, useServer } from '#testing';
import { describeApi } from './suites/api.suite.js';

describe('the services, two of each', () => {
  describeApi(useServer(() => startServices({ gateway: 2, accounts: 2, mail: 1 })));
});
