import { consoleApi, type RouteReply, type Session } from '#console-api';
import { call, CallError } from './call';

type Api = typeof consoleApi;

/** @throws CallError; PASSKEY_REFUSED where the browser, or the operator, has not used one */
async function pass(begin: Api['beginPasskeySignIn'], finish: Api['passkeySignIn']): Promise<Session> {
  const { options } = await call(begin, {});
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const response = await startAuthentication({ optionsJSON: options as never }).catch(refused);
  return call(finish, { body: { response: { ...response } } });
}

export const signInByPasskey = (): Promise<Session> => pass(consoleApi.beginPasskeySignIn, consoleApi.passkeySignIn);
export const proveByPasskey = (): Promise<Session> => pass(consoleApi.beginPasskeyProof, consoleApi.passkeyProof);

/** @throws CallError as a sign-in by a passkey; PASSKEY_KNOWN where the device has one of the operator */
export async function addPasskey(name: string): Promise<RouteReply<typeof consoleApi.addPasskey>> {
  const { options } = await call(consoleApi.beginPasskey, {});
  const { startRegistration } = await import('@simplewebauthn/browser');
  const response = await startRegistration({ optionsJSON: options as never }).catch(refused);
  return call(consoleApi.addPasskey, { body: { name, response: { ...response } } });
}

function refused({ name }: Error): never {
  throw new CallError({ name: name === 'InvalidStateError' ? 'PASSKEY_KNOWN' : 'PASSKEY_REFUSED' }, 0);
}

/** Leaves the page for the issuer, which leads back to the path `to` of the console. @throws CallError */
export async function goToIssuer(to: string | undefined): Promise<never> {
  const { url } = await call(consoleApi.startOidc, { body: to === undefined ? {} : { to } });
  location.assign(url);
  // The page ends before anything else happens.
  return new Promise(() => undefined);
}

const FINISHED = 'gatepost-issuer';

/** Called by the tab that has come back from the issuer. */
export function noteIssuerFinished(): void {
  const channel = new BroadcastChannel(FINISHED);
  channel.postMessage(null);
  channel.close();
}

/**
 * Signs in, or proves the identity, in another tab: what this one holds is kept.
 * @throws CallError; TAB_REFUSED where the browser opens none
 */
export async function passAtIssuer(
  route: typeof consoleApi.startOidc | typeof consoleApi.startOidcProof,
): Promise<Session> {
  const { url } = await call(route, { body: {} });
  const finished = new Promise<void>((resolve) => {
    const channel = new BroadcastChannel(FINISHED);
    channel.onmessage = () => {
      channel.close();
      resolve();
    };
  });
  if (window.open(url, '_blank') === null) throw new CallError({ name: 'TAB_REFUSED' }, 0);
  await finished;
  return call(consoleApi.getSession, {});
}
