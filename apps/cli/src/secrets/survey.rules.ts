/** Values of one table by the id of the key that sealed them. */
export interface SealedCounts {
  readonly name: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** The sealed values of a service, and its keys. */
export interface ServiceSurvey {
  readonly service: string;
  readonly keyId: string;
  readonly acceptedKeyIds: readonly string[];
  readonly tables: readonly SealedCounts[];
}

/** All sealed values, events and links that may need a secret. */
export interface Survey {
  readonly keyId: string;
  readonly services: readonly ServiceSurvey[];
  /** The times until which mailed links and codes may need another key; null: no rotation is recorded. */
  readonly rotation: { readonly linksUntil: string | null; readonly codesUntil: string | null };
  readonly waitingEvents: number;
  readonly deadEvents: number;
}

/** The conclusions of a survey for the replacement of a secret. */
export interface Verdict {
  /** Values that no configured secret can open. */
  readonly lost: string[];
  /** Why accepted secrets are still needed. */
  readonly needs: string[];
  readonly hasAccepted: boolean;
}

export function assessSurvey(survey: Survey, now: Date): Verdict {
  const accepted = new Set(survey.services.flatMap(({ acceptedKeyIds }) => acceptedKeyIds));
  const hasAccepted = accepted.size > 0;
  const lost = countsOf(survey, (keyId) => keyId !== survey.keyId && !accepted.has(keyId));
  const stale = countsOf(survey, (keyId) => accepted.has(keyId));
  const needs = hasAccepted
    ? [...stale.map((one) => `${one}: run "secrets rotate"`), ...passingNeeds(survey, now)]
    : [];
  return { lost, needs, hasAccepted };
}

/** A line for each service and table. */
export function surveyLines({ services }: Survey): string[] {
  return services.flatMap((one) => [
    heading(one),
    ...one.tables.map(({ name, counts }) => {
      const found = Object.entries(counts).map(([keyId, count]) => `${count} with ${keyId}${remark(one, keyId)}`);
      return `  ${name}: ${found.join(', ') || 'none'}`;
    }),
  ]);
}

function heading({ service, keyId, acceptedKeyIds }: ServiceSurvey): string {
  const accepting = acceptedKeyIds.length === 0 ? '' : `, and accepts ${acceptedKeyIds.join(', ')}`;
  return `${service} seals with ${keyId}${accepting}`;
}

function remark({ keyId: current, acceptedKeyIds }: ServiceSurvey, keyId: string): string {
  if (keyId === current) return '';
  return acceptedKeyIds.includes(keyId) ? ' (accepted)' : ' (unknown)';
}

function countsOf({ services }: Survey, isMeant: (keyId: string) => boolean): string[] {
  return services.flatMap(({ service, tables }) =>
    tables.flatMap(({ name, counts }) =>
      Object.entries(counts)
        .filter(([keyId]) => isMeant(keyId))
        .map(([keyId, count]) => `${count} of ${service}, ${name}, sealed with ${keyId}`),
    ),
  );
}

/** Needs that end by themselves some time after all stored values are re-encrypted. */
function passingNeeds({ rotation, waitingEvents, deadEvents }: Survey, now: Date): string[] {
  const needs: string[] = [];
  const { linksUntil, codesUntil } = rotation;
  if (linksUntil === null || codesUntil === null)
    needs.push('mailed links and codes of text messages: run "secrets rotate", which records the time');
  else {
    if (Date.parse(codesUntil) > now.getTime()) needs.push(`codes of text messages, until ${codesUntil}`);
    if (Date.parse(linksUntil) > now.getTime()) needs.push(`mailed links, until ${linksUntil}`);
  }
  if (waitingEvents > 0) needs.push(`${waitingEvents} events that wait for mail`);
  if (deadEvents > 0) needs.push(`${deadEvents} dead letters of mail: replay or drop them`);
  return needs;
}
