import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type ApiReply,
  appClient,
  createApplication,
  gatepost,
  hashedPasswords,
  type GatepostServer,
  setSetting,
  signUp,
  type TestUser,
  unique,
  uniquePhone,
} from '#testing';

const MISMATCH = { code: 210, error: 'The username and password mismatch.' };
const LOCK_SECONDS = 15 * 60;

const codeOf = ({ status, body }: ApiReply) => (status === 200 ? 'in' : body['code']);

/** Specification, Login lockout. */
export function describeLockout(server: () => GatepostServer): void {
  describe('the lockout', () => {
    let api: ApiClient;
    let user: TestUser;

    const logIn = (fields: Record<string, unknown>, by = api) => by.post('/1.1/login', fields);
    const rightly = (of = user, by = api) => logIn({ username: of.username, password: of.password }, by);
    const wrongly = (of = user, by = api) => logIn({ username: of.username, password: 'wrong' }, by);
    const updatePassword = (of: TestUser, oldPassword: string) =>
      api.put(
        `/1.1/users/${of.id}/updatePassword`,
        { old_password: oldPassword, new_password: of.password },
        { session: of.session },
      );
    const fail = async (count: number) => {
      const codes: unknown[] = [];
      for (let index = 0; index < count; index += 1) codes.push(codeOf(await wrongly()));
      return codes;
    };
    const lock = async () => {
      expect(await fail(7)).toEqual([210, 210, 210, 210, 210, 210, 219]);
    };

    beforeAll(() => {
      api = appClient(server());
    });

    it('checks six wrong passwords; the seventh locks, and right ones are refused with it', async () => {
      user = await signUp(api);
      for (let index = 0; index < 6; index += 1) {
        const { status, headers, body } = await wrongly();
        expect([status, headers.get('retry-after'), body]).toEqual([400, null, MISMATCH]);
      }
      for (const attempt of [wrongly, rightly, wrongly, rightly]) {
        const { status, headers, body } = await attempt();
        expect([status, Object.keys(body), body['code']]).toEqual([400, ['code', 'error'], 219]);
        const seconds = Number(headers.get('retry-after'));
        expect(seconds).toBeLessThanOrEqual(LOCK_SECONDS);
        expect(seconds).toBeGreaterThan(LOCK_SECONDS - 60);
      }
    });

    it('leaves sessions, and everybody else, alone', async () => {
      user = await signUp(api);
      const other = await signUp(api);
      await lock();
      expect((await api.get('/1.1/users/me', { session: user.session })).body['objectId']).toBe(user.id);
      expect((await api.put(`/1.1/users/${user.id}`, { level: 2 }, { session: user.session })).status).toBe(200);
      expect(codeOf(await rightly(other))).toBe('in');
    });

    it('counts one user under all names, and with updatePassword', async () => {
      const contact = { email: `${unique('lock')}@example.com`, mobilePhoneNumber: uniquePhone() };
      user = await signUp(api, contact);
      const names = [{ username: user.username }, { email: contact.email }, contact];
      for (const name of names) {
        expect(codeOf(await logIn({ ...name, password: 'wrong' }))).toBe(210);
        expect(codeOf(await updatePassword(user, 'wrong'))).toBe(210);
      }
      expect(codeOf(await logIn({ mobilePhoneNumber: contact.mobilePhoneNumber, password: 'wrong' }))).toBe(219);
      for (const name of names) expect(codeOf(await logIn({ ...name, password: user.password }))).toBe(219);
      const refused = await updatePassword(user, user.password);
      expect([codeOf(refused), Number(refused.headers.get('retry-after')) > 0]).toEqual([219, true]);
    });

    it('takes nothing back for a right password', async () => {
      user = await signUp(api);
      await fail(6);
      expect(codeOf(await rightly())).toBe('in');
      expect(codeOf(await updatePassword(user, user.password))).toBe('in');
      expect(codeOf(await wrongly())).toBe(219);
      expect(codeOf(await rightly())).toBe(219);
    });

    it('counts only passwords that were checked', async () => {
      user = await signUp(api);
      for (const password of ['', 7, null, { $ne: '' }, ['wrong']])
        for (let round = 0; round < 2; round += 1) await logIn({ username: user.username, password });
      for (let round = 0; round < 8; round += 1)
        expect(codeOf(await updatePassword({ ...user, session: 'foreign' }, 'wrong'))).toBe(206);
      expect(await fail(6)).not.toContain(219);
    });

    it('does not count attempts for unknown names if they are reported', async () => {
      for (let index = 0; index < 9; index += 1)
        expect(codeOf(await logIn({ username: 'no-such-user', password: 'wrong' }))).toBe(211);
    });

    it('takes one comparison of passwords, also for an unknown name', async () => {
      const known = await signUp(api);
      const missing = [{ username: unique('unknown') }, { email: `${unique('unknown')}@example.com` }];
      for (const name of [{ username: known.username }, ...missing]) {
        const before = await hashedPasswords(server());
        await logIn({ ...name, password: 'wrong' });
        expect((await hashedPasswords(server())) - before).toBe(1);
      }
    });

    describe('with quietProfile', () => {
      let quiet: ApiClient;

      beforeAll(async () => {
        const app = await createApplication(server());
        await setSetting(server(), app, 'quietProfile', 'true');
        quiet = ApiClient.forApp(server().baseUrls[0] ?? '', app);
      });

      it('answers alike for names with and without a user, the lock included', async () => {
        const known = await signUp(quiet, { email: `${unique('quiet')}@example.com` });
        const names = [
          { username: known.username },
          { username: unique('unknown') },
          { email: `${unique('unknown')}@example.com` },
          { mobilePhoneNumber: uniquePhone() },
          { username: `${unique('unknown')}\0` },
        ];
        const answers = await Promise.all(
          names.map(async (name) => {
            const seen: unknown[] = [];
            for (let index = 0; index < 8; index += 1) {
              const { status, headers, body } = await logIn({ ...name, password: 'wrong' }, quiet);
              seen.push([status, body, headers.has('retry-after')]);
            }
            return seen;
          }),
        );
        expect(answers[0]?.map((seen) => (seen as [number, { code: number }])[1].code)).toEqual([
          210, 210, 210, 210, 210, 210, 219, 219,
        ]);
        for (const answer of answers) expect(answer).toEqual(answers[0]);
      });
    });

    describe('on the command line', () => {
      const run = (...args: string[]) => gatepost(server(), 'lockouts', ...args);

      it('shows locked users, and until when', async () => {
        const { id } = server().app;
        user = await signUp(api, { username: `${unique('a')}\u001b[31m` });
        await lock();
        const [list, byId, byName] = await Promise.all([
          run('list', id),
          run('show', id, user.id),
          run('show', id, user.username),
        ]);
        const row = new RegExp(`^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z  ${user.id}  "a-\\w+\\\\u001b\\[31m"$`, 'm');
        expect([list.status, list.stdout]).toEqual([0, expect.stringMatching(row)]);
        const line = new RegExp(`^".*" \\(${user.id}\\) is locked until \\d{4}-.*Z, for another 15 min\\.$`, 'm');
        for (const shown of [byId, byName])
          expect([shown.status, shown.stdout]).toEqual([0, expect.stringMatching(line)]);
      });

      it('reports that no user is locked, and unknown users and applications', async () => {
        const app = await createApplication(server());
        user = await signUp(ApiClient.forApp(server().baseUrls[0] ?? '', app));
        const [list, open, noUser, noApp] = await Promise.all([
          run('list', app.id),
          run('show', app.id, user.username),
          run('show', app.id, 'no-such-user'),
          run('list', 'no-such-app'),
        ]);
        expect(list).toMatchObject({ status: 0, stdout: `No user of ${app.id} is locked out.\n` });
        expect([open.status, open.stdout]).toEqual([0, expect.stringMatching(/ is not locked\. .*: 0\.$/m)]);
        expect([noUser.status, noUser.stderr]).toEqual([
          1,
          expect.stringMatching(/^There is no user "no-such-user" in /m),
        ]);
        expect([noApp.status, noApp.stderr]).toEqual([
          1,
          expect.stringMatching(/^There is no application "no-such-app"\.$/m),
        ]);
      });
    });
  });
}
