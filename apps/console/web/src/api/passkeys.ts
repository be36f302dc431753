import { consoleApi, type RouteReply, type Session } from '#console-api';
import { call, CallError } from './call';

/** @throws CallError; PASSKEY_REFUSED where the browser, or the operator, has not used one */
export async function signInByPasskey(): Promise<Session> {
  const { options } = await call(consoleApi.beginPasskeySignIn, {});
  return call(consoleApi.passkeySignIn, { body: { response: await signed(options) } });
}

/** @throws CallError as `signInByPasskey` */
export async function proveByPasskey(): Promise<Session> {
  const { options } = await call(consoleApi.beginPasskeyProof, {});
  return call(consoleApi.passkeyProof, { body: { response: await signed(options) } });
}

/** @throws CallError as `signInByPasskey` */
export async function addPasskey(name: string): Promise<RouteReply<typeof consoleApi.addPasskey>> {
  const { options } = await call(consoleApi.beginPasskey, {});
  const { startRegistration } = await import('@simplewebauthn/browser');
  const response = await startRegistration({ optionsJSON: options as never }).catch(refused);
  return call(consoleApi.addPasskey, { body: { name, response: { ...response } } });
}

async function signed(options: object): Promise<Record<string, unknown>> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  return { ...(await startAuthentication({ optionsJSON: options as never }).catch(refused)) };
}

function refused(): never {
  throw new CallError({ name: 'PASSKEY_REFUSED' }, 0);
}
