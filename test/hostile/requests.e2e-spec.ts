import { describe } from 'vitest';
import { startServices, startStandalone, usePlatforms, useServer } from '#testing';
import { describeHostileInput } from './hostile.suite.js';
import { InspectedProcess } from './inspected-process.js';

const REPLICAS = { gateway: 2, accounts: 1, 'auth-linking': 1, mail: 1, 'push-delivery': 1 };
/** Of the run's requests. */
const SHARES = { services: 0.8, standalone: 0.2 };

describe('the services behind two gateways', () => {
  const platforms = usePlatforms();
  const server = useServer(() => startServices(REPLICAS, { ...platforms().env(), ...InspectedProcess.env }));
  describeHostileInput(server, SHARES.services);
});

describe('the standalone server', () => {
  const platforms = usePlatforms();
  const server = useServer(() => startStandalone({ ...platforms().env(), ...InspectedProcess.env }));
  describeHostileInput(server, SHARES.standalone);
});
