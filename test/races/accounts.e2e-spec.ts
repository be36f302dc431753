import { describe } from 'vitest';
import { useServer } from '#testing';
import { describeAccountRaces } from './accounts.races.js';
import { startTwoOfEach } from './race.js';

describe('accounts, two of every service', () => {
  describeAccountRaces(useServer(startTwoOfEach));
});
