/** The application key goes into apps, the master key stays on servers. */
export type KeyKind = 'app' | 'master';

/** What a key of an application is sealed for. */
export function keyContext(appId: string, kind: KeyKind): string {
  return `${kind} key of ${appId}`;
}
