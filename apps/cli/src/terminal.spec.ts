import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { quoted } from '#bootstrap';
import { valueFrom } from './terminal.js';

describe('a text chosen by users', () => {
  it.each([
    ['ada', '"ada"'],
    ['名前 "é"', '"名前 \\"é\\""'],
    ['\u001b[2J\n', '"\\u001b[2J\\n"'],
    ['\u009b31m', '"\\u{9b}31m"'],
    ['\u202egnp', '"\\u{202e}gnp"'],
    ['\ud800', '"\\ud800"'],
  ])('%j cannot control the terminal', (text, shown) => {
    expect(quoted(text)).toBe(shown);
  });
});

describe('the value of a source', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatepost-terminal-'));
  const file = join(folder, 'value');
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it('is the text of a file', () => {
    writeFileSync(file, 'ä\n');
    expect(valueFrom('--text', file)).toBe('ä\n');
  });

  it('is refused with the reason where the file is not text, or not there', () => {
    writeFileSync(file, Buffer.from([0xff, 0xfe, 0x00]));
    expect(() => valueFrom('--text', file)).toThrow(`--text: the file ${file} is not UTF-8 text.`);
    expect(() => valueFrom('--text', `${file}-missing`)).toThrow(
      /--text: the file .*-missing cannot be read \(ENOENT\)\./,
    );
  });
});
