import { createHash } from 'node:crypto';
import {
  ApiClient,
  type AppKeys,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  linkSentBy,
  setSetting,
  signUp,
  type TestUser,
  unique,
  uniquePhone,
} from '#testing';

/** Nothing is sent while the attack lasts. */
const TOMORROW = new Date(Date.now() + 24 * 3_600_000).toISOString();

/** A user who is attacked, with data that only this user and the operator may see. */
interface Victim {
  readonly user: TestUser;
  readonly ids: readonly string[];
}

/**
 * The data of the attack. The server's first application has three victims: a stranger, of whom other users may see nothing, a neighbour,
 * whose address and number are hidden, and an acquaintance, whose name, address and number are public. Attackers have an account beside
 * them, and an application of their own with its master key.
 */
export class Fixtures {
  /** The values of `$NAMES` in requests. */
  readonly #names = new Map<string, string>();
  readonly #canaries = new Set<string>();
  readonly #victims: Victim[] = [];

  private constructor(
    private readonly server: GatepostServer,
    private readonly own: AppKeys,
  ) {}

  static async of(server: GatepostServer): Promise<Fixtures> {
    const fixtures = new Fixtures(server, await createApplication(server));
    await fixtures.#openUp();
    await fixtures.#plant();
    await fixtures.renew();
    return fixtures;
  }

  /** Texts that no answer to an attacker may contain. */
  get canaries(): readonly string[] {
    return [...this.#canaries];
  }

  /** The ids of all that is a victim's. */
  get victimIds(): readonly string[] {
    return this.#victims.flatMap(({ ids }) => ids);
  }

  /** The text with what its `$NAMES` stand for: `$MY_…` for what is the own application's, or the attacker's in the other one. */
  resolve(text: string, isOwnApplication: boolean): string {
    const mine = isOwnApplication ? 'OWN_' : 'SELF_';
    return text.replaceAll(
      /\$([A-Z_]+)/g,
      (whole, name: string) => this.#names.get(name.replace(/^MY_/, mine)) ?? whole,
    );
  }

  /** Makes anew what attackers have themselves, which their requests may have deleted. */
  async renew(): Promise<void> {
    const [self, other, owned] = await Promise.all([
      this.#alive('SELF', this.#api),
      this.#alive('OTHER', this.#api),
      this.#alive('OWN', this.#ownMaster),
    ]);
    this.#name({ SESSION_SELF: self.session, SESSION_OTHER: other.session, USER_OTHER: other.id });
    await Promise.all([this.#renewThings(this.#api, 'SELF', self), this.#renewThings(this.#ownMaster, 'OWN', owned)]);
  }

  /** All that the operator can see of the victims, to be compared. */
  async victimsNow(): Promise<unknown[]> {
    const paths = this.#victims.flatMap(({ ids: [user, role, installation, notification] }) => [
      `/1.1/users/${user}?returnACL=true`,
      `/1.1/roles/${role}?returnACL=true`,
      `/1.1/installations/${installation}?returnACL=true`,
      `/1.1/notifications/${notification}`,
    ]);
    const answers = await Promise.all([
      ...paths.map((path) => this.#master.get(path)),
      ...this.#victims.map(({ user }) => this.#api.get('/1.1/users/me', { session: user.session })),
    ]);
    return answers.map(({ status, body }) => {
      if (status !== 200) throw new Error(`what is a victim's was answered ${status}: ${JSON.stringify(body)}`);
      return body;
    });
  }

  /** An application with what is hard to do safely: everybody may look for users, addresses are verified and hidden. */
  async #openUp(): Promise<void> {
    const { app } = this.server;
    for (const { id } of [app, this.own]) {
      for (const operation of ['find', 'get']) {
        const { status, stderr } = await gatepost(
          this.server,
          'permissions',
          'set',
          id,
          '_User',
          operation,
          'everyone',
        );
        if (status !== 0) throw new Error(stderr);
      }
    }
    await setSetting(this.server, app, 'hideContact', 'true');
    await setSetting(this.server, app, 'verifyEmailOnSignUp', 'true');
    await eventually(() => signUp(this.#ownMaster));
    await eventually(async () => {
      const { status, body } = await this.#api.get('/1.1/users?limit=1');
      if (status !== 200) throw new Error(JSON.stringify(body));
    });
    const timestamp = String(Date.now());
    const digest = createHash('md5').update(`${timestamp}${app.appKey}`).digest('hex');
    this.#name({ APP_ID: app.id, APP_KEY: app.appKey, SIGN: `${digest},${timestamp}`, TOMORROW });
    this.#name({ OWN_ID: this.own.id, OWN_KEY: this.own.appKey, OWN_MASTER_KEY: this.own.masterKey });
  }

  async #plant(): Promise<void> {
    const hidden = { color: this.#canary(), authData: this.#authData() };
    const stranger = await signUp(this.#api, {
      ...this.#contact(),
      ...hidden,
      username: this.#canary(),
      ...this.#password(),
    });
    await this.#close(stranger);
    await this.#plantThings(stranger, 'STRANGER');
    const secrets = { ...this.#contact(), ...this.#password(), authData: this.#authData() };
    await this.#plantThings(await signUp(this.#api, secrets), 'NEIGHBOUR');
    const contact = { email: `${unique('known')}@example.com`, mobilePhoneNumber: uniquePhone() };
    const acquaintance = await signUp(this.#api, { ...contact, ...this.#password(), authData: this.#authData() });
    await this.#plantThings(acquaintance, 'ACQUAINTANCE');
    this.#name({ NAME_ACQUAINTANCE: acquaintance.username });
    this.#name({ EMAIL_ACQUAINTANCE: contact.email, PHONE_ACQUAINTANCE: contact.mobilePhoneNumber });
    for (const text of [this.server.app.masterKey, this.server.env['GATEPOST_SECRET']])
      if (text !== undefined) this.#canaries.add(text);
  }

  async #close({ id, session }: TestUser): Promise<void> {
    const { status } = await this.#api.put(
      `/1.1/users/${id}`,
      { ACL: { [id]: { read: true, write: true } } },
      { session },
    );
    if (status !== 200) throw new Error(`the ACL was answered ${status}`);
  }

  /** A role, an installation and a push of a victim. */
  async #plantThings(user: TestUser, name: string): Promise<void> {
    this.#canaries.add(user.session);
    const ACL = { [user.id]: { read: true, write: true } };
    const role = { name: this.#canary().replace('-', '_'), secret: this.#canary(), ACL };
    this.#canaries.add(role.name);
    const [device, deviceToken] = [this.#canary(), this.#canary()];
    const installation = { deviceType: 'android', installationId: device, deviceToken, color: this.#canary() };
    const push = { data: { alert: 'hello' }, where: { installationId: device }, push_time: TOMORROW };
    const ids = [
      user.id,
      await created(this.#master, '/1.1/roles', role),
      await created(this.#master, '/1.1/installations', installation),
      await created(this.#master, '/1.1/push', push),
    ];
    this.#victims.push({ user, ids });
    this.#canaries.add(ids[2] ?? '');
    this.#name({ [`USER_${name}`]: user.id, [`ROLE_${name}`]: ids[1] ?? '', [`NOTIFICATION_${name}`]: ids[3] ?? '' });
  }

  /** A user of the attackers, who was renamed or deleted perhaps. */
  async #alive(name: string, api: ApiClient): Promise<TestUser> {
    const email = `${unique('self')}@example.com`;
    const phone = uniquePhone();
    const user = this.#attackers.get(name);
    if (user !== undefined && (await api.get('/1.1/users/me', { session: user.session })).status === 200) return user;
    const created = await signUp(api, { email, mobilePhoneNumber: phone, color: 'red' });
    this.#attackers.set(name, created);
    if (name === 'SELF') {
      const link = () => this.#api.post('/1.1/requestEmailVerify', { email });
      this.#name({ EMAIL_SELF: email, PHONE_SELF: phone });
      if (!this.#names.has('LINK_TOKEN'))
        this.#name({ LINK_TOKEN: (await linkSentBy(this.server, email, link)).token });
    }
    return created;
  }

  readonly #attackers = new Map<string, TestUser>();

  async #renewThings(api: ApiClient, owner: string, { id, username, password }: TestUser): Promise<void> {
    const device = unique('device');
    const ACL = { '*': { read: true, write: true }, [id]: { read: true, write: true } };
    const things = {
      USER: id,
      NAME: username,
      PASSWORD: password,
      ROLE: await created(api, '/1.1/roles', { name: unique('r').replace('-', '_'), ACL }),
      INSTALLATION: await created(api, '/1.1/installations', { deviceType: 'web', installationId: device }),
      DEVICE: device,
      // Clients send none.
      NOTIFICATION: await created(this.#ownMaster, '/1.1/push', { data: { alert: 'hello' }, push_time: TOMORROW }),
    };
    this.#name(Object.fromEntries(Object.entries(things).map(([name, value]) => [`${owner}_${name}`, value])));
  }

  #canary(): string {
    const text = unique('canary');
    this.#canaries.add(text);
    return text;
  }

  #password(): Json {
    return { password: this.#canary() };
  }

  #contact(): Json {
    const [email, mobilePhoneNumber] = [`${this.#canary()}@example.com`, uniquePhone()];
    this.#canaries.add(mobilePhoneNumber);
    return { email, mobilePhoneNumber };
  }

  #authData(): Json {
    return { mastodon: { uid: this.#canary(), access_token: this.#canary(), refresh_token: this.#canary() } };
  }

  #name(names: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(names)) this.#names.set(name, value);
  }

  get #api(): ApiClient {
    return ApiClient.forApp(this.server.baseUrls[0] ?? '', this.server.app);
  }

  get #master(): ApiClient {
    return ApiClient.forMaster(this.server.baseUrls[0] ?? '', this.server.app);
  }

  get #ownMaster(): ApiClient {
    return ApiClient.forMaster(this.server.baseUrls[0] ?? '', this.own);
  }
}

async function created(api: ApiClient, path: string, body: Json): Promise<string> {
  const { status, body: answer } = await api.post(path, body);
  if (status >= 300) throw new Error(`${path} was answered ${status}: ${JSON.stringify(answer)}`);
  return String(answer['objectId']);
}
