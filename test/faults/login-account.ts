import { ApiClient } from '#testing';
import type { Cluster } from '../load/cluster.js';
import type { LoadUser } from '../load/load-user.js';
import type { MixedLoad } from '../load/mixed-load.js';

const FIRST_PASSWORD = 'correct horse';
const AT_ONCE = 8;

/** Each user who can log in with another password than the acknowledged one, or whose session lives or is dead for no reason. */
export async function wrongLogins({ url, app }: Cluster, load: MixedLoad): Promise<string[]> {
  const api = ApiClient.forApp(url, app);
  const waiting = load.users.filter(({ id }) => id !== undefined);
  const problems: string[] = [];
  const judgeOneByOne = async () => {
    for (let user = waiting.pop(); user !== undefined; user = waiting.pop())
      problems.push(...(await wrongLogin(api, user)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, judgeOneByOne));
  return problems;
}

async function wrongLogin(api: ApiClient, { username, password, session }: LoadUser): Promise<string[]> {
  const good: string[] = [];
  for (const tried of new Set([FIRST_PASSWORD, ...password.values])) {
    const { status } = await api.post('/1.1/login', { username, password: tried });
    if (status === 200) good.push(tried);
  }
  const { status } = await api.get('/1.1/users/me', { session });
  // A reset ends the sessions of before.
  const isAlive = good.includes(FIRST_PASSWORD);
  return [
    ...(good.length === 1 && password.allows(good[0]!) ? [] : [`${username}: ${good.length} good passwords`]),
    ...(isAlive === (status === 200) ? [] : [`${username}: the session is answered ${status}`]),
  ];
}
