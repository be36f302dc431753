import { isUtf8 } from 'node:buffer';
import { gunzipSync, constants as zlibConstants } from 'node:zlib';
import { isJsonObject } from '#objects';
import type { ExportPart, RoleRelation } from './export.types.js';
import { withoutMark } from './json-rows.js';
import { HEAD_BYTES } from './stored-bytes.js';

export type RowLayout =
  | { readonly by: 'lines'; readonly className: string }
  | { readonly by: 'list'; readonly key: string | undefined }
  | { readonly by: 'columns' | 'documents' | 'whole' | 'nothing' }
  | { readonly by: 'problem'; readonly problem: string };

export interface PartKind extends Pick<ExportPart, 'className' | 'kind' | 'relation' | 'form'> {
  readonly layout: RowLayout;
}

export interface FileKind {
  readonly parts: readonly PartKind[];
  readonly warnings: readonly string[];
}

const CLASS_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** `Post.0.jsonl`, `Post.jsonl`, and `Post (1).jsonl`, which browsers make of a second download. */
const CLASS_IN_NAME = /^([A-Za-z_][A-Za-z0-9_]{0,127})(?: ?\(\d+\))?(?:\.|$)/;
const ABOUT_CLASS = /^([A-Za-z_][A-Za-z0-9_]{0,127}?)_(schema|permissions|indexes|all)\.json$/;
/** `_Join:_User:users:_Role` of LeanCloud and `_Join:users:_Role` of Parse; a file system may replace the colons. */
const RELATION = /^_Join(?:%3A|.)?(?:(?:_User|_Role)(?:%3A|.)?)?(users|roles)(?:%3A|.)?_Role(?: ?\(\d+\))?(?:\..*)?$/iu;
const JOIN = '_Join';
const HEADER = /^#filetype:JSON-streaming\s*(\{.*\})\s*$/;
const LINES_OF_SEVERAL = /^\{\s*"classes"\s*:\s*(\[[^\]{}]*\])/;
const LIST_OF_RESULTS = /^\{\s*"results"\s*:\s*\[/;
const DATA_EXTENSION = /\.(?:jsonl|ndjson|json)(?:\.|$)/i;
const BSON_EXTENSION = /\.bson(?:\.|$)/i;
/** MongoDB's limit of a document; the first four bytes of a text are a larger number. */
const MAX_BSON_BYTES = 16 * 1024 * 1024 + 16 * 1024;
const MAX_BSON_TYPE = 0x13;
const BSON_KEYS = [0x7f, 0xff];
/** Longer marks first: the one of UTF-32 begins with the one of UTF-16. */
const MARKS: readonly (readonly [Buffer, string])[] = [
  [Buffer.from([0xff, 0xfe, 0, 0]), 'UTF-32'],
  [Buffer.from([0, 0, 0xfe, 0xff]), 'UTF-32'],
  [Buffer.from([0xff, 0xfe]), 'UTF-16'],
  [Buffer.from([0xfe, 0xff]), 'UTF-16'],
];
const MAX_CLASSES = 1_000;
const NO_SYSTEM_FILE = /(?:^|\/)(?:\._[^/]*|\.DS_Store|Thumbs\.db|desktop\.ini)$|(?:^|\/)__MACOSX\//;

export function isSystemFile(path: string): boolean {
  return NO_SYSTEM_FILE.test(path);
}

export function kindOfFile(path: string, head: Buffer): FileKind {
  const name = nameOf(path);
  const encoding = wrongEncoding(head);
  if (encoding !== undefined) return { parts: [brokenPart(name, encoding)], warnings: [] };
  if (isBson(head)) return single(classed(classOfName(name), 'bson', { by: 'documents' }));
  const bytes = withoutMark(head);
  const text = bytes.toString('utf8').trimStart();
  const warnings = textWarnings(head, bytes);
  return { parts: partsOfText(name, text), warnings };
}

function single(part: PartKind): FileKind {
  return { parts: [part], warnings: [] };
}

function nameOf(path: string): string {
  const name = path.replaceAll('\\', '/').split('/').at(-1) ?? '';
  return name.replace(/\.gz$/i, '');
}

function classOfName(name: string): string {
  return RELATION.test(name) || name.startsWith(JOIN) ? name : (CLASS_IN_NAME.exec(name)?.[1] ?? '');
}

function classed(className: string, form: ExportPart['form'], layout: RowLayout): PartKind {
  const field = RELATION.exec(className)?.[1]?.toLowerCase();
  if (field === 'users' || field === 'roles') return { ...relationOf(field), form, layout };
  if (!CLASS_NAME.test(className) || className.startsWith(JOIN)) return other();
  return { className, kind: 'rows', form, layout };
}

function relationOf(field: RoleRelation['field']): Pick<PartKind, 'className' | 'kind' | 'relation'> {
  const target = field === 'users' ? '_User' : '_Role';
  return { className: `_Join:${target}:${field}:_Role`, kind: 'relation', relation: { owner: '_Role', field } };
}

function other(): PartKind {
  return { className: '', kind: 'other', form: 'unknown', layout: { by: 'nothing' } };
}

function brokenPart(name: string, problem: string): PartKind {
  return classed(classOfName(name), 'unknown', { by: 'problem', problem });
}

function partsOfText(name: string, text: string): readonly PartKind[] {
  if (text.startsWith('#filetype:')) return [partOfHeader(name, text)];
  const about = ABOUT_CLASS.exec(name);
  if (about !== null && !text.startsWith('[')) return [partAbout(about)];
  const classes = classesOf(text);
  if (classes !== undefined) return classes.map((key) => classed(key, 'json', { by: 'list', key }));
  const className = classOfName(name);
  if (text.startsWith('[') && !isLineOf(text)) return [classed(className, 'json', { by: 'list', key: undefined })];
  if (LIST_OF_RESULTS.test(text) && !isLineOf(text))
    return [classed(className, 'json', { by: 'list', key: 'results' })];
  return [partOfLines(name, className, text)];
}

function partOfLines(name: string, className: string, text: string): PartKind {
  const isJson = text.startsWith('{') || text.startsWith('[');
  if (BSON_EXTENSION.test(name) && !isJson && text !== '')
    return brokenPart(name, 'The file is not BSON, although its name says so. Take the backup again.');
  if (isJson || DATA_EXTENSION.test(name)) return classed(className, 'jsonl', { by: 'lines', className });
  if (RELATION.test(name)) return classed(className, 'csv', { by: 'columns' });
  return other();
}

/** The class of LeanCloud's first line; if the line is broken, of the file name. */
function partOfHeader(name: string, text: string): PartKind {
  const className = classOfHeader(firstLineOf(text)) ?? classOfName(name);
  return classed(className, 'jsonl', { by: 'lines', className });
}

export function classOfHeader(line: string): string | undefined {
  const header = parsed(HEADER.exec(line)?.[1]);
  const className = isJsonObject(header) ? header['class'] : undefined;
  return typeof className === 'string' ? className : undefined;
}

function partAbout(match: RegExpExecArray): PartKind {
  const [, className = '', about] = match;
  const kind = about === 'schema' || about === 'indexes' ? about : 'permissions';
  return { className, kind, form: 'json', layout: { by: 'whole' } };
}

/** An old file of several classes: `{"classes":["Post"],"Post":[…]}`. */
function classesOf(text: string): readonly string[] | undefined {
  const list = parsed(LINES_OF_SEVERAL.exec(text)?.[1]);
  if (!Array.isArray(list)) return undefined;
  const names = list.filter((name) => typeof name === 'string' && CLASS_NAME.test(name)) as string[];
  return [...new Set(names)].slice(0, MAX_CLASSES);
}

function isLineOf(text: string): boolean {
  const line = firstLineOf(text);
  const value = parsed(line);
  if (isJsonObject(value)) return Object.hasOwn(value, 'objectId') || Object.hasOwn(value, '_id');
  return Array.isArray(value) && text.slice(line.length).trim() !== '';
}

function firstLineOf(text: string): string {
  const end = text.indexOf('\n');
  return end === -1 ? text : text.slice(0, end);
}

function parsed(json: string | undefined): unknown {
  try {
    return json === undefined ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isBson(head: Buffer): boolean {
  if (head.length < 5) return false;
  const size = head.readInt32LE(0);
  const type = head[4] ?? 0;
  if (size === 5) return type === 0;
  const isType = (type >= 1 && type <= MAX_BSON_TYPE) || BSON_KEYS.includes(type);
  return size > 5 && size <= MAX_BSON_BYTES && isType && (size > head.length || head[size - 1] === 0);
}

function wrongEncoding(head: Buffer): string | undefined {
  const encoding = MARKS.find(([mark]) => head.subarray(0, mark.length).equals(mark))?.[1] ?? wideEncoding(head);
  return encoding === undefined ? undefined : `The file is ${encoding} text. Save the file as UTF-8.`;
}

/** UTF-16 without a byte order mark: in Latin text every second byte is zero. */
function wideEncoding(head: Buffer): string | undefined {
  const zeros = [...head.subarray(0, 4)].map((byte) => (byte === 0 ? 0 : 1)).join('');
  return (zeros === '1010' || zeros === '0101') && !isBson(head) ? 'UTF-16' : undefined;
}

function textWarnings(head: Buffer, withoutBom: Buffer): readonly string[] {
  const warnings: string[] = [];
  if (withoutBom.length < head.length) warnings.push('begins with a byte order mark, which is left out');
  const lineEnd = head.indexOf(0x0a);
  if (lineEnd > 0 && head[lineEnd - 1] === 0x0d && isUtf8(head.subarray(0, lineEnd)))
    warnings.push('has line ends of Windows (CR LF), which are accepted');
  return warnings;
}

/** Compressed bytes; deflate expands them to at most 1,032 times as many. */
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

export interface Content extends FileKind {
  readonly isEmpty: boolean;
  readonly isCompressed: boolean;
  readonly obstacle: string | undefined;
}

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

/** By the magic of tar or, in the oldest form, by its checksum. */
export function isTar(head: Buffer): boolean {
  // The parser would decompress such bytes once more.
  if (head.length < TAR_BLOCK || isGzip(head)) return false;
  if (head.toString('latin1', TAR_MAGIC_AT, TAR_MAGIC_AT + 5) === 'ustar') return true;
  const written = /^[ \0]*([0-7]+)/.exec(head.toString('latin1', CHECKSUM.from, CHECKSUM.to))?.[1];
  const sum = head.subarray(0, TAR_BLOCK).reduce((total, byte, index) => {
    return total + (index >= CHECKSUM.from && index < CHECKSUM.to ? 0x20 : byte);
  }, 0);
  return written !== undefined && parseInt(written, 8) === sum;
}

function obstacleIn(content: Buffer): string | undefined {
  if (isTar(content) || isZip(content)) return 'is an archive within another file';
  if (isGzip(content)) return 'is compressed twice';
  const [, format] = FOREIGN_FORMATS.find(([magic]) => content.subarray(0, magic.length).equals(magic)) ?? [];
  return format === undefined ? undefined : `is compressed by ${format}`;
}

export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b && head[2] === 8;
}

export function gunzippedHead(head: Buffer): Buffer {
  try {
    const options = { finishFlush: zlibConstants.Z_SYNC_FLUSH };
    return gunzipSync(head.subarray(0, GZIP_HEAD_BYTES), options).subarray(0, HEAD_BYTES);
  } catch {
    return Buffer.alloc(0);
  }
}
