import { z } from 'zod';
import { accountsRpc } from './accounts.contract.js';
import { objectsRpc } from './objects.contract.js';
import { caller } from './caller.schema.js';
import { jsonObject } from './json.schema.js';
import { rpc } from './rpc.js';

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
