// Receives pushes from the browser's push service, also while no page is open: shows a notification, and tells the open pages.
self.addEventListener('push', (event) => {
  const { _id: id, ...data } = event.data.json();
  event.waitUntil(Promise.all([notify(id, data), passToPages({ id, data })]));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(showPage());
});

/** A push that is repeated replaces its notification. */
function notify(id, { title = 'Pushes', alert = '' }) {
  const body = typeof alert === 'string' ? alert : JSON.stringify(alert);
  return self.registration.showNotification(title, { body, tag: id, icon: 'icon.svg' });
}

async function passToPages(message) {
  for (const page of await openPages()) page.postMessage(message);
}

async function showPage() {
  const [page] = await openPages();
  await (page?.focus() ?? self.clients.openWindow('./'));
}

function openPages() {
  return self.clients.matchAll({ type: 'window', includeUncontrolled: true });
}
