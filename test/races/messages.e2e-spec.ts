import { describe } from 'vitest';
import { useServer } from '#testing';
import { describeCodeRaces } from './codes.races.js';
import { describeMailedLinkRaces } from './mailed-links.races.js';
import { startTwoOfEach } from './race.js';

describe('what comes by mail and text message, two of every service', () => {
  const server = useServer(startTwoOfEach);

  describeCodeRaces(server);
  describeMailedLinkRaces(server);
});
