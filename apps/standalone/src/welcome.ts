import type { Application } from '#contracts';

/** What a newcomer reads after the first start: the keys, and a first request that works as printed. */
export function firstWelcome(baseUrl: string, { id, appKey, masterKey }: Application): string {
  return `
Gatepost is ready at ${baseUrl}

  Application id   ${id}
  Application key  ${appKey}
  Master key       ${masterKey}   (for your own servers only)

Sign up a first user:

  curl -X POST ${baseUrl}/1.1/users -H 'Content-Type: application/json' -H 'X-LC-Id: ${id}' -H 'X-LC-Key: ${appKey}' -d '{"username":"ada","password":"correct horse"}'

Show the keys again: npm run gatepost -- apps list    Stop: Ctrl-C
`;
}

export function welcomeBack(baseUrl: string): string {
  return `
Gatepost is ready at ${baseUrl}

Show the applications and their keys: npm run gatepost -- apps list    Stop: Ctrl-C
`;
}
