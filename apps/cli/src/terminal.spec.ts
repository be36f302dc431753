import { describe, expect, it } from 'vitest';
import { quoted } from './terminal.js';

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
