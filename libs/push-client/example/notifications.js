// Web Push for this page's installation: the browser's push service starts worker.js for each push.

/** Needs https or localhost. */
export const isSupported = 'serviceWorker' in navigator && 'PushManager' in window;

/** Pushes reach the installation by WebSocket again. */
const WITHOUT_SUBSCRIPTION = { webPush: { __op: 'Delete' } };

/** The fields of the installation; none where notifications were never turned on in this browser. */
export async function currentFields() {
  const registration = isSupported ? await navigator.serviceWorker.getRegistration() : undefined;
  if (registration === undefined) return {};
  const subscription = await registration.pushManager.getSubscription();
  return subscription === null ? WITHOUT_SUBSCRIPTION : { webPush: subscription.toJSON() };
}

/** Asks the user, and subscribes with the application's key. Resolves to the fields of the installation. */
export async function turnOn({ server, appId, appKey }) {
  await navigator.serviceWorker.register('worker.js');
  const { pushManager } = await navigator.serviceWorker.ready;
  // A browser keeps one subscription, which belongs to one key.
  await (await pushManager.getSubscription())?.unsubscribe();
  const applicationServerKey = await keyOf(server, { 'X-LC-Id': appId, 'X-LC-Key': appKey });
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
  return { webPush: subscription.toJSON() };
}

/** Resolves to the fields of the installation. */
export async function turnOff() {
  const { pushManager } = await navigator.serviceWorker.ready;
  await (await pushManager.getSubscription())?.unsubscribe();
  return WITHOUT_SUBSCRIPTION;
}

async function keyOf(server, headers) {
  const response = await fetch(`${server.replace(/\/+$/, '')}/1.1/push/webPushKey`, { headers });
  const { publicKey, error } = await response.json();
  if (!response.ok) throw new Error(error);
  return publicKey;
}
