// Deletes the queues of a test file after its tests. A run makes hundreds, and a broker keeps files open for each: one that may
// open no more than 1,024 stops to answer.
import { afterAll } from 'vitest';
import { ownNamespaces } from '../../libs/testing/src/test-run.ts';
import { deleteQueues } from './cleanup.mjs';

afterAll(async () => {
  const namespaces = ownNamespaces();
  // What cannot be deleted now, as the broker is away, is deleted after the run.
  if (namespaces.length > 0) await deleteQueues(process.env.AMQP_URL, namespaces).catch(() => undefined);
});
