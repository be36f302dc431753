import { gzipSync } from 'node:zlib';
import { Binary, Code, DBRef, Decimal128, Double, Int32, Long, MaxKey, ObjectId, serialize, Timestamp } from 'bson';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contents, problems, readFiles, readInput } from '../../test/exports.js';
import type { ReadRow, RowReader } from './export.types.js';
import { RowBytes } from './json-rows.js';
import { kindOfFile } from './part-kinds.js';
import { readerOf } from './part-rows.js';

const HEADER = '#filetype:JSON-streaming {"type":"Class","class":"_User"}';
/** A public reconstruction; its password is the hash of Passw0rd!. */
const ADA =
  '{"salt":"k3m9x0c7v1b5n2a8s6d4f0g7h3j1l9q5w2e8r6t0y4u7i1o3","email":"ada@example.com","sessionToken":"q1w2e3r4t5y6u7i8o9p0a1s2d","applyAt":{"__type":"Date","iso":"2019-03-01T08:00:00.000Z"},"password":"tPgez79nTsL63aY6nmuin7Cps3Hg1L5TqM17SPNM+u1QcBIVHwGpf/RY9ME7UZ5+Pfb5w7Kdz5WuHP4JLlsj/w==","objectId":"5c710c95c05a807a4d9d7001","username":"ada","createdAt":"2019-02-23T09:04:21.137Z","emailVerified":true,"nickName":"Ada","mobilePhoneVerified":false,"updatedAt":"2026-09-30T11:22:33.444Z","ACL":{"*":{"read":true,"write":true}}}';
const WITH_NULLS =
  '{"objectId":"5c710c95c05a807a4d9d7004","username":"密码测试🔑","authData":{"weixin_app":{"openid":"oTY851axxxxgujsEl0f36Huxk"},"qq":null},"ACL":{}}';
const ROWS = [JSON.parse(ADA), JSON.parse(WITH_NULLS)] as unknown[];
const MIB = 1024 * 1024;

describe('JSON Lines', () => {
  it.each([
    ['with the first line', `${HEADER}\n${ADA}\n${WITH_NULLS}\n`],
    ['with the first line without its space', `${HEADER.replace(' ', '')}\n${ADA}\n${WITH_NULLS}\n`],
    ['without the first line', `${ADA}\n${WITH_NULLS}\n`],
    ['without the last line break', `${HEADER}\n${ADA}\n${WITH_NULLS}`],
    ['with blank lines', `${HEADER}\n\n${ADA}\n  \n${WITH_NULLS}\n\n`],
    ['appended to each other', `${HEADER}\n${ADA}\n${HEADER}\n${WITH_NULLS}\n`],
  ])('reads rows %s', async (_, text) => {
    const read = await readFiles({ '_User.0.jsonl': text });
    expect(contents(read)).toEqual(ROWS);
    expect(problems(read)).toEqual([]);
    expect(read.parts).toEqual(['_User.0.jsonl _User rows']);
  });

  it('takes the class of the first line before the one of the name', async () => {
    const { rows } = await readFiles({ 'Post.0.jsonl': `${HEADER}\n${ADA}\n` });
    expect(rows).toEqual([{ file: 'Post.0.jsonl', line: 2, className: '_User', row: ROWS[0] }]);
  });

  it.each(['_User.0.jsonl', '_User.0.json', '_User.jsonl', '_User.json', '_User (1).jsonl', 'a/b/_User.12.jsonl'])(
    'takes the class of the name %s',
    async (name) => {
      expect((await readFiles({ [name]: `${ADA}\n` })).parts).toEqual([`${name} _User rows`]);
    },
  );

  it('reads chunks in the order of their numbers', async () => {
    const files = Object.fromEntries([10, 9, 1, 0].map((n) => [`_User.${n}.jsonl`, `{"n":${n}}`]));
    expect(contents(await readFiles(files))).toEqual([{ n: 0 }, { n: 1 }, { n: 9 }, { n: 10 }]);
  });

  it('accepts a byte order mark and CR LF with warnings', async () => {
    const read = await readFiles({ '_User.0.jsonl': `\u{feff}${HEADER}\r\n${ADA}\r\n${WITH_NULLS}\r\n` });
    expect(contents(read)).toEqual(ROWS);
    expect(problems(read)).toEqual([]);
    expect(read.warnings).toEqual([
      '"_User.0.jsonl" begins with a byte order mark, which is left out.',
      '"_User.0.jsonl" has line ends of Windows (CR LF), which are accepted.',
    ]);
  });

  it('reports a row that cannot be read, and reads on', async () => {
    const bad: Buffer[] = [
      Buffer.from('{"a":'),
      Buffer.from('[1]'),
      Buffer.from('"text"'),
      Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]),
      Buffer.from('{"a":"\0"}'),
      Buffer.from('{"a":{"__proto__":{"isAdmin":true}}}'),
      Buffer.from('{"a":[{"__pr\\u006fto__":1}]}'),
      Buffer.from(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`),
      Buffer.from(`{"a":${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}}`),
    ];
    const lines = [Buffer.from(HEADER), ...bad.flatMap((line) => [line, Buffer.from(WITH_NULLS)])];
    const read = await readFiles({ x: Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])) });
    expect(contents(read)).toEqual(bad.map(() => ROWS[1]));
    expect(problems(read).map((text) => text.replace(/\..*/s, ''))).toEqual([
      '2: The row is not valid JSON',
      '4: The row is not a JSON object',
      '6: The row is not a JSON object',
      '8: The row is not valid UTF-8',
      '10: The row contains a NUL byte',
      '12: The row has a key __proto__',
      '14: The row has a key __proto__',
      '16: The row nests objects and lists more than 64 levels deep',
      '18: The row nests objects and lists more than 64 levels deep',
    ]);
    expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  });

  it('accepts 64 levels', async () => {
    const row = `{"a":${'['.repeat(63)}${']'.repeat(63)}}`;
    expect(contents(await readFiles({ 'Post.jsonl': row }))).toEqual([JSON.parse(row)]);
  });

  it('reports a truncated last line', async () => {
    const read = await readFiles({
      '_User.0.jsonl': `${HEADER}\n${ADA}\n${Buffer.from(WITH_NULLS).subarray(0, 60).toString()}`,
    });
    expect(contents(read)).toEqual([ROWS[0]]);
    expect(problems(read)).toEqual(['3: The file ends within this row: it is truncated. Export the class again.']);
  });

  it('stops at rows of another class', async () => {
    const read = await readFiles({ 'x.jsonl': `${HEADER}\n${ADA}\n${HEADER.replace('_User', 'Post')}\n{"a":1}\n` });
    expect(contents(read)).toEqual([ROWS[0]]);
    expect(problems(read)).toEqual([
      expect.stringContaining('3: From this line on the file holds rows of another class'),
    ]);
  });

  it('skips a line over 16 MiB without holding it', () => {
    const reader = readerOfFile('_User.jsonl', HEADER);
    const chunk = Buffer.alloc(MIB, 'x');
    const rows = [...reader.push(Buffer.from(`${HEADER}\n`))];
    for (let n = 0; n < 200; n++) rows.push(...reader.push(chunk));
    rows.push(...reader.push(Buffer.from(`\n${ADA}\n`)), ...reader.end());
    expect(rows).toEqual([
      { line: 2, problem: 'The row is longer than 16 MiB. Shorten it in the export.' },
      { line: 3, row: ROWS[0] },
    ]);
    const held = new RowBytes(MIB);
    held.push(chunk);
    held.push(chunk);
    expect([held.isTooLong, held.take().length]).toEqual([true, 0]);
  });

  it.each([
    ['UTF-16', Buffer.from(`\u{feff}${ADA}`, 'utf16le')],
    ['UTF-16', Buffer.from(`\u{feff}${ADA}`, 'utf16le').swap16()],
    ['UTF-16', Buffer.from(ADA, 'utf16le')],
    ['UTF-16', Buffer.from(ADA, 'utf16le').swap16()],
    ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x7b, 0, 0, 0])],
  ])('reports %s by name', async (encoding, bytes) => {
    expect(problems(await readFiles({ '_User.jsonl': bytes }))).toEqual([
      `1: The file is ${encoding} text. Save the file as UTF-8.`,
    ]);
  });

  it('quotes no content of a row in a problem', async () => {
    const read = await readFiles({ '_User.jsonl': `${ADA.slice(0, -5)}\n${ADA.replace('}', ']')}\n` });
    expect(problems(read)).toHaveLength(2);
    expect(JSON.stringify(problems(read))).not.toMatch(/ada|q1w2|tPge/i);
  });
});

describe('JSON lists', () => {
  const list = `${ADA},\n${WITH_NULLS}`;

  it.each([
    ['a list', `[${list}]`],
    ['a list with spaces', `\n [ ${list} ]\n`],
    ['results', `{"results":[${list}]}`],
    ['results and a cursor', `{ "results" : [\n${list}\n], "cursor": "x]}" }`],
  ])('reads %s', async (_, text) => {
    const read = await readFiles({ '_User.0.json': text });
    expect(contents(read)).toEqual(ROWS);
    expect(problems(read)).toEqual([]);
  });

  it('keeps a row of JSON Lines whose first field is results', async () => {
    const text = '{"results":[{"a":1}],"objectId":"x"}\n{"objectId":"y"}\n';
    expect(contents(await readFiles({ 'Quiz.jsonl': text }))).toEqual([
      { results: [{ a: 1 }], objectId: 'x' },
      { objectId: 'y' },
    ]);
  });

  it('reads the old file of several classes as several parts', async () => {
    const text = `{"classes":["Post","_User"],"Post":[{"title":"a [\\"b\\"]","tags":[["x"]]}],"Other":[{}],"_User":[${list}]}`;
    const read = await readFiles({ 'export.json': text });
    expect(read.parts).toEqual(['export.json Post rows', 'export.json _User rows']);
    expect(contents(read)).toEqual([{ title: 'a ["b"]', tags: [['x']] }, ...ROWS]);
  });

  it('reports broken rows by their line, and reads on', async () => {
    const read = await readFiles({ '_User.json': `[{"a":1},\n{"a":tru},\n3,\n"x,]", {"__proto__":1},\n{"a":2}` });
    expect(contents(read)).toEqual([{ a: 1 }, { a: 2 }]);
    expect(problems(read).map((text) => text.replace(/[.:] .*/, ''))).toEqual(['2', '3', '4', '4', '5']);
    expect(problems(read).at(-1)).toBe(
      '5: The file ends within its list of rows: it is truncated. Export the class again.',
    );
  });

  it('survives a list that nests without end', async () => {
    const read = await readFiles({ 'Post.json': '['.repeat(3_000_000) });
    expect(problems(read)).toEqual(['1: The file ends within this row: it is truncated. Export the class again.']);
  });

  it('skips a row over 16 MiB', async () => {
    const read = await readFiles({ 'Post.json': `[{"a":1},{"a":"${'x'.repeat(17 * MIB)}"},\n{"a":2}]` });
    expect(contents(read)).toEqual([{ a: 1 }, { a: 2 }]);
    expect(problems(read)).toEqual(['1: The row is longer than 16 MiB. Shorten it in the export.']);
  }, 10_000);
});

describe('BSON', () => {
  const id = new ObjectId('5c710c95c05a807a4d9d7001');
  const time = new Date('2019-02-23T09:04:21.137Z');

  it('becomes what the JSON export holds', async () => {
    const document = serialize({
      _id: id,
      createdAt: time,
      updatedAt: time,
      birthday: time,
      owner: new DBRef('_User', id),
      avatar: new DBRef('_File', id),
      home: { type: 'Point', coordinates: [116.4, new Int32(40)] },
      line: { type: 'LineString', coordinates: [[1, 2]] },
      bytes: new Binary(Buffer.from('abc')),
      numbers: [Long.fromNumber(2 ** 40), new Int32(7), new Double(1.5), Decimal128.fromString('2.5'), Number.NaN],
      odd: [new Timestamp({ t: 1, i: 2 }), new MaxKey(), new Code('x'), /a/i, null, undefined],
      nested: { at: time, ids: [id] },
      ACL: { '*': { read: true } },
      _r: ['*'],
      _w: [],
    });
    const pointer = (className: string) => ({ __type: 'Pointer', className, objectId: id.toHexString() });
    const date = { __type: 'Date', iso: time.toISOString() };
    expect(contents(await readFiles({ '_User.bson': document }))).toEqual([
      {
        objectId: id.toHexString(),
        createdAt: time.toISOString(),
        updatedAt: time.toISOString(),
        birthday: date,
        owner: pointer('_User'),
        avatar: pointer('_File'),
        home: { __type: 'GeoPoint', latitude: 40, longitude: 116.4 },
        line: { type: 'LineString', coordinates: [[1, 2]] },
        bytes: { __type: 'Bytes', base64: 'YWJj' },
        numbers: [2 ** 40, 7, 1.5, 2.5, null],
        odd: [{ __type: 'Date', iso: '1970-01-01T00:00:01.000Z' }, null, 'x', 'a', null, null],
        nested: { at: date, ids: [id.toHexString()] },
        ACL: { '*': { read: true } },
      },
    ]);
  });

  it('keeps a field that is named as the mark of a type', async () => {
    const document = serialize({ _id: id, createdAt: time, updatedAt: time, a: { _Bsontype: 'ObjectId', n: 1 } });
    const bytes = Buffer.from(Buffer.from(document).toString('latin1').replace('_Bsontype', '_bsontype'), 'latin1');
    const [row] = contents(await readFiles({ '_User.bson': bytes }));
    expect(row).toMatchObject({ a: { _bsontype: 'ObjectId', n: 1 } });
  });

  it.each(['_User.bson', '_User.bson.gz', '_User.x.bson.gz', 'backup'])(
    'reads several documents of %s by content',
    async (name) => {
      const documents = Buffer.concat([serialize({ _id: 'title' }), serialize({}), serialize({ a: 1 })]);
      const bytes = name.endsWith('.gz') ? gzipSync(documents) : documents;
      const read = await readFiles({ [name]: bytes });
      expect(read.rows.map(({ line, className }) => `${className} ${line}`)).toEqual(
        [1, 2, 3].map((line) => `${name === 'backup' ? 'backup' : '_User'} ${line}`),
      );
      expect(contents(read)).toEqual([{ objectId: 'title' }, {}, { a: 1 }]);
    },
  );

  it('reports documents that cannot be read', async () => {
    const broken = serialize({ text: 'abcdef' });
    broken[broken.length - 3] = 0xff;
    const late = Buffer.from(serialize({ at: new Date(0) }));
    late.writeBigInt64LE(2n ** 62n, late.length - 9);
    const proto = Buffer.from(serialize({ xxproto__: 1 }));
    proto.write('__proto__', 5);
    const deep = Buffer.from(serialize(nested(70)));
    const tooLong = Buffer.alloc(17 * MIB, 1);
    tooLong.writeInt32LE(17 * MIB);
    const good = serialize({ a: 1 });
    const end = Buffer.from([1, 0, 0, 0, 9, 9, 9]);
    const bytes = Buffer.concat([good, broken, late, proto, deep, deepDocument(200_000), tooLong, good, end]);
    const read = await readFiles({ '_User.bson': bytes });
    expect(contents(read)).toEqual([{ a: 1 }, { a: 1 }]);
    expect(problems(read).map((text) => text.replace(/\..*/s, ''))).toEqual([
      '2: The BSON document is not valid',
      '3: The BSON document has a time out of range',
      '4: The row has a key __proto__',
      '5: The row nests objects and lists more than 64 levels deep',
      '6: The row nests objects and lists more than 64 levels deep',
      '7: The row is longer than 16 MiB',
      '9: The file is not BSON from here on, and the rest is not read',
    ]);
  }, 10_000);

  it('reports a truncated document', async () => {
    const bytes = Buffer.concat([serialize({ a: 1 }), serialize({ text: 'x'.repeat(100) }).subarray(0, 50)]);
    const read = await readFiles({ '_User.bson': bytes });
    expect(contents(read)).toEqual([{ a: 1 }]);
    expect(problems(read)).toEqual(['2: The file ends within this row: it is truncated. Export the class again.']);
  });

  it('reports a file that is BSON by its name only', async () => {
    expect(problems(await readFiles({ '_User.bson': 'garbage' }))).toEqual([
      '1: The file is not BSON, although its name says so. Take the backup again.',
    ]);
  });
});

describe('members of roles', () => {
  const pair = { owningId: '5ce3f0947b968a00730fbfc6', relatedId: '5c710c95c05a807a4d9d7001' };
  const { owningId, relatedId } = pair;
  const users = '_Join:_User:users:_Role';

  it.each([
    ['_Join:_User:users:_Role.0.jsonl', users],
    ['_Join:users:_Role.jsonl', users],
    ['_Join__User_users__Role.jsonl', users],
    ['_Join_User_users_Role.0.jsonl', users],
    ['_Join_UserusersRole.jsonl', ''],
    ['_Join._User.users._Role.jsonl', users],
    ['_Join\u{f03a}_User\u{f03a}users\u{f03a}_Role.jsonl', users],
    ['_Join%3A_Role%3Aroles%3A_Role.jsonl', '_Join:_Role:roles:_Role'],
    ['_Joinroles_Role.jsonl', '_Join:_Role:roles:_Role'],
    ['_Join:Post:likes:_User.jsonl', ''],
  ])('are recognised by the name %s', async (name, className) => {
    const read = await readFiles({ [name]: JSON.stringify(pair), 'Post.jsonl': '' });
    const [{ kind } = { kind: '' }] = kindOfFile(name, Buffer.from('{')).parts;
    expect([kind, read.rows.map((row) => row.className)]).toEqual(
      className === '' ? ['other', []] : ['relation', [className]],
    );
  });

  it.each([
    ['JSON Lines', `${JSON.stringify(pair)}\n`],
    [
      'pointers',
      `{"objectId":"x","owningId":{"__type":"Pointer","className":"_Role","objectId":"${owningId}"},"relatedId":{"__type":"Pointer","className":"_User","objectId":"${relatedId}"}}\n`,
    ],
    ['results', JSON.stringify({ results: [pair] })],
    ['columns', `${owningId},${relatedId}\n`],
    ['quoted columns with names', `owningId,relatedId\r\n"${owningId}","${relatedId}"\r\n`],
    ['BSON', serialize({ _id: new ObjectId(), owningId, relatedId })],
    [
      'BSON of ids',
      serialize({ owningId: new ObjectId(owningId), relatedId: new DBRef('_User', new ObjectId(relatedId)) }),
    ],
  ])('are plain ids in %s', async (_, content) => {
    const read = await readFiles({ '_Join:_User:users:_Role': content });
    expect(contents(read)).toEqual([pair]);
    expect(problems(read)).toEqual([]);
  });

  it('are reported where an id is missing', async () => {
    const lines = await readFiles({ '_Join:users:_Role.jsonl': '{"owningId":"x"}\n{"owningId":{},"relatedId":"y"}\n' });
    expect(problems(lines).map((text) => text.slice(0, 20))).toEqual(['1: The row lacks own', '2: The row lacks own']);
    const columns = await readFiles({ '_Join:users:_Role.csv': 'a,b,c\n,b\na,b\n' });
    expect(problems(columns).map((text) => text.slice(0, 20))).toEqual([
      '1: The row does not ',
      '2: The row does not ',
    ]);
  });
});

describe('files about classes', () => {
  it('have one row', async () => {
    const permissions = { permissions: { find: { '*': false, users: '', roles: '' } } };
    const read = await readFiles({
      '_User_permissions.json': JSON.stringify(permissions, null, 2),
      '_Role_all.json': '{}',
      '_User_schema.json': '{"schema":{}}',
      'My_Class_indexes.json': '{"indexes":[]}',
      'README.md': '# Schema',
    });
    expect(read.parts).toEqual([
      '_Role_all.json _Role permissions',
      '_User_permissions.json _User permissions',
      '_User_schema.json _User schema',
      'My_Class_indexes.json My_Class indexes',
      'README.md  other',
    ]);
    expect(contents(read)).toEqual([{}, permissions, { schema: {} }, { indexes: [] }]);
  });

  it('are reported where they are no JSON', async () => {
    expect(problems(await readFiles({ '_User_schema.json': '{"schema":' }))).toEqual([
      expect.stringContaining('1: The row is not'),
    ]);
  });
});

describe('any content', () => {
  /** A key `__proto__`, also a nested one, is refused. */
  const row = fc
    .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 4 }))
    .filter((value) => !JSON.stringify(value).includes('"__proto__"'));

  it('is the same rows whatever the chunks', () => {
    const texts = fc.array(row, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(
        texts,
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom('lines', 'list', 'results'),
        (rows, size, form) => {
          const lines = rows.map((value) => JSON.stringify(value));
          const text = {
            lines: `${HEADER}\n${lines.join('\n')}`,
            list: `[${lines.join(',\n')}]`,
            results: `{"results":[${lines.join()}]}`,
          };
          const read = readPieces(readerOfFile('_User', text[form]), Buffer.from(text[form]), size);
          expect(read.map((found) => ('row' in found ? found.row : found.problem))).toEqual(
            lines.map((line) => JSON.parse(line) as unknown),
          );
        },
      ),
    );
  });

  it('never throws, and ends', () => {
    const heads = fc.constantFrom('', '[', '{"results":[', HEADER, '{"classes":["A"],"A":[', '\x20\0\0\0\x02', '{');
    fc.assert(
      fc.property(heads, fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 50 }), (head, noise, size) => {
        const bytes = Buffer.concat([Buffer.from(head, 'latin1'), noise]);
        for (const part of kindOfFile('_User.jsonl', bytes).parts) readPieces(readerOf(part), bytes, size);
      }),
      { numRuns: 500 },
    );
  });

  it('comes over standard input only if it names its class', async () => {
    expect((await readInput(`${HEADER}\n${ADA}\n`)).parts).toEqual(['- _User rows']);
    await expect(readInput(`${ADA}\n`)).rejects.toThrow('Standard input does not name the class of its rows.');
  });
});

function readerOfFile(name: string, head: string): RowReader {
  return readerOf(kindOfFile(name, Buffer.from(head)).parts[0]!);
}

function readPieces(reader: RowReader, bytes: Buffer, size: number): ReadRow[] {
  const rows: ReadRow[] = [];
  for (let at = 0; at < bytes.length; at += size) rows.push(...reader.push(bytes.subarray(at, at + size)));
  return [...rows, ...reader.end()];
}

function nested(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = {};
  for (let level = 1; level < levels; level++) value = { a: value };
  return value;
}

/** A document of so many levels, which the package could not write itself. */
function deepDocument(levels: number): Buffer {
  const bytes = Buffer.alloc(levels * 8 + 5);
  for (let level = 0; level <= levels; level++) {
    bytes.writeInt32LE(bytes.length - level * 8, level * 7);
    if (level < levels) bytes.write('\x03a\0', level * 7 + 4, 'latin1');
  }
  return bytes;
}
