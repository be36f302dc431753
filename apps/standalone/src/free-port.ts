import { createServer } from 'node:net';

/**
 * Tells a taken port before anything is made: a first start that fails later would have created an application without
 * ever showing its keys.
 * @throws the error of `listen`, such as EADDRINUSE
 */
export async function assertPortIsFree(port: number, host: string): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(port, host, resolve);
  });
  await new Promise((resolve) => probe.close(resolve));
}
