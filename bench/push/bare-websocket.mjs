import { randomBytes } from 'node:crypto';
// A server of the package ws that only sends frames and reads acknowledgements, in a process of its own: what Node and ws can do without a store.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { WebSocketServer } from 'ws';

/** Other work runs after this number of devices, as in Gatepost's connector. */
const DEVICES_AT_ONCE = 250;

const devices = new Map();
const server = createServer();
const sockets = new WebSocketServer({
  server,
  perMessageDeflate: false,
  clientTracking: false,
  handleProtocols: ([first]) => first,
});

sockets.on('connection', (socket) => {
  const unacknowledged = new Set();
  let name;
  socket.on('error', () => undefined);
  socket.on('close', () => devices.delete(name));
  socket.on('message', (data) => {
    const command = JSON.parse(data);
    if (command.cmd === 'ack') for (const id of command.ids) unacknowledged.delete(id);
    else if (command.cmd === 'login') {
      name = command.installationId;
      devices.set(name, { socket, unacknowledged });
      socket.send('{"cmd":"loggedin","heartbeatSeconds":55}');
    }
  });
});

let pushes = Promise.resolve();
process.on('message', ({ call, name, body }) => {
  const id = randomBytes(12).toString('hex');
  process.send({ call, id });
  pushes = pushes.then(() => push(id, name === undefined ? [...devices.values()] : [devices.get(name)], body));
});
process.on('disconnect', () => process.exit());

async function push(id, targets, body) {
  const frame = Buffer.from(`{"cmd":"data","ids":["${id}"],"msg":[${body}]}`);
  for (const [place, { socket, unacknowledged }] of targets.entries()) {
    if (place % DEVICES_AT_ONCE === DEVICES_AT_ONCE - 1) await setImmediate();
    unacknowledged.add(id);
    socket.send(frame, { binary: false });
  }
}

server.listen(0, '127.0.0.1', 4096);
await once(server, 'listening');
process.send({ port: server.address().port });
