// Gives a test file the parts that it declares in needs.mjs and no others, and deletes its queues after its tests. A run makes hundreds,
// and a broker keeps files open for each: one that may open no more than 1,024 stops to answer.
import { relative } from 'node:path';
import { afterAll, expect } from 'vitest';
import { ownNamespaces } from '../../libs/testing/src/test-run.ts';
import { ROOT } from '../prepare.mjs';
import { deleteQueues } from './cleanup.mjs';
import { needsOf } from './needs.mjs';

const VARIABLES = {
  postgresql: 'DATABASE_URL',
  redis: 'REDIS_URL',
  rabbitmq: 'AMQP_URL',
  browser: 'TEST_BROWSER',
  kubectl: 'TEST_KUBECTL',
};

const { needs, uses } = needsOf(relative(ROOT, expect.getState().testPath).replaceAll('\\', '/'));
const declared = [...needs, ...uses];
// Files of some projects share a thread: an earlier file may have lacked parts that this one declares.
const provided = (globalThis.providedParts ??= { ...process.env });
const amqpUrl = provided.AMQP_URL;
process.env.TEST_DECLARED_PARTS = declared.join(',');
for (const [part, variable] of Object.entries(VARIABLES)) {
  if (declared.includes(part) && provided[variable] !== undefined) process.env[variable] = provided[variable];
  else delete process.env[variable];
}

afterAll(async () => {
  const namespaces = ownNamespaces();
  // Objects that cannot be deleted now, because the broker is away, are deleted after the run.
  if (amqpUrl && namespaces.length > 0) await deleteQueues(amqpUrl, namespaces).catch(() => undefined);
});
