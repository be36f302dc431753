import { z } from 'zod';
import type { PlatformCredentials } from '#contracts';
import { requireToken } from './claim-fields.js';
import { miniProgramSession, noSession, sessionProof } from './mini-program-session.js';
import { answeredErrorCode } from './answered-fields.js';
import type { PlatformEndpoint } from './platform-endpoint.js';
import type { Claim, Proof } from './platform-verifier.types.js';

/** The platform is busy; its limits; our app id or secret is wrong, or our address is not on its list. */
const ERRORS_OF_OURS = new Set(['-1', '45009', '45011', '40013', '40125', '40164', '41002', '41004']);

const failure = z.object({ errcode: answeredErrorCode });

/**
 * Exchanges a mini program's code with a platform that does as WeChat does (GET /sns/jscode2session).
 *
 * @throws AppError as `requireToken`, `PlatformEndpoint.get`, `noSession`, `sessionProof`
 */
export async function wechatSessionProof(
  endpoint: PlatformEndpoint,
  claim: Claim,
  { appId, appSecret }: PlatformCredentials<'lc_weapp' | 'lc_qqapp'>,
): Promise<Proof> {
  const { kind } = endpoint;
  const code = requireToken(kind, claim, 'code');
  const query = { appid: appId, secret: appSecret, js_code: code, grant_type: 'authorization_code' };
  const { body } = await endpoint.get(endpoint.url('/sns/jscode2session', query));
  const { errcode = '0' } = failure.parse(body);
  const session = miniProgramSession.safeParse(body);
  if (errcode !== '0' || !session.success) throw noSession(kind, errcode, ERRORS_OF_OURS);
  return sessionProof(kind, claim, session.data);
}
