import { describe } from 'vitest';
import { startStandalone, usePlatforms, useServer } from '#testing';
import { describeApi } from './suites/api.suite.js';

describe('the standalone server', () => {
  const platforms = usePlatforms();
  describeApi(
    useServer(() => startStandalone(platforms().env())),
    platforms,
  );
});
