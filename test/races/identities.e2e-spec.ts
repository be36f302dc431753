import { describe } from 'vitest';
import { usePlatforms, useServer } from '#testing';
import { describeFirstProofRaces } from './first-proofs.races.js';
import { describeIdentityRaces } from './identities.races.js';
import { startTwoOfEach } from './race.js';

describe('accounts of platforms, two of every service', () => {
  const platforms = usePlatforms();
  const server = useServer(() => startTwoOfEach(platforms().env()));

  describeIdentityRaces(server);
  describeFirstProofRaces(server, platforms);
});
