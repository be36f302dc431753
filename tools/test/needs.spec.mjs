import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../prepare.mjs';
import { isKubectlNewEnough } from './installed-programs.mjs';
import { needsOf, patterns } from './needs.mjs';
import { leftOut, leftOutLines } from './selection.mjs';

const files = ['apps', 'libs', 'test', 'tools'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /spec\.(ts|mjs)$/.test(file) && !/node_modules/.test(file))
    .map((file) => `${folder}/${file}`),
);
const selected = (...names) => names.map((file) => ({ file, ...needsOf(file) }));

describe('the needs of test files', () => {
  it('are rules of which each decides for a file that there is', () => {
    const deciding = files.map((file) => patterns.findIndex((pattern) => pattern.test(file)));
    expect(patterns.filter((_, index) => !deciding.includes(index))).toEqual([]);
  });

  it('are nothing for what can run anywhere', () => {
    for (const file of ['libs/bootstrap/src/load-config.spec.ts', 'test/journeys/standalone-life.e2e-spec.ts'])
      expect(needsOf(file)).toEqual({ needs: [], uses: [] });
  });

  it('are all servers for a journey that no rule names', () => {
    expect(needsOf('test/journeys/new.e2e-spec.ts').needs).toEqual(['postgresql', 'redis', 'rabbitmq']);
  });
});

describe('a kubectl, or the package of one', () => {
  it.each([
    ['1.27.0', true],
    ['1.32.3+ds-2', true],
    ['2.0.1', true],
    ['1.26.15', false],
    ['1.20.5+really1.20.2-1.1+deb12u1', false],
  ])('of version %s is new enough: %s', (version, isNewEnough) => {
    expect(isKubectlNewEnough(version)).toBe(isNewEnough);
  });
});

describe('what a machine without some parts leaves out', () => {
  const missing = new Map([
    ['rabbitmq', 'none answers'],
    ['browser', 'none is installed'],
  ]);
  const absent = leftOut(
    selected(
      'test/journeys/services-life.e2e-spec.ts',
      'test/journeys/standalone.e2e-spec.ts',
      'test/journeys/standalone-life.e2e-spec.ts',
    ),
    missing,
  );

  it('is each file that needs one, and the suites that use one', () => {
    expect(absent).toEqual({
      whole: [{ file: 'test/journeys/services-life.e2e-spec.ts', lacks: ['rabbitmq'] }],
      inPart: [{ file: 'test/journeys/standalone.e2e-spec.ts', lacks: ['browser'] }],
    });
  });

  it('is named with the reason, and with what to do', () => {
    const lines = leftOutLines(absent, missing).join('\n');
    expect(lines).toContain('1 suites as a whole and 1 in part');
    expect(lines).toContain('test/journeys/services-life.e2e-spec.ts: RabbitMQ');
    expect(lines).toContain('test/journeys/standalone.e2e-spec.ts: Chromium (in part)');
    expect(lines).toContain('RabbitMQ is missing: none answers. To have it: name one in AMQP_URL');
    expect(lines).not.toContain('standalone-life');
  });
});
