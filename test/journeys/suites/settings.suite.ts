import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type AppKeys,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  setSetting,
  signUp,
  unique,
  uniquePhone,
} from '#testing';

/** The settings of an application, changed through the command line; they work within a second. */
export function describeSettings(server: () => GatepostServer): void {
  describe('the settings of an application', () => {
    let app: AppKeys;
    let api: ApiClient;
    let master: ApiClient;
    const email = () => `${unique('mail')}@example.com`;
    const set = async (name: string, value: string) => setSetting(server(), app, name, value);

    beforeAll(async () => {
      app = await createApplication(server());
      [api, master] = [
        ApiClient.forApp(server().baseUrls[0] ?? '', app),
        ApiClient.forMaster(server().baseUrls[0] ?? '', app),
      ];
      // Known to every gateway from now on.
      await eventually(() => signUp(api));
    });

    describe('verifyEmailOnSignUp (specification, emailVerified)', () => {
      const verified = async (id: string) => (await api.get(`/1.1/users/${id}`)).body['emailVerified'];
      const untilVerifying = () =>
        eventually(async () => {
          expect((await signUp(api, { email: email() })).body['emailVerified']).toBe(false);
        }, 3_000);

      it('off: null for a new user, and after a change', async () => {
        const user = await signUp(api, { email: email() });
        await api.put(`/1.1/users/${user.id}`, { email: email() }, { session: user.session });
        expect(await verified(user.id)).toBeNull();
      });

      it('on: false for a new user with an address, null for one without', async () => {
        await set('verifyEmailOnSignUp', 'true');
        await untilVerifying();
        expect((await signUp(api)).body['emailVerified']).toBeNull();
      });

      it('on: false again after a change of the address, unchanged where it stays the same, null without', async () => {
        await untilVerifying();
        const address = email();
        const user = await signUp(api, { email: address });
        await master.put(`/1.1/users/${user.id}`, { emailVerified: true });
        const put = (body: unknown) => api.put(`/1.1/users/${user.id}`, body, { session: user.session });
        await put({ email: address, color: 'red' });
        expect(await verified(user.id)).toBe(true);
        await put({ email: email() });
        expect(await verified(user.id)).toBe(false);
        await put({ email: null });
        expect(await verified(user.id)).toBeNull();
      });
    });

    it('forbidUnverifiedEmailLogin refuses unverified users, except those that were never asked', async () => {
      await set('forbidUnverifiedEmailLogin', 'true');
      await eventually(async () => {
        const user = await signUp(api, { email: email() });
        const { body } = await api.post('/1.1/login', { username: user.username, password: user.password });
        expect(body).toEqual({ code: 216, error: "Email address isn't verified." });
      }, 3_000);
      const [unverified, never] = [await signUp(api, { email: email() }), await signUp(api)];
      const logIn = async (user: typeof never) =>
        (await api.post('/1.1/login', { username: user.username, password: user.password })).body['code'];
      expect(await logIn(never)).toBeUndefined();
      expect((await api.post('/1.1/login', { username: unverified.username, password: 'wrong' })).body['code']).toBe(
        210,
      );
      await master.put(`/1.1/users/${unverified.id}`, { emailVerified: true });
      expect(await logIn(unverified)).toBeUndefined();
    });

    it('forbidUnverifiedPhoneLogin refuses logins of users with an unverified number', async () => {
      await set('forbidUnverifiedPhoneLogin', 'true');
      const user = await signUp(api, { mobilePhoneNumber: uniquePhone() });
      const logIn = async () =>
        (await api.post('/1.1/login', { username: user.username, password: user.password })).body['code'];
      await eventually(async () => {
        expect(await logIn()).toBe(215);
      }, 3_000);
      await master.put(`/1.1/users/${user.id}`, { mobilePhoneVerified: true });
      expect(await logIn()).toBeUndefined();
    });

    it('reloginAfterPasswordChange off: the token stays', async () => {
      await set('reloginAfterPasswordChange', 'false');
      await eventually(async () => {
        const user = await signUp(api);
        const { body } = await api.put(
          `/1.1/users/${user.id}/updatePassword`,
          { old_password: user.password, new_password: 'new' },
          { session: user.session },
        );
        expect(body['sessionToken']).toBe(user.session);
        expect(
          (await api.put(`/1.1/users/${user.id}`, { password: 'again' }, { session: user.session })).body[
            'sessionToken'
          ],
        ).toBeUndefined();
        expect((await api.get('/1.1/users/me', { session: user.session })).status).toBe(200);
      }, 3_000);
    });

    it('requireOldPassword: no password change without the old one, but for the master key', async () => {
      await set('requireOldPassword', 'true');
      const user = await signUp(api);
      await eventually(async () => {
        const { body } = await api.put(`/1.1/users/${user.id}`, { password: 'new' }, { session: user.session });
        expect(body['code']).toBe(119);
      }, 3_000);
      const { id, session } = user;
      const requests = [{ method: 'PUT', path: `/1.1/users/${id}`, body: { __internalId: id, password: 'new' } }];
      expect((await api.post('/1.1/batch/save', { requests }, { session })).body['code']).toBe(119);
      expect((await master.put(`/1.1/users/${user.id}`, { password: 'by master' })).status).toBe(200);
      const { body: anonymous } = await api.post('/1.1/users', {
        authData: { anonymous: { id: crypto.randomUUID() } },
      });
      const own = { session: String(anonymous['sessionToken']) };
      const first = await api.put(`/1.1/users/${String(anonymous['objectId'])}`, { password: 'first' }, own);
      expect(first.status).toBe(200);
      const renewed = { session: String(first.body['sessionToken'] ?? anonymous['sessionToken']) };
      const second = await api.put(`/1.1/users/${String(anonymous['objectId'])}`, { password: 'second' }, renewed);
      expect(second.body['code']).toBe(119);
    });

    it("hideContact hides other users' address and number, from others only", async () => {
      await set('hideContact', 'true');
      const contact = { email: email(), mobilePhoneNumber: uniquePhone() };
      const user = await signUp(api, contact);
      const seen = async (client: ApiClient, session?: string) => {
        const { body } = await client.get(`/1.1/users/${user.id}`, session === undefined ? {} : { session });
        return [body['email'], body['mobilePhoneNumber'], body['username']];
      };
      await eventually(async () => {
        expect(await seen(api)).toEqual([undefined, undefined, user.username]);
      }, 3_000);
      expect(await seen(api, user.session)).toEqual([...Object.values(contact), user.username]);
      expect(await seen(master)).toEqual([...Object.values(contact), user.username]);
      await master.put(`/1.1/users/${user.id}`, { username: contact.mobilePhoneNumber });
      expect(await seen(api)).toEqual([undefined, undefined, undefined]);
      expect(await seen(api, user.session)).toEqual([...Object.values(contact), contact.mobilePhoneNumber]);
    });

    it('the users of one application are unknown to another', async () => {
      const other = ApiClient.forApp(server().baseUrls[0] ?? '', server().app);
      const user = await signUp(api, { email: email() });
      expect((await other.get(`/1.1/users/${user.id}`)).body['code']).toBe(211);
      expect((await other.get('/1.1/users/me', { session: user.session })).body['code']).toBe(211);
      expect((await other.post('/1.1/login', { username: user.username, password: user.password })).body['code']).toBe(
        211,
      );
      expect((await other.put(`/1.1/users/${user.id}`, { a: 1 }, { session: user.session })).body['code']).toBe(206);
      await signUp(other, { username: user.username, email: user.body['email'] });
    });

    describe('npm run gatepost', () => {
      it('shows, lists and refuses in plain words', async () => {
        const shown = await gatepost(server(), 'apps', 'show', app.id);
        expect(shown.stdout).toMatch(/forbidUnverifiedEmailLogin\s+true/);
        expect((await gatepost(server(), 'apps', 'list')).stdout).toContain(app.id);
        const refused = [
          await gatepost(server(), 'apps', 'set', app.id, 'noSuchSetting', 'true'),
          await gatepost(server(), 'apps', 'set', app.id, 'hideContact', 'perhaps'),
          await gatepost(server(), 'apps', 'show', 'unknown-id'),
        ];
        for (const { status, stderr } of refused) {
          expect(status).toBe(1);
          expect(stderr.trim().split('\n')).toHaveLength(1);
          expect(stderr).not.toMatch(/\bat \w+/);
        }
        expect(refused[0]?.stderr).toContain('noSuchSetting');
      });

      it('refuses an id that is taken', async () => {
        const { status, stderr } = await gatepost(server(), 'apps', 'create', 'Again', '--id', app.id);
        expect([status, stderr.includes('taken')]).toEqual([1, true]);
      });
    });
  });
}
