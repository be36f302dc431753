import { describe } from 'vitest';
import { useServer } from '#testing';
import { describeInstallationRaces } from './installations.races.js';
import { describePushRaces, describeScheduleRaces } from './pushes.races.js';
import { startTwoOfEach } from './race.js';

describe('devices, two of every service', () => {
  const server = useServer(startTwoOfEach);

  describeInstallationRaces(server);
  describePushRaces(server);
  describeScheduleRaces(server);
});
