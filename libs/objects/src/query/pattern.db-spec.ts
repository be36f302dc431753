import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAppError } from '#errors';
import { ThingTable } from '../../test/thing-table.js';
import { toPostgresPattern } from './pattern.js';

const TEXTS = ['', 'abc', 'a.b', 'xaabb\ncc', 'ABC_1', 'é-ü 😀', '[a]{2}^$', 'a\\b*c', 'E\\E\\Q'];

let things: ThingTable;
beforeAll(async () => {
  things = await ThingTable.create();
});
afterAll(() => things.close());

/** The texts in which PostgreSQL finds the pattern. */
async function searched(source: string, options: string): Promise<boolean[]> {
  const { pattern } = toPostgresPattern(source, options);
  const [row] = await things.database.query<{ found: boolean[] }>(
    `SELECT array_agg(text COLLATE "C" ~ $1 ORDER BY place) AS found FROM unnest($2::text[]) WITH ORDINALITY AS texts(text, place)`,
    [pattern, TEXTS],
  );
  return row?.found ?? [];
}

/** A pseudo-random number below a limit, the same in each run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomPattern(random: (below: number) => number, depth: number): string {
  const pick = (items: readonly string[]) => items[random(items.length)] ?? '';
  const piece = () => {
    const kind = random(depth > 0 ? 8 : 6);
    if (kind === 0) return pick(['^', '$', '\\b', '\\B', '|', '(?=a)', '(?!b|c)', '(?<=e)', '(?<!a)']);
    const quantifier = pick(['', '', '', '*', '+', '?', '*?', '{2}', '{1,3}', '{2,}']);
    if (kind >= 6) return `${pick(['(', '(?:'])}${randomPattern(random, depth - 1)})${quantifier}`;
    return `${pick(['a', 'b', 'c', '.', '\\.', '\\n', 'é', '😀', '\\x41', '-', '_', '[a-c]', '[^ab]', '[\\d_]', '[a\\-z]', '[^\\W]', '[\\s\\S]', '[é-ü]', '\\d', '\\w', '\\s', '\\D', '\\W', '\\S'])}${quantifier}`;
  };
  return Array.from({ length: 1 + random(4) }, piece).join('');
}

describe('a pattern', () => {
  it('finds the same texts in PostgreSQL as in JavaScript', async () => {
    const random = randomNumbers(1);
    let compared = 0;
    while (compared < 400) {
      const source = randomPattern(random, 3);
      const options = ['', 'i', 'm', 's', 'ims'][random(5)] ?? '';
      const found = await searched(source, options).catch((error: unknown) => error);
      if (isAppError(found, 'INVALID_QUERY')) continue;
      const expression = new RegExp(source, `u${options}`);
      expect([source, options, found]).toEqual([source, options, TEXTS.map((text) => expression.test(text))]);
      compared += 1;
    }
  });

  it('of quoted text finds that text only', async () => {
    for (const text of TEXTS) {
      const quoted = `^\\Q${text.replaceAll('\\E', '\\E\\\\E\\Q')}\\E$`;
      expect(await searched(quoted, '')).toEqual(TEXTS.map((other) => other === text));
    }
  });

  it.each([
    ['a b', 'x', 'abc'],
    ['a\\ #', '', 'a #'],
    ['[[:alpha:]]+ # letters\n \\d', 'x', 'a1'],
    ['(?i)E', '', 'e'],
    ['\\Aa\\z', 'm', 'a'],
    ['\\u{', '', undefined],
  ])('%j with %j finds %j', async (source, options, text) => {
    const work = async () => {
      const { pattern } = toPostgresPattern(source, options);
      return things.database.query<{ found: boolean }>('SELECT $2 ~ $1 AS found', [pattern, text]);
    };
    if (text === undefined) await expect(work()).rejects.toMatchObject({ errorName: 'INVALID_QUERY' });
    else expect(await work()).toEqual([{ found: true }]);
  });

  it.each([
    ['nested repetitions', `(?:(?:(?:a+)+)+)+$`],
    ['overlapping alternatives', '(?:a|a|aa|a.)*$'],
    ['a far look-back', '(?:a|b)*a(?:a|b){100}c'],
    ['two far repetitions', '.*a.{0,250}b.{0,250}c$'],
    ['stars in stars', `${'(?:'.repeat(16)}a${')*'.repeat(16)}`],
    ['many optional parts', 'a?'.repeat(250)],
    ['many wide classes', `(?i)${'[\\u0100-\\uffff]'.repeat(63)}`],
    ['many places', `${'(?:^|$|\\b)'.repeat(4)}x`],
    ['nested look-arounds', `${'(?!a*'.repeat(11)}c${')'.repeat(11)}`],
  ])("with %s takes less than a statement's time limit, also on a long text", async (_, source) => {
    const { pattern } = toPostgresPattern(source, '');
    const start = performance.now();
    await things.database.query('SELECT $2 ~ $1', [pattern, 'ab'.repeat(1_000)]);
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
