import { describe, expect, it } from 'vitest';
import { assessSurvey, type Survey, surveyLines } from './sealed-values.js';

const [CURRENT, ACCEPTED, OTHER] = ['aaaaaaaa', 'bbbbbbbb', 'cccccccc'] as const;
const NOW = new Date('2026-02-01T00:00:00.000Z');
const PAST = { linksUntil: '2026-02-01T00:00:00.000Z', codesUntil: '2026-01-01T00:00:00.000Z' };

const survey = (change: Partial<Survey> = {}, counts: Record<string, number> = { [CURRENT]: 3 }): Survey => ({
  keyId: CURRENT,
  services: [
    { service: 'accounts', keyId: CURRENT, acceptedKeyIds: [ACCEPTED], tables: [{ name: 'users', counts }] },
    { service: 'mail', keyId: CURRENT, acceptedKeyIds: [ACCEPTED], tables: [{ name: 'deliveries', counts: {} }] },
  ],
  rotation: PAST,
  waitingEvents: 0,
  deadEvents: 0,
  ...change,
});

describe('the needs of a secret rotation', () => {
  it('are empty when all values are re-encrypted, and links and codes have expired', () => {
    expect(assessSurvey(survey(), NOW)).toEqual({ lost: [], needs: [], hasAccepted: true });
  });

  it('are values sealed with accepted secrets', () => {
    expect(assessSurvey(survey({}, { [CURRENT]: 1, [ACCEPTED]: 2 }), NOW).needs).toEqual([
      '2 of accounts, users, sealed with bbbbbbbb: run "secrets rotate"',
    ]);
  });

  it('are a rotation, if none is recorded', () => {
    const { needs } = assessSurvey(survey({ rotation: { linksUntil: null, codesUntil: null } }), NOW);
    expect(needs).toEqual([expect.stringMatching(/mailed links and codes.*rotate/)]);
  });

  it('are links, codes, events and dead letters', () => {
    const later = '2026-02-01T00:00:00.001Z';
    const waiting = { rotation: { linksUntil: later, codesUntil: later }, waitingEvents: 4, deadEvents: 5 };
    expect(assessSurvey(survey(waiting), NOW).needs).toEqual([
      `codes of text messages, until ${later}`,
      `mailed links, until ${later}`,
      '4 events that wait for mail',
      '5 dead letters of mail: replay or drop them',
    ]);
  });

  it('are empty if no other secret is accepted, but values that cannot be opened are reported', () => {
    const services = [
      { service: 'mail', keyId: CURRENT, acceptedKeyIds: [], tables: [{ name: 'deliveries', counts: { [OTHER]: 1 } }] },
    ];
    expect(assessSurvey(survey({ services, deadEvents: 1 }), NOW)).toEqual({
      lost: ['1 of mail, deliveries, sealed with cccccccc'],
      needs: [],
      hasAccepted: false,
    });
  });

  it('are listed by service and table', () => {
    expect(surveyLines(survey({}, { [CURRENT]: 1, [ACCEPTED]: 2, [OTHER]: 3 }))).toEqual([
      'accounts seals with aaaaaaaa, and accepts bbbbbbbb',
      '  users: 1 with aaaaaaaa, 2 with bbbbbbbb (accepted), 3 with cccccccc (unknown)',
      'mail seals with aaaaaaaa, and accepts bbbbbbbb',
      '  deliveries: none',
    ]);
  });
});
