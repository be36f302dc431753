import { describe } from 'vitest';
import { startStandalone, usePlatforms, useServer } from '#testing';
import { describeHostileInput, UNLIMITED } from './hostile.suite.js';
import { InspectedProcess } from './inspected-process.js';
import { describeRawSockets } from './raw-sockets.suite.js';

/** Of the run's requests. */
const SHARE = 0.2;

describe('the standalone server', () => {
  const platforms = usePlatforms();
  const server = useServer(() => startStandalone({ ...platforms().env(), ...InspectedProcess.env, ...UNLIMITED }));
  describeHostileInput(server, SHARE);
  describeRawSockets(server);
});
