import { z } from 'zod';
import { caller } from './caller.schema.js';
import { jsonObject } from './json.schema.js';
import { PASSWORD_TIMEOUT_MS, rpc } from './rpc.js';
import { visibleUser } from './visible-user.schema.js';

/** As it stands in a path: what is no code is refused with an error of its own. */
const code = z.string().max(1024);
const request = z.object({ caller, body: jsonObject });
const nothing = z.object({});

/** What belongs to phone numbers and the codes that are sent to them. */
export const phoneNumbersRpc = {
  requestCode: rpc('accounts.requestSmsCode', request, nothing),
  verifyCode: rpc('accounts.verifySmsCode', request.extend({ code }), nothing),
  requestLoginCode: rpc('accounts.requestLoginSmsCode', request, nothing),
  /** Signs up where nobody has the number. */
  enter: rpc(
    'accounts.signUpOrLogInByPhone',
    request,
    z.object({ user: visibleUser, isNew: z.boolean() }),
    PASSWORD_TIMEOUT_MS,
  ),
  requestVerification: rpc('accounts.requestPhoneVerification', request, nothing),
  verify: rpc('accounts.verifyPhone', request.extend({ code }), z.object({ result: jsonObject })),
  requestPasswordReset: rpc('accounts.requestPasswordResetBySms', request, nothing),
  resetPassword: rpc('accounts.resetPasswordBySms', request.extend({ code }), nothing, PASSWORD_TIMEOUT_MS),
  requestChange: rpc('accounts.requestPhoneChange', request, nothing),
  change: rpc('accounts.changePhone', request, nothing),
};
