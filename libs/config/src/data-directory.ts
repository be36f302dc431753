import { join, relative } from 'node:path';

/** Longest path of a Unix socket that Linux and macOS both take, in bytes. */
const MAX_SOCKET_PATH_BYTES = 103;

/** The operator socket of the standalone server that keeps its data in the folder, by its shortest path. */
export function operatorSocketPath(dataDirectory: string): string {
  const absolute = join(dataDirectory, 'gatepost.sock');
  const fromHere = relative(process.cwd(), absolute);
  return fromHere.length < absolute.length ? fromHere : absolute;
}

export function isSocketPathTooLong(path: string): boolean {
  return Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES;
}
