import { constants as zlibConstants, gunzipSync } from 'node:zlib';
import { type FileKind, kindOfFile } from './part-kinds.js';
import { HEAD_BYTES } from './stored-bytes.js';

/** Of a compressed file: deflate makes at most 1,032 times as many bytes of them. */
const GZIP_HEAD_BYTES = 16 * 1_024;
const TAR_MAGIC_AT = 257;
const TAR_BLOCK = 512;
const CHECKSUM = { from: 148, to: 156 };
const FOREIGN_FORMATS: readonly (readonly [Buffer, string])[] = [
  [Buffer.from('BZh'), 'bzip2'],
  [Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a]), 'xz'],
  [Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), 'zstd'],
  [Buffer.from([0x37, 0x7a, 0xbc, 0xaf]), '7-Zip'],
  [Buffer.from('Rar!'), 'RAR'],
];

/** The kind of a file, by its first bytes. */
export interface Content extends FileKind {
  readonly isEmpty: boolean;
  readonly isCompressed: boolean;
  /** Why the file cannot be read without being unpacked first. */
  readonly obstacle: string | undefined;
}

/** @param path within the folder or archive */
export function contentOf(path: string, head: Buffer): Content {
  const isCompressed = isGzip(head);
  const begin = isCompressed ? gunzippedHead(head) : head;
  const obstacle = obstacleIn(begin);
  const kind = obstacle === undefined ? kindOfFile(path, begin) : { parts: [], warnings: [] };
  return { isEmpty: head.length === 0, isCompressed, obstacle, ...kind };
}

export function isZip(head: Buffer): boolean {
  return head[0] === 0x50 && head[1] === 0x4b && (head.readUInt16BE(2) === 0x0304 || head.readUInt16BE(2) === 0x0506);
}

/** Whether the bytes begin with a header of tar, by its magic or, in the oldest form, by its checksum. */
export function isTar(head: Buffer): boolean {
  // The parser would decompress such a beginning once more.
  if (head.length < TAR_BLOCK || isGzip(head)) return false;
  if (head.toString('latin1', TAR_MAGIC_AT, TAR_MAGIC_AT + 5) === 'ustar') return true;
  const written = /^[ \0]*([0-7]+)/.exec(head.toString('latin1', CHECKSUM.from, CHECKSUM.to))?.[1];
  const sum = head.subarray(0, TAR_BLOCK).reduce((total, byte, index) => {
    return total + (index >= CHECKSUM.from && index < CHECKSUM.to ? 0x20 : byte);
  }, 0);
  return written !== undefined && parseInt(written, 8) === sum;
}

/** Why the content cannot be read without being unpacked. */
function obstacleIn(content: Buffer): string | undefined {
  if (isTar(content) || isZip(content)) return 'is an archive within another file';
  if (isGzip(content)) return 'is compressed twice';
  const [, format] = FOREIGN_FORMATS.find(([magic]) => content.subarray(0, magic.length).equals(magic)) ?? [];
  return format === undefined ? undefined : `is compressed by ${format}`;
}

export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b && head[2] === 8;
}

/** The decompressed begin of a gzip file; empty where it is damaged. */
export function gunzippedHead(head: Buffer): Buffer {
  try {
    const options = { finishFlush: zlibConstants.Z_SYNC_FLUSH };
    return gunzipSync(head.subarray(0, GZIP_HEAD_BYTES), options).subarray(0, HEAD_BYTES);
  } catch {
    return Buffer.alloc(0);
  }
}
