import { describe, expect } from 'vitest';
import { eventually, useServer, useSmtpSink } from '#testing';
import { EmailClient, uniqueEmail } from '../journeys/suites/email-client.js';
import { outcomesOf, racesOn, repeated, startTwoOfEach } from './race.js';

const MANY = 20;
const SENT_MS = 30_000;

/** Threats, class 15: no mail is lost or sent twice where several processes send. */
describe('mails, two of every service', () => {
  const sink = useSmtpSink();
  const server = useServer(() => startTwoOfEach(sink().env()));
  const race = racesOn(server);

  race(`of ${MANY} requests at once are sent once each, by whichever process`, async (round) => {
    const users = Array.from({ length: MANY }, () => new EmailClient(round.server, undefined, uniqueEmail()));
    await Promise.all(users.map((user) => user.signUp()));
    const replies = await round.atOnce(MANY, (api, index) =>
      api.post('/1.1/requestPasswordReset', { email: users[index]?.address }),
    );
    expect(outcomesOf(replies)).toEqual(repeated(MANY, 200));
    const addresses = users.map(({ address }) => address).sort();
    const sent = () =>
      sink()
        .kept.flatMap(({ to }) => to)
        .filter((address) => addresses.includes(address))
        .sort();
    await eventually(() => {
      expect(sent()).toEqual(addresses);
    }, SENT_MS);
    await eventually(
      () =>
        round.expectStored(
          [{ mails: MANY, sent: MANY, attempts: MANY }],
          `SELECT count(*)::int AS mails, count(settled_at)::int AS sent, sum(attempts)::int AS attempts
             FROM mail.deliveries WHERE app_id = $1 AND recipient = ANY($2) AND status = 'sent'`,
          addresses,
        ),
      SENT_MS,
    );
    expect(sent()).toEqual(addresses);
  });
});
