import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiClient,
  type AppKeys,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  newFolder,
  type PlatformServer,
  signUp,
} from '#testing';

type PlatformKey = PlatformServer['kinds'][number];

const SECRET_FIELDS = ['appSecret', 'privateKey'];
/** Credentials and settings work everywhere within a second. */
export const EFFECTIVE_MS = 1_200;

/** An application of its own, whose accounts some of the platforms confirm. */
export interface PlatformApp {
  readonly keys: AppKeys;
  readonly api: ApiClient;
  readonly master: ApiClient;
}

/** @param kinds the platforms that the application has credentials of */
export async function createPlatformApp(
  server: GatepostServer,
  platforms: PlatformServer,
  kinds: readonly PlatformKey[],
): Promise<PlatformApp> {
  const keys = await createApplication(server);
  const [baseUrl = ''] = server.baseUrls;
  const api = ApiClient.forApp(baseUrl, keys);
  await eventually(() => signUp(api));
  await setCredentials(server, platforms, keys, kinds);
  return { keys, api, master: ApiClient.forMaster(baseUrl, keys) };
}

/** Sets credentials through the command line, and waits until they work everywhere. */
export async function setCredentials(
  server: GatepostServer,
  platforms: PlatformServer,
  { id }: AppKeys,
  kinds: readonly PlatformKey[],
): Promise<void> {
  const folder = newFolder('credentials');
  for (const kind of kinds) {
    const fields = Object.entries(platforms.credentials[kind]).map(([name, value]) => {
      if (!SECRET_FIELDS.includes(name)) return `${name}=${value}`;
      const file = join(folder, `${kind}-${name}`);
      writeFileSync(file, value);
      return `${name}=@${file}`;
    });
    const { status, stderr } = await gatepost(server, 'platforms', 'set', id, kind, ...fields);
    if (status !== 0) throw new Error(`platforms set failed: ${stderr}`);
  }
  await sleep(EFFECTIVE_MS);
}
