import { z } from 'zod';
import { accountsRpc } from './accounts.contract.js';
import { appId } from './application.schema.js';
import { caller, givenCredentials } from './caller.schema.js';
import { jsonObject } from './json.schema.js';
import { rpc } from './message-kinds.js';
import { objectsRpc } from './objects.contract.js';
import { platformKind, platformName } from './user.schema.js';

/** Credentials as an operator may see them. */
const shownCredentials = z.object({
  platform: platformName,
  kind: platformKind,
  /** Fields that are no secret. */
  shown: z.record(z.string(), z.string()),
  /** Names of the secret fields that are set. */
  secrets: z.array(z.string()),
});

export type ShownCredentials = z.output<typeof shownCredentials>;

/** What operators ask about an application's platforms, by the same ways as `applicationsRpc`. */
export const platformsRpc = {
  /** Replaces what was set for the platform. `fields`: as `PLATFORM_CREDENTIALS` says for the kind. */
  set: rpc(
    'auth-linking.setPlatformCredentials',
    z.object({
      appId,
      platform: platformName,
      kind: platformKind,
      fields: givenCredentials,
    }),
    z.object({ credentials: shownCredentials }),
  ),
  remove: rpc('auth-linking.removePlatformCredentials', z.object({ appId, platform: platformName }), z.object({})),
  list: rpc(
    'auth-linking.listPlatformCredentials',
    z.object({ appId }),
    z.object({ platforms: z.array(shownCredentials) }),
  ),
};

/** A platform is given up after 2.5 seconds; then accounts may take as long as it may by itself. */
const PROOF_TIMEOUT_MS = 13_000;

/** Requests whose body has `authData`: what it says is proven first, then accounts gets it. They answer as accounts does. */
export const authLinkingRpc = {
  signUpOrLogIn: rpc(
    'auth-linking.signUpOrLogIn',
    z.object({ caller, fields: jsonObject, failOnNotExist: z.boolean() }),
    accountsRpc.signUpOrLogInByIdentity.reply,
    PROOF_TIMEOUT_MS,
  ),
  updateUser: rpc(
    'auth-linking.updateUser',
    accountsRpc.updateUser.request.omit({ identities: true }),
    accountsRpc.updateUser.reply,
    PROOF_TIMEOUT_MS,
  ),
  saveAll: rpc('auth-linking.saveAll', objectsRpc.saveAll.request, objectsRpc.saveAll.reply, PROOF_TIMEOUT_MS),
};
