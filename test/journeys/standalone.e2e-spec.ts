import { describe } from 'vitest';
import { startStandalone, useServer } from '#testing';
import { describeApi } from './suites/api.suite.js';

describe('the standalone server', () => {
  describeApi(useServer(() => startStandalone()));
});
