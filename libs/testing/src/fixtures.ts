import { randomBytes, randomInt } from 'node:crypto';
import type { ApiClient, AppKeys, Json } from './api-client.js';
import { type GatepostServer, masterClient } from './gatepost-server.js';
import { gatepost } from './operator-commands.js';

/** A user that was signed up for a test. */
export interface TestUser {
  readonly id: string;
  readonly username: string;
  readonly password: string;
  readonly session: string;
  /** The body of the sign-up's answer. */
  readonly body: Json;
}

/** A text that no other test uses. */
export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(6).toString('hex')}`;
}

const PHONES = 100_000_000;
let lastPhone = randomInt(PHONES);

/** A phone number that no other test of the file uses: of thousands by chance two would be the same. */
export function uniquePhone(): string {
  lastPhone = (lastPhone + 1) % PHONES;
  return `+86139${String(lastPhone).padStart(8, '0')}`;
}

/** Signs up a user. @throws Error where it is refused */
export async function signUp(api: ApiClient, fields: Json = {}): Promise<TestUser> {
  const account = { username: unique('user'), password: 'correct horse', ...fields };
  const { status, body } = await api.post('/1.1/users', account);
  if (status !== 201) throw new Error(`the sign-up was answered ${status}: ${JSON.stringify(body)}`);
  return {
    id: String(body['objectId']),
    username: account.username,
    password: account.password,
    session: String(body['sessionToken']),
    body,
  };
}

/** How many users the server's first application has. */
export async function countUsers(server: GatepostServer): Promise<unknown> {
  return (await masterClient(server).get('/1.1/users?count=1&limit=0')).body['count'];
}

/** Creates another application through the command line, so that a test can change its settings. */
export async function createApplication(server: GatepostServer): Promise<AppKeys> {
  const { status, stdout, stderr } = await gatepost(server, 'apps', 'create', unique('app'));
  const [, id, appKey, masterKey] = /id\s+(\S+)\s+key\s+(\S+)\s+master key\s+(\S+)/.exec(stdout) ?? [];
  if (status !== 0 || id === undefined || appKey === undefined || masterKey === undefined) {
    throw new Error(`apps create failed: ${stdout}${stderr}`);
  }
  return { id, appKey, masterKey };
}

/** Changes a setting through the command line. @throws Error where it is refused */
export async function setSetting(server: GatepostServer, app: AppKeys, name: string, value: string): Promise<void> {
  const { status, stderr } = await gatepost(server, 'apps', 'set', app.id, name, value);
  if (status !== 0) throw new Error(`apps set failed: ${stderr}`);
}
