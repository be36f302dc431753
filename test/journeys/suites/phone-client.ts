import {
  ApiClient,
  type ApiReply,
  type AppKeys,
  codeSentBy,
  type GatepostServer,
  type Json,
  type SentMessage,
  sentMessages,
  signUp,
  type TestUser,
  uniquePhone,
} from '#testing';

/** Some six digits that are not those. */
export function wrong(code: string): string {
  return String((Number(code) + 1) % 1_000_000).padStart(6, '0');
}

/** A client with a phone number. */
export class PhoneClient {
  constructor(
    private readonly server: GatepostServer,
    readonly number = uniquePhone(),
    private readonly app: AppKeys = server.app,
  ) {}

  /** A client of one of the gateways. */
  api(gateway = 0): ApiClient {
    const { baseUrls } = this.server;
    return ApiClient.forApp(baseUrls[gateway % baseUrls.length] ?? '', this.app);
  }

  /** Posts the number, and what is given, to a path below /1.1. */
  post(path: string, body: Json = {}, session?: string): Promise<ApiReply> {
    const whole = { mobilePhoneNumber: this.number, ...body };
    return this.api().post(`/1.1/${path}`, whole, session === undefined ? {} : { session });
  }

  /** Posts so often at once, over all gateways. */
  postAtOnce(times: number, path: string, body: Json = {}): Promise<ApiReply[]> {
    const whole = { mobilePhoneNumber: this.number, ...body };
    return Promise.all(Array.from({ length: times }, (_, index) => this.api(index).post(`/1.1/${path}`, whole)));
  }

  /** The code that a request brings to the number. */
  codeBy(path: string, body: Json = {}, session?: string): Promise<string> {
    return codeSentBy(this.server, this.number, () => this.post(path, body, session));
  }

  messages(): SentMessage[] {
    return sentMessages(this.server, this.number);
  }

  /** Signs up a user with the number, unproven. */
  signUp(fields: Json = {}): Promise<TestUser> {
    return signUp(this.api(), { mobilePhoneNumber: this.number, ...fields });
  }

  /** Signs up a user who has proven the number. */
  async signUpProven(fields: Json = {}): Promise<TestUser> {
    const user = await this.signUp(fields);
    const master = ApiClient.forMaster(this.server.baseUrls[0] ?? '', this.app);
    await master.put(`/1.1/users/${user.id}`, { mobilePhoneVerified: true });
    return user;
  }

  /** The user of a session. */
  async me(session: string): Promise<Json> {
    return (await this.api().get('/1.1/users/me', { session })).body;
  }
}
