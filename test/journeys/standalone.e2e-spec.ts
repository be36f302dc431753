import { describe } from 'vitest';
import { startStandalone, useServer } from '#testing';
import { describeSdk } from './suites/sdk.suite.js';

describe('the standalone server', () => {
  const server = useServer(() => startStandalone());

  describeSdk(server);
});
