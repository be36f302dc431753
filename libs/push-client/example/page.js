// Shows pushes as they arrive. ?server=…&appId=…&appKey=…&channels=… connects at once.
import { PushClient, webStorageStore } from '../dist/index.js';
import * as notifications from './notifications.js';

const SETTINGS_KEY = 'gatepost-push-settings';
const MAX_SHOWN = 200;
const STATES = {
  stopped: 'Not connected',
  connecting: 'Connecting …',
  connected: 'Connected',
  replaced: 'Open in another tab',
};

const byId = (id) => document.getElementById(id);
const form = byId('connection');
let client;
let received = 0;
let isNotifying = false;

form.addEventListener('submit', (event) => {
  event.preventDefault();
  connect(Object.fromEntries(new FormData(form)));
});
byId('disconnect').addEventListener('click', () => client?.stop());
addEventListener('online', () => client?.wake());
byId('notifications').addEventListener('click', () => switchNotifications().catch(showProblem));
if (notifications.isSupported)
  navigator.serviceWorker.addEventListener('message', ({ data: message }) => showMessage(message));

const given = Object.fromEntries(new URLSearchParams(location.search));
const settings = Object.keys(given).length > 0 ? given : JSON.parse(localStorage.getItem(SETTINGS_KEY) ?? '{}');
for (const [name, value] of Object.entries(settings)) if (form.elements[name]) form.elements[name].value = value;
if (form.checkValidity()) form.requestSubmit();

async function connect(wanted) {
  localStorage.setItem(SETTINGS_KEY, JSON.stringify(wanted));
  await client?.stop();
  byId('problem').hidden = true;
  const { server, appId, appKey } = wanted;
  const subscription = await notifications.currentFields();
  showNotifying('endpoint' in (subscription.webPush ?? {}));
  client = new PushClient({
    server,
    appId,
    registration: { appKey, fields: { deviceType: 'web', channels: channelsIn(wanted.channels), ...subscription } },
    // One device for each application and server that this page is shown for.
    store: webStorageStore(localStorage, `gatepost-push ${server} ${appId}`),
    onMessage: showMessage,
    onState: showState,
    onGap: ({ dropped }) =>
      show({ text: `${dropped} older messages were dropped: too many were waiting`, kind: 'gap' }),
    onError: showProblem,
  });
  client.start();
}

/** With notifications, pushes come through the browser's push service instead of the WebSocket. */
async function switchNotifications() {
  const settings = Object.fromEntries(new FormData(form));
  await client.register(await (isNotifying ? notifications.turnOff() : notifications.turnOn(settings)));
  showNotifying(!isNotifying);
}

function showNotifying(isOn) {
  isNotifying = isOn;
  byId('notifications').textContent = isOn ? 'Turn off notifications' : 'Turn on notifications';
}

function channelsIn(text = '') {
  return text.split(/[\s,]+/).filter((name) => name !== '');
}

function showState({ state, retryInMs = 0 }) {
  byId('state').dataset.state = state;
  byId('state').textContent = STATES[state] ?? `Again in ${Math.ceil(retryInMs / 1000)} s`;
  byId('disconnect').hidden = state === 'stopped';
  byId('notifications').hidden = state !== 'connected' || !notifications.isSupported;
  if (state !== 'connected') return;
  byId('problem').hidden = true;
  byId('settings').open = false;
  byId('command').textContent = commandFor(client.installationId);
}

function showProblem(error) {
  byId('problem').textContent = error.body?.error ?? error.message;
  byId('problem').hidden = false;
}

function showMessage({ id, data }) {
  received += 1;
  byId('count').textContent = received;
  const { title, alert, ...rest } = data;
  const text = typeof alert === 'string' ? alert : JSON.stringify(alert === undefined ? rest : alert, null, 2);
  show({ title, text, id });
}

function show({ title = '', text, id = '', kind = '' }) {
  const item = byId('message').content.cloneNode(true).firstElementChild;
  item.className = kind;
  item.querySelector('h3').textContent = title;
  item.querySelector('h3').hidden = title === '';
  item.querySelector('p').textContent = text;
  item.querySelector('time').textContent = new Date().toLocaleTimeString();
  item.querySelector('code').textContent = id;
  byId('messages').prepend(item);
  while (byId('messages').childElementCount > MAX_SHOWN) byId('messages').lastElementChild.remove();
  byId('empty').hidden = true;
}

function commandFor(installationId) {
  const { server, appId } = Object.fromEntries(new FormData(form));
  const push = JSON.stringify({ where: { installationId }, data: { title: 'Hello', alert: 'It works' } });
  return [
    `curl ${server.replace(/\/+$/, '')}/1.1/push`,
    "-H 'Content-Type: application/json'",
    `-H 'X-LC-Id: ${appId}'`,
    "-H 'X-LC-Key: <master key>,master'",
    `-d '${push}'`,
  ].join(' \\\n  ');
}
