// Clients that read one URL again and again, in a process of their own, until it is stopped: their work is not the measured client's.
const { url, headers, clients } = JSON.parse(process.env.LIST_CLIENTS);

async function readAgainAndAgain() {
  for (;;) {
    const response = await fetch(url, { headers });
    await response.arrayBuffer();
    process.send({ status: response.status });
  }
}

process.on('disconnect', () => process.exit());
await Promise.all(Array.from({ length: clients }, readAgainAndAgain));
