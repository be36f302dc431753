import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { addPageFiles } from './http-server.js';

it('responses with files of the page, which clients may never read, keep no file open', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'page-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'assets', 'index.js'), 'plain');
  await writeFile(join(folder, 'assets', 'index.js.gz'), 'packed');
  const server = fastify();
  addPageFiles(server, folder);
  await rm(folder, { recursive: true });
  const get = (url: string, encoding: string) => server.inject({ url, headers: { 'accept-encoding': encoding } });
  expect(await get('/assets/index.js', '')).toMatchObject({ statusCode: 200, payload: 'plain' });
  expect(await get('/assets/index.js', 'gzip')).toMatchObject({ statusCode: 200, payload: 'packed' });
  expect(await get('/assets/none.js', '')).toMatchObject({ statusCode: 404 });
});
