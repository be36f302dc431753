import { type ApiClient, type ApiReply, type GatepostServer, type Json, masterClient, unique } from '#testing';

/** A user who came by accounts on other platforms. */
export interface ThirdPartyUser {
  readonly id: string;
  readonly session: string;
  /** The body of the sign-up's answer. */
  readonly body: Json;
}

/** An entry of `authData` by which WeChat, QQ or TapTap identify an account: an unlinked account, unless an id is given. */
export function openidEntry(openid = unique('openid')): Json & { openid: string } {
  return { openid, access_token: unique('token'), expires_in: 7_200 };
}

/** An entry of `authData` of most other platforms. */
export function uidEntry(uid = unique('uid')): Json & { uid: string } {
  return { uid, access_token: unique('token') };
}

/** The entry with a union id. Without `isMain` the member `main_account` is missing. */
export function withUnionId(entry: Json, unionid: string, isMain?: unknown, platform = 'weixin'): Json {
  return { ...entry, unionid, platform, ...(isMain === undefined ? {} : { main_account: isMain }) };
}

/** POST /1.1/users with `authData`. */
export function enter(api: ApiClient, authData: Json, fields: Json = {}): Promise<ApiReply> {
  return api.post('/1.1/users', { authData, ...fields });
}

/** Signs up with unlinked accounts. @throws Error if it is refused, or if an account is linked already */
export async function signUpBy(api: ApiClient, authData: Json, fields: Json = {}): Promise<ThirdPartyUser> {
  const { status, body } = await enter(api, authData, fields);
  if (status !== 201) throw new Error(`the sign-up was answered ${status}: ${JSON.stringify(body)}`);
  return { id: String(body['objectId']), session: String(body['sessionToken']), body };
}

/** The id of the user to whom these accounts are linked; undefined if they are unlinked. */
export async function ownerOf(api: ApiClient, authData: Json): Promise<unknown> {
  return (await api.post('/1.1/users?failOnNotExist=true', { authData })).body['objectId'];
}

/** PUT /1.1/users/<objectId> in the user's name. */
export function change(
  api: ApiClient,
  { id, session }: Pick<ThirdPartyUser, 'id' | 'session'>,
  body: Json,
): Promise<ApiReply> {
  return api.put(`/1.1/users/${id}`, body, { session });
}

/** The links of a user, as the master key sees them. */
export async function authDataOf(server: GatepostServer, { id }: Pick<ThirdPartyUser, 'id'>): Promise<unknown> {
  return (await masterClient(server).get(`/1.1/users/${id}`)).body['authData'];
}
