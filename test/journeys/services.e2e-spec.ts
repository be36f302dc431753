import { describe } from 'vitest';
import { startServices, usePlatforms, useServer } from '#testing';
import { describeApi } from './suites/api.suite.js';

const REPLICAS = { gateway: 2, accounts: 2, 'auth-linking': 2, mail: 1, 'push-delivery': 2 };

describe('the services, two of each', () => {
  const platforms = usePlatforms();
  describeApi(
    useServer(() => startServices(REPLICAS, platforms().env())),
    platforms,
  );
});
