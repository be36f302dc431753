import { z } from 'zod';
import { accountsRpc } from './accounts.contract.js';
import { appId } from './application.schema.js';
import { caller, givenCredentials } from './caller.schema.js';
import { jsonObject, rpc } from './message-kinds.js';
import { objectsRpc } from './objects.contract.js';
import { platformKind, platformName } from './user.schema.js';

/** Credentials as operators see them. */
const shownCredentials = z.object({
  platform: platformName,
  kind: platformKind,
  /** The fields that are not secret. */
  shown: z.record(z.string(), z.string()),
  /** Names of the secret fields that are set. */
  secrets: z.array(z.string()),
});

export type ShownCredentials = z.output<typeof shownCredentials>;

/** RPCs for operators about an application's platforms, available like `applicationsRpc`. */
export const platformsRpc = {
  /** Replaces the platform's credentials. `fields`: as `PLATFORM_CREDENTIALS` defines for the kind. */
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

/** Timeout of a platform request (2.5 seconds) plus the longest timeout of accounts. */
const PROOF_TIMEOUT_MS = 13_000;

/** Requests whose body has `authData`: auth-linking proves the identities, then forwards the request to accounts, which replies. */
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
