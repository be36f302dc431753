import { describe } from 'vitest';
import { startServices, usePlatforms, useServer } from '#testing';
import { describeHostileInput, UNLIMITED } from './hostile.suite.js';
import { InspectedProcess } from './inspected-process.js';
import { describeRawSockets } from './raw-sockets.suite.js';

const REPLICAS = { gateway: 2, accounts: 1, 'auth-linking': 1, mail: 1, 'push-delivery': 1 };
/** Of the run's requests; the rest is for the standalone server. */
const SHARE = 0.8;

describe('the services behind two gateways', () => {
  const platforms = usePlatforms();
  const server = useServer(() =>
    startServices(REPLICAS, { ...platforms().env(), ...InspectedProcess.env, ...UNLIMITED }),
  );
  describeHostileInput(server, SHARE);
  describeRawSockets(server);
});
